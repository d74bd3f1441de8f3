"""The line in which a person says which lines of a list to show, and which says how many are.

Hidden until it is asked for. What is typed counts at once; Enter or an arrow gives the keys back to the list, and the
filter stays in sight as long as it counts, so that nobody takes a part of a list for all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from sot_tui.screens import show

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Key

_TYPED = r"[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]*"
"""What may be typed or pasted: nothing that acts on a terminal, or hides."""
_LIMIT = 200
FILTER_WORDS = "filter-text"
"""The id of the field."""


class _FilterWords(Input):
    """Where the words are typed.

    The keys that end the typing are answered in their turn: those before them are words, and those after them, though
    they came here as well, are meant for the list.
    """

    async def _on_key(self, event: Key) -> None:
        line = self.parent
        if self.screen.focused is not self:
            self.app.simulate_key(event.key)
        elif event.key in {"enter", "up", "down"} and isinstance(line, FilterLine):
            line.leave()
        elif event.key == "escape" and isinstance(line, FilterLine):
            line.clear()
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()


class _FilterCount(show.Words):
    """How many lines are shown, and that Esc shows all: so does a click."""

    def on_click(self) -> None:
        """Show every line again."""
        line = self.parent
        if isinstance(line, FilterLine):
            line.clear()


class FilterLine(Horizontal):
    """A filter for the list of an id; `text` is empty while there is none."""

    DEFAULT_CSS = """
    FilterLine { height: 1; display: none; background: $panel; padding: 0 1; }
    FilterLine Words { width: auto; height: 1; color: $foreground 70%; }
    FilterLine Input { width: 1fr; height: 1; border: none; padding: 0; background: transparent; }
    FilterLine Input:focus { border: none; background: $foreground 8%; }
    """

    class Changed(Message):
        """The filter is another one."""

    def __init__(self, of: str, *, id: str) -> None:  # noqa: A002  (Textual's own name)
        super().__init__(id=id)
        self._of = of

    def compose(self) -> ComposeResult:
        """Lay out what it is, the words, and how many lines fit them."""
        yield show.Words(Content("filter "))
        yield _FilterWords(id=FILTER_WORDS, restrict=_TYPED, max_length=_LIMIT, compact=True, select_on_focus=False)
        yield _FilterCount(id="filter-count")

    @property
    def text(self) -> str:
        """Return the words of the filter."""
        return self.query_one(Input).value if self.display else ""

    def open(self) -> None:
        """Show the line, and take the keys."""
        self.display = True
        # At once, and not after what waits: a key that follows in the same moment is meant for the words.
        self.screen.set_focus(self.query_one(Input))

    def clear(self) -> None:
        """Forget the words, and hide the line."""
        self.display = False
        self.query_one(Input).value = ""
        self.post_message(self.Changed())
        self.screen.set_focus(self.screen.query_one(f"#{self._of}"))

    def leave(self) -> None:
        """Give the keys back to the list; without words there is no filter."""
        if self.text.strip():
            self.screen.set_focus(self.screen.query_one(f"#{self._of}"))
        else:
            self.clear()

    def say(self, words: Content) -> None:
        """Say how many lines are shown."""
        self.query_one("#filter-count", show.Words).say(words)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())
