"""What a field may mean, in a list below it: the arrows mark one, and a key or a click takes it.

The field keeps the keys all along, so what is listed follows what is typed. Which things are listed, and what is done
with the one that is taken, is its owner's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.widget import Widget

    from sot_tui.screens.widgets.field import Field
    from sot_tui.screens.widgets.lines import Lines


class Completion:
    """The list of one field."""

    def __init__(self, field: Field, lines: Lines, taken: Callable[[str], str], around: Widget | None = None) -> None:
        """`taken` is told what was taken, and returns what the field then holds; `around` is hidden with the list."""
        self._field, self._lines, self._taken = field, lines, taken
        self._around = around or lines
        lines.can_focus = False
        self._around.display = False

    @property
    def is_open(self) -> bool:
        """Tell whether anything is listed."""
        return bool(self._around.display)

    def show(self, found: Sequence[str], most: int) -> None:
        """List what the field may mean, in so many lines at most; nothing while the field has not the keys."""
        self._around.display = bool(found) and self._field.has_focus
        if self.is_open:
            self._lines.styles.height = min(most, len(found))
            self._lines.show(found)

    def up(self) -> None:
        """Mark the one above."""
        self._lines.action_up()

    def down(self) -> None:
        """Mark the one below."""
        self._lines.action_down()

    def take(self) -> bool:
        """Put the marked one into the field, if any is listed; tell whether it was."""
        if not (self._field.has_focus and self.is_open and self._lines.selected):
            return False
        self._field.value = self._taken(self._lines.selected)
        self._field.cursor_position = len(self._field.value)
        self._around.display = False
        return True

    def take_clicked(self) -> None:
        """Take the one that was clicked, and give the keys back to the field."""
        self._field.focus()
        self.take()
