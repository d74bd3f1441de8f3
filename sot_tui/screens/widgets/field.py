"""A field for words, in which the keys that end the typing are answered in their turn.

Keys may come faster than they are answered. Those before the ending one are words; those after it, though they came
here as well, are meant for whatever has the keys then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.events import Key
from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.widget import Widget


def hand_on(widget: Widget, event: Key) -> None:
    """Have a key answered by whatever has the keys now, with the sign that it gives."""
    widget.app.post_message(Key(event.key, event.character))


class Field(Input):
    """An input of one line. `ending` is asked about the keys of `keys`, and tells whether it has answered one."""

    keys: frozenset[str] = frozenset()
    ending: Callable[[str], bool] | None = None

    async def _on_key(self, event: Key) -> None:
        if self.screen.focused is not self:
            hand_on(self, event)
        elif event.key not in self.keys or self.ending is None or not self.ending(event.key):
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
