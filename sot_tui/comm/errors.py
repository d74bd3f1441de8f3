"""Exit codes and the one tree of exceptions, ordered by what the caller does next.

An outcome that can happen on a good day (a held lock, a busy inbox, a refused filing) is a value of the module that
knows it, never an exception; what stands here is for what the caller could not have expected. Each exception carries
one sentence that can be shown as it is; screen, log and stderr print it and none of them rewords it.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of every command (product: "0, 1 failed, 2 usage, 3 refused identity, 75 busy, try again")."""

    OK = 0
    """Done, or nothing was to be done."""
    FAILED = 1
    """Nothing, or not all, of what was asked was done; a FAILED line says why."""
    USAGE = 2
    """The words of the command were not understood."""
    REFUSED = 3
    """The identity slot is claimed for a different project (contract, join)."""
    BUSY = 75
    """The inbox is being written; try again (contract, poll)."""


class SotError(Exception):
    """Something the caller could not have expected; `sentence` can be shown as it is."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        """One sentence for a person, without a trailing newline."""


class Unreadable(SotError):
    """A file could not be read: show it or try again, and never treat it as absent."""


class Refused(SotError):
    """A rule forbids it: show the reason."""


class Misuse(SotError):
    """The user's words, or a variable of the environment, make no sense: exit 2."""


class Unheard(SotError):
    """stdout did not take what was to be shown: whoever was to read it has not."""

    def __init__(self, sentence: str, *, quiet: bool = False) -> None:
        super().__init__(sentence)
        self.quiet = quiet
        """Whether the reader went away by itself, as `head` does, so that nobody needs to be told."""
