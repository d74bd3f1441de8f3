"""One of a few things, all of them in sight: the arrows or a click choose, and the chosen one has a mark of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from sot_tui.screens import show
from sot_tui.screens.widgets.field import hand_on

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.events import Key


_STEPS = {"left": -1, "right": 1, "space": 1}


class Option(NamedTuple):
    """One thing to choose; its word is ours."""

    key: str
    word: str


class Pick(show.Words, can_focus=True):
    """The choice, in as many lines as it needs."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Pick { height: auto; }
    Pick:focus { background: $primary 18%; }
    Pick:ansi:focus { background: transparent; text-style: underline; }
    """

    def __init__(
        self,
        options: Sequence[Option],
        chosen: str,
        changed: Callable[[str], None],
        leave: Callable[[], None],
        *,
        id: str | None = None,  # noqa: A002  (Textual's own name)
    ) -> None:
        """`changed` is called at once with what is chosen: keys that follow may be meant for what it brings up.

        `leave` gives the keys to what comes behind it.
        """
        super().__init__(id=id)
        self._options = tuple(options)
        self.chosen = chosen
        """The key of the chosen one."""
        self._changed, self._leave = changed, leave

    def on_mount(self) -> None:
        """Show which one is chosen."""
        self._tell()

    async def _on_key(self, event: Key) -> None:
        """Answer a key in its turn: one that came here and follows the last of them is meant for what has the keys."""
        if self.screen.focused is not self:
            hand_on(self, event)
        elif event.key in {"enter", "tab"}:
            self._leave()
        elif event.key in _STEPS:
            keys = [option.key for option in self._options]
            self._choose(keys[(keys.index(self.chosen) + _STEPS[event.key]) % len(keys)])
        else:
            return
        event.stop()
        event.prevent_default()

    def action_choose(self, key: str) -> None:
        """Choose the one that was clicked."""
        self.screen.set_focus(self)
        self._choose(key)

    def _choose(self, key: str) -> None:
        if key != self.chosen:
            self.chosen = key
            self._tell()
            self._changed(key)

    def _tell(self) -> None:
        told = []
        for option in self._options:
            mark, style = ("●", "b") if option.key == self.chosen else ("○", "$foreground 70%")
            # Words and keys are ours; a blank of fixed width keeps a mark at its word when the line is broken.
            words = f"{mark}\u00a0{option.word}".replace(" ", "\u00a0")
            told.append(Content.from_markup(f"[@click=choose('{option.key}')][{style}]{words}[/][/]"))
        self.say(Content("   ").join(told))
