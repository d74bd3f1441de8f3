"""A long foreign text that is read line by line: wrapped to its width, and painted only where it is seen.

A message may have millions of characters. It is wrapped in parts, each between two turns of the loop, so that keys are
answered meanwhile; what is quoted is dimmed and what was searched for is marked. Everything passes through `show`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sot_tui.screens import actions, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.style import Style
    from textual.binding import BindingType
    from textual.selection import Selection

PART_CHARS = 8000
"""Characters that are wrapped in one turn of the loop: a few milliseconds."""


class Reader(ScrollView, can_focus=True):
    """The text; keys scroll it while it has them."""

    BINDINGS: ClassVar[list[BindingType]] = [*actions.bindings(actions.Where.LINES)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"reader--quote", "reader--hit", "reader--note", "reader--selected"}
    DEFAULT_CSS = """
    Reader {
        overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable;
        background: transparent;
    }
    Reader > .reader--quote { color: $foreground 60%; text-style: italic; }
    Reader > .reader--hit { background: $accent 35%; text-style: bold; }
    Reader > .reader--note { color: $foreground 60%; }
    Reader > .reader--selected { background: $primary 40%; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  (Textual's own name)
        super().__init__(id=id)
        self._text = self._note = ""
        self._words: tuple[str, ...] = ()
        self._lines: list[tuple[str, str]] = []
        """Each line with its part in the style sheet."""
        self._left: Iterator[list[tuple[str, str]]] = iter(())
        self._turn = 0

    def read(self, text: str, *, note: str = "", words: tuple[str, ...] = ()) -> None:
        """Show a foreign text from its beginning, a note of ours below it, with these words marked in it."""
        if (text, note, words) != (self._text, self._note, self._words):
            self._text, self._note, self._words = text, note, tuple(word.lower() for word in words if word)
            self.scroll_to(y=0, animate=False, immediate=True)
            self._wrap()

    @property
    def shown(self) -> str:
        """Return what it shows, as far as it is wrapped."""
        return "\n".join(line for line, _ in self._lines)

    @property
    def room(self) -> int:
        """Return the cells of a line: the scrollbar has its own, whether or not it is shown."""
        return self.scrollable_content_region.width

    def on_resize(self) -> None:
        """Wrap it for the new width."""
        self._wrap()

    # -- wrapping ----------------------------------------------------------------------------------------------------

    def _wrap(self) -> None:
        self._turn += 1
        self._lines = []
        self._left = _wrapped(self._text, self._note, self.room)
        self._go_on(self._turn)

    def _go_on(self, turn: int) -> None:
        """Wrap the next part, if this is still what is shown."""
        if turn != self._turn:
            return
        part = next(self._left, None)
        if part is not None:
            self._lines += part
            self.call_later(self._go_on, turn)
        self.virtual_size = Size(self.room, len(self._lines))
        self.refresh()

    # -- painting ----------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Return one line of what is in sight."""
        width, at = self.room, y + self.scroll_offset.y
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line, part = self._lines[at]
        base = self._style(part) if part else self.rich_style
        strip = Strip(self._segments(line, base, at), show.width(line)).adjust_cell_length(width, self.rich_style)
        return strip.apply_offsets(0, at)

    def _segments(self, line: str, base: Style, at: int) -> list[Segment]:
        """Return a line in pieces: what is selected by the mouse, else what was searched for, stands out."""
        selection = self.text_selection
        span = selection.get_span(at) if selection is not None else None
        if span is not None:
            start, end = span[0], len(line) if span[1] == -1 else span[1]
            spans, style = [(start, end)], base + self._style("selected")
        else:
            spans, style = _hits(line, self._words), base + self._style("hit")
        pieces: list[Segment] = []
        done = 0
        for start, end in spans:
            pieces += [Segment(line[done:start], base), Segment(line[start:end], style)]
            done = end
        return [*pieces, Segment(line[done:], base)]

    def _style(self, part: str) -> Style:
        return self.get_visual_style(f"reader--{part}").rich_style

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return what the mouse has selected."""
        return selection.extract(self.shown), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint it."""
        del selection
        self.refresh()

    # -- what a person does --------------------------------------------------------------------------------------------

    def action_up(self) -> None:
        """Scroll up by one line."""
        self._scroll_by(-1)

    def action_down(self) -> None:
        """Scroll down by one line."""
        self._scroll_by(1)

    def action_page_up(self) -> None:
        """Scroll up by one page."""
        self._scroll_by(1 - self.size.height)

    def action_page_down(self) -> None:
        """Scroll down by one page."""
        self._scroll_by(self.size.height - 1)

    def action_first(self) -> None:
        """Scroll to the beginning."""
        self._scroll_by(-len(self._lines))

    def action_last(self) -> None:
        """Scroll to the end."""
        self._scroll_by(len(self._lines))

    def _scroll_by(self, lines: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, immediate=True)


def _wrapped(text: str, note: str, room: int) -> Iterator[list[tuple[str, str]]]:
    """Yield the lines of a text, a part of it at a time, and then those of the note."""
    if not room:
        return
    done: list[tuple[str, str]] = []
    chars = 0
    for paragraph in text.replace("\r\n", "\n").split("\n"):
        part = "quote" if paragraph.startswith(">") else ""
        carried = ""
        for start in range(0, max(1, len(paragraph)), PART_CHARS):
            piece = carried + show.paragraph(paragraph[start : start + PART_CHARS])
            lines = list(show.folded(piece, room))
            # What fills no line yet goes on with the next piece of its paragraph.
            carried = lines.pop() if start + PART_CHARS < len(paragraph) else ""
            done += [(line, part) for line in lines]
            chars += len(piece)
            if chars > PART_CHARS:
                yield done
                done, chars = [], 0
    if note:
        done += [("", ""), *((line, "note") for line in show.folded(show.plain(note), room))]
    yield done


def _hits(line: str, words: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where the words stand in a line, from left to right, none within another."""
    lowered = line.lower()
    if not words or len(lowered) != len(line):
        return []
    found: list[tuple[int, int]] = []
    for word in words:
        at = lowered.find(word)
        while at >= 0:
            found.append((at, at + len(word)))
            at = lowered.find(word, at + len(word))
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept
