"""One of a few things, all of them in sight: the arrows or a click choose, and the chosen one has a mark of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding
from textual.content import Content
from textual.message import Message

from sot_tui.screens import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType


class Option(NamedTuple):
    """One thing to choose; its word is ours."""

    key: str
    word: str


class Pick(show.Words, can_focus=True):
    """The choice, in as many lines as it needs."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", show=False),
        Binding("right,space", "step(1)", show=False),
    ]
    DEFAULT_CSS = """
    Pick { height: auto; }
    Pick:focus { background: $primary 18%; }
    Pick:ansi:focus { background: transparent; text-style: underline; }
    """

    class Changed(Message):
        """Another one is chosen."""

        def __init__(self, pick: Pick, key: str) -> None:
            super().__init__()
            self.pick = pick
            self.key = key

        @property
        def control(self) -> Pick:
            """The choice."""
            return self.pick

    def __init__(self, options: Sequence[Option], chosen: str, *, id: str | None = None) -> None:  # noqa: A002  (Textual's own name)
        super().__init__(id=id)
        self._options = tuple(options)
        self.chosen = chosen
        """The key of the chosen one."""

    def on_mount(self) -> None:
        """Show which one is chosen."""
        self._tell()

    def action_step(self, by: int) -> None:
        """Choose the next one, or the one before."""
        keys = [option.key for option in self._options]
        self.action_choose(keys[(keys.index(self.chosen) + by) % len(keys)])

    def action_choose(self, key: str) -> None:
        """Choose one."""
        self.focus()
        if key != self.chosen:
            self.chosen = key
            self._tell()
            self.post_message(self.Changed(self, key))

    def _tell(self) -> None:
        told = []
        for option in self._options:
            mark, style = ("●", "b") if option.key == self.chosen else ("○", "$foreground 70%")
            # Words and keys are ours; a blank of fixed width keeps a mark at its word when the line is broken.
            words = f"{mark}\u00a0{option.word}".replace(" ", "\u00a0")
            told.append(Content.from_markup(f"[@click=choose('{option.key}')][{style}]{words}[/][/]"))
        self.say(Content("   ").join(told))
