"""Work state: the facts of a registry entry, what derives from them, and what each status verb does to them.

Contract, registry.json: a row keeps facts (floor, dialog, question, waiting, done and note), and `state` and `summary`
are recomputed from them on every write, by priority. Everything here is pure and merge-only: a key that is no fact of
the verb stays as it is. Whether a process may say a verb is not decided here.
"""

from __future__ import annotations

from enum import Enum

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from sot_tui.comm.clock import Stamp

FACTS = ("floor", "dialog", "question", "waiting", "done", "note")
"""The facts of an entry; a fact that is not present is not set."""


class State(NamedTuple):
    """What an entry's facts derive to."""

    state: str
    """`working`, `idle`, `blocked`, `waiting` or `done`."""
    summary: str
    """One line for a person; empty when the facts hold none."""


class Verb(Enum):
    """The words of the status verb; the value is what a session types."""

    PROMPT = "prompt"
    """A turn starts."""
    STOP = "stop"
    """A turn ends."""
    DIALOG = "dialog"
    """The agent shows a dialog that waits on a person."""
    RESUMED = "resumed"
    """That dialog is gone."""
    JOIN = "join"
    """A session has joined under the handle."""
    WORKING = "working"
    IDLE = "idle"
    BLOCKED = "blocked"
    """A question to the user is open."""
    WAITING = "waiting"
    """The session waits on something."""
    DONE = "done"


EVENTS = frozenset({Verb.PROMPT, Verb.STOP, Verb.DIALOG, Verb.RESUMED, Verb.JOIN})
"""What happens to a session. The other verbs are declarations, the session's own word."""
ROW_EVENTS = frozenset({Verb.DIALOG, Verb.RESUMED})
"""The two verbs that a daemon sends for a row (contract, `SOT_COMM_ROW_HANDLE`)."""

USER = "user"
"""The floor, or the origin of a prompt, when a person started the turn."""
MACHINE = "machine"
"""The same for anything else."""


def derive(entry: dict[str, Any]) -> State:
    """Return the work state of an entry's facts, by the contract's table, first match first."""
    if _is_set(entry, "dialog"):
        return State("blocked", _text(entry, "dialog"))
    if _is_set(entry, "question") and not _is_set(entry, "floor"):
        return State("blocked", _text(entry, "question"))
    if _is_set(entry, "floor"):
        return State("working", _text(entry, "note"))
    if _is_set(entry, "waiting"):
        return State("waiting", _text(entry, "waiting"))
    return State("done" if _is_set(entry, "done") else "idle", _text(entry, "note"))


def apply(entry: dict[str, Any], verb: Verb, text: str | None, origin: str, now: Stamp) -> dict[str, Any]:
    """Return `entry` after a status verb: its facts, the state they derive to, and both stamps.

    Args:
        entry: the registry entry; it is not changed.
        verb: what was said.
        text: the text said with it; None when there was none, which is not the same as an empty one.
        origin: who started the turn, for a prompt; anything but `user` is a machine.
        now: the stamp of this write.
    """
    after = dict(entry)
    match verb:
        case Verb.PROMPT:
            after["floor"] = USER if origin == USER else MACHINE
            _clear(after, "dialog", *(("question", "done") if origin == USER else ()))
        case Verb.STOP:
            pending = _is_set(after, "question") or _is_set(after, "waiting")
            if after.get("floor") == USER and not pending:
                after["done"] = True
            _clear(after, "floor", "dialog", "stop_at")
        case Verb.DIALOG:
            after["dialog"] = text if text is not None else _text(after, "dialog")
        case Verb.RESUMED:
            _clear(after, "dialog")
        case Verb.JOIN:
            # What a process before this one showed or was in the middle of is gone with it.
            _clear(after, "dialog", "stop_at")
        case Verb.WORKING | Verb.IDLE | Verb.DONE:
            _clear(after, "question", "waiting", "done")
            if verb is Verb.DONE:
                after["done"] = True
            if text is not None:
                after["note"] = text
        case Verb.BLOCKED:
            _ask(after, "question", text)
        case Verb.WAITING:
            _ask(after, "waiting", text)
    return restamped(after, now)


def restamped(entry: dict[str, Any], now: Stamp) -> dict[str, Any]:
    """Return `entry` with both stamps new and no fact changed, as a heartbeat writes it; it is not changed itself."""
    after = dict(entry)
    after["state"], after["summary"] = derive(after)
    after["status_at"] = after["last_seen"] = now
    return after


def _ask(after: dict[str, Any], fact: str, text: str | None) -> None:
    """Set `question` or `waiting`; its text replaces the note, and without one it says what was last said."""
    if text is None:
        after[fact] = _text(after, fact if _is_set(after, fact) else "note")
    else:
        after[fact] = text
        _clear(after, "note")


def _clear(after: dict[str, Any], *facts: str) -> None:
    for fact in facts:
        after.pop(fact, None)


def _is_set(entry: dict[str, Any], fact: str) -> bool:
    """Tell whether a fact is present; an empty text is, null and false are not."""
    value = entry.get(fact)
    return value is not None and value is not False


def _text(entry: dict[str, Any], fact: str) -> str:
    value = entry.get(fact)
    return value if isinstance(value, str) else ""
