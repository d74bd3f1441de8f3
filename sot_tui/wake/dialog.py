"""Does a dialog wait on a person, which line names it, and which number keys answer it.

The reference's rules are not observed (daemon wire 5), so these are its safe choices: no main input box is on the
screen, and there is a dialog in a frame of its own that reaches the screen's end. `read` tells its kind and the line
that names it, by that frame alone and never by the transcript above; `found` tells what a number key answers, for a
menu whose focused option reads `❯ 1. …` (`› 1. …` where Codex asks leave) with at least one more below it. What a
person opened (a menu, a picker) is none. One look proves nothing: whoever acts on it looks twice and compares
(`Looks`). Pure.
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.wake.prompt import is_rule, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.wake.cells import Cell
    from sot_tui.wake.terminal import Screen

MOST_LINES = 24
"""Lines above the focused option that may belong to its dialog; those of a taller one are of no use to a person."""
_EDGES = " │┃║|"
_BORDER = re.compile(r"[─━═╭╮╰╯┌┐└┘╔╗╚╝┏┓┗┛+\-]{3,}")
_FOCUSED = re.compile(r"❯ (?P<number>[1-9])\. \S")
_OPTION = re.compile(r"(?:[❯›] )?(?P<number>[1-9])\. \S")
_INPUT_GLYPH = "❯\u00a0"
"""What the main input box begins with; menus put an ASCII blank there (daemon wire 6.1)."""
_RULE = re.compile(r"─+(?: .* ─+)?")


class Dialog(NamedTuple):
    """A dialog as a screen shows it."""

    lines: tuple[str, ...]
    """Its lines without the box around them; none at either end is empty."""
    keys: tuple[str, ...]
    """The numbers of its options, from the top."""
    focused: str
    """The number of the option that Enter would take."""

    @property
    def title(self) -> str:
        """Return its first line, by which it is told from another one."""
        return self.lines[0]


def lines_of(rows: Sequence[Sequence[Cell]]) -> tuple[str, ...]:
    """Return the text of a screen's rows, without the blanks behind it."""
    return tuple("".join(cell.data for cell in row).rstrip(" ") for row in rows)


def found(screen: Sequence[str]) -> Dialog | None:
    """Return the dialog that the lines of a screen show, None when it is not clear that there is one."""
    if has_input_box(screen):
        return None
    bare = [line.strip(_EDGES) for line in screen]
    at = next((at for at in range(len(bare) - 1, -1, -1) if _FOCUSED.match(bare[at])), None)
    top = None if at is None else _top(bare, at)
    if at is None:
        at, top = _codex_approval(bare)
    if at is None or top is None:
        return None
    end = _end(bare, at)
    options = {line: match["number"] for line in range(top, end) if (match := _OPTION.match(bare[line]))}
    first = max((line for line, number in options.items() if number == "1" and line <= at), default=end)
    keys = tuple(number for line, number in options.items() if line >= first)
    if keys != tuple(map(str, range(1, len(keys) + 1))) or options[at] not in keys[:-1]:
        return None  # no option below the focused one, or numbers that are no menu's
    lines = [line.rstrip() for line in _without_edges(screen[top:end])]
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return Dialog(tuple(lines), keys, options[at])


def has_input_box(screen: Sequence[str]) -> bool:
    """Tell whether the main input box of an agent is on a screen: then nothing else waits on a person."""
    return any(
        line.strip(_EDGES).startswith(_INPUT_GLYPH)
        and _RULE.fullmatch(screen[at - 1].strip())
        and _RULE.fullmatch(screen[at + 1].strip())
        for at, line in enumerate(screen[1:-1], 1)
    )


def _top(bare: Sequence[str], at: int) -> int:
    """Return the first line of the dialog: the one below the nearest border above, within a bound."""
    top = at
    while top > max(0, at - MOST_LINES) and not _BORDER.fullmatch(bare[top - 1]):
        top -= 1
    return top


def _codex_approval(bare: Sequence[str]) -> tuple[int | None, int | None]:
    """Return the marked option of what Codex asks leave for, and the line that asks; its other menus take no number."""
    end = max((at for at, line in enumerate(bare) if line), default=-1)
    if end < 0 or bare[end] != _CODEX_APPROVAL:
        return None, None
    at = next((at for at in range(end, -1, -1) if _CODEX_MARKED.match(bare[at])), end)
    asked = (row for row in range(at - 1, max(-1, at - MOST_LINES), -1) if _is_asked(bare[row]))
    return at if at < end else None, next(asked, None)


def _end(bare: Sequence[str], at: int) -> int:
    """Return the line behind the dialog: the border below it, or the first gap after its last option."""
    end, last = at, at
    while end < len(bare) and not _BORDER.fullmatch(bare[end]):
        if _OPTION.match(bare[end]):
            last = end
        elif not bare[end] and end > last + 1:
            break
        end += 1
    return end


def _without_edges(lines: Sequence[str]) -> list[str]:
    """Return lines without the sides of a box, and without the margin that all of them have."""
    inner = [re.sub(r"^ *[│┃║|]|[│┃║|] *$", "", line) for line in lines]
    margin = min((len(line) - len(line.lstrip(" ")) for line in inner if line.strip()), default=0)
    return [line[margin:] for line in inner]


# -- whether one waits, of which kind, and what names it ---------------------------------------------------------------


class Kind(Enum):
    """What a dialog is about; the value is the word that is shown."""

    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"
    TRUST = "trust"
    API_KEY = "api-key"
    MCP = "mcp"
    AUTO_MODE = "auto-mode"
    LOGIN = "login"
    LIMIT = "limit"
    """A usage limit is reached, and the agent asks what to do."""
    RESUME = "resume"
    """The agent asks how an old session is to be taken up."""
    OTHER = "dialog"
    """A question with numbered answers that is none of these."""


class Waiting(NamedTuple):
    """A dialog that waits on a person."""

    kind: Kind
    line: str
    """The line of the dialog that names it."""


class Looks(NamedTuple):
    """What was seen of a row's dialog: two equal reads before a change."""

    settled: Waiting | None = None
    """What two reads, one after the other, have shown alike."""
    last: Waiting | None = None

    def after(self, seen: Waiting | None) -> Looks:
        """Return the looks after one more."""
        return Looks(seen if seen == self.last else self.settled, seen)


class _Frame(NamedTuple):
    """The lines of a dialog, and where in them its options begin."""

    lines: tuple[str, ...]
    options: int
    """The line of the first option; behind the last line where there is none."""
    has_menu: bool
    """Whether one option is marked and there is at least one more."""


_MARKED = re.compile(r" *❯ \S")
_NUMBERED = re.compile(r" *(?:❯ )?[1-9]\. \S")
_HINT = re.compile(r"[Ee]nter to |[Ee]sc to |ctrl\+g to edit|\(esc\)")
_DECIDES = re.compile(r"Enter to .*Esc to ")
"""The last line of a dialog whose answers are keys and no options."""
_CUT = re.compile(r" *↑ \d+ more lines?$")
"""What a dialog says that is taller than its screen."""
_TABS = re.compile(r"^ *(?:← +)?[☐☒✔] ")
"""The first line of a question: one mark for each of its parts."""
_GENERIC = "Do you want to proceed?"
_ASKS = re.compile(r"(?:Do you want|Would you like|Allow) .*\?")
_HINT_LINES = 4
"""Lines of hints, at most, below the last option."""
_OPENING = 4
"""Lines at a dialog's beginning that may be its heading."""

_NAMED: tuple[tuple[Kind, re.Pattern[str], bool], ...] = (
    (Kind.RESUME, re.compile(r"Resume (?:from summary|full session)"), False),
    (Kind.PLAN, re.compile(r"Ready to code\?|has written up a plan|Exit plan mode\?"), False),
    (Kind.TRUST, re.compile(r"Accessing workspace|Do you trust|Quick safety check|Bypass Permissions mode"), True),
    (Kind.API_KEY, re.compile(r"custom API key|use this API key"), True),
    (Kind.MCP, re.compile(r"MCP servers?\b"), True),
    (Kind.AUTO_MODE, re.compile(r"^Auto mode|[Ee]nable auto mode"), True),
    (Kind.LOGIN, re.compile(r"[Ss]elect login method|Log in to"), True),
    (Kind.LIMIT, re.compile(r"limit to reset|(?:hit|reached) your .*limit"), False),
)
"""Which words say of which kind a dialog is, and whether only its opening lines count."""
_WITHOUT_MENU = frozenset({Kind.AUTO_MODE, Kind.TRUST, Kind.LOGIN, Kind.MCP})
_NAMED_BY_HEADING = frozenset({Kind.TRUST, Kind.AUTO_MODE, Kind.LOGIN, Kind.MCP, Kind.LIMIT, Kind.RESUME})

_CODEX_APPROVAL = "Press enter to confirm or esc to cancel"
"""The last line of what Codex asks leave for: a number there answers at once."""
_CODEX_MARKED = re.compile(r" *› [1-9]\. \S")
_CODEX_ENDS = re.compile(r"enter to (?:confirm|submit)")
_CODEX_QUESTION = re.compile(r" *Question \d+/\d+")


def read(screen: Screen) -> Waiting | None:
    """Return the dialog that waits on a person on this screen, None when none clearly does."""
    lines = text_of(screen)
    if _has_box(lines, screen.columns):
        return None
    frame = _frame(lines, screen.columns)
    if frame is None:
        return _codex(lines)
    kind = _kind(frame)
    if kind is None or (not frame.has_menu and kind not in _WITHOUT_MENU):
        return None
    return Waiting(kind, _name(kind, frame))


def _has_box(lines: Sequence[str], columns: int) -> bool:
    """Tell whether an input box, of one row or more, is on the screen; a shell's too."""
    return any(
        line.lstrip(" ").startswith((_INPUT_GLYPH, "!\u00a0")) and is_rule(above, columns)
        for above, line in pairwise(lines)
    )


def _frame(lines: Sequence[str], columns: int) -> _Frame | None:
    """Return the dialog at the screen's end; None when there is none in a frame of its own."""
    end = max((row for row, line in enumerate(lines) if line), default=-1) + 1
    rules = [row for row in range(end) if is_rule(lines[row], columns) or lines[row] == "▔" * columns]
    marked = next((row for row in range(end - 1, -1, -1) if _MARKED.match(lines[row])), None)
    if marked is None or (rules and marked < rules[-1] and not _goes_on(lines, rules[-1])):
        if not rules or not _DECIDES.search(lines[end - 1]):
            return None
        inside = tuple(lines[rules[-1] + 1 : end])
        return _Frame(inside, len(inside), has_menu=False)
    first = _first_option(lines, marked)
    above = [row for row in rules if row < first]
    top = above[-1] + 1 if above else 0
    inside = tuple(lines[top:end])
    if not above and not any(_CUT.match(line) for line in inside):
        return None
    last = max((row for row in range(marked, end) if _is_option(lines, row, marked)), default=marked)
    hints = [line for line in lines[last + 1 : end] if line]
    if not any(_HINT.search(line) for line in lines[last:end]) or sum(map(_is_no_more_of, hints)) > _HINT_LINES:
        return None
    count = sum(_is_option(lines, row, marked) for row in range(first, end))
    return _Frame(inside, first - top, has_menu=count > 1)


def _goes_on(lines: Sequence[str], rule: int) -> bool:
    """Tell whether a dialog goes on below a rule: with one more of its options."""
    return rule + 1 < len(lines) and _NUMBERED.match(lines[rule + 1]) is not None


def _is_option(lines: Sequence[str], row: int, marked: int) -> bool:
    if row == marked:
        return True
    if _NUMBERED.match(lines[marked]):
        return _NUMBERED.match(lines[row]) is not None
    indent = lines[marked].index("❯") + 2
    return (
        abs(row - marked) <= _OPENING and lines[row][:indent].strip(" ") == "" and lines[row][indent : indent + 1] > " "
    )


def _first_option(lines: Sequence[str], marked: int) -> int:
    if not _NUMBERED.match(lines[marked]):
        row = marked
        while row > 0 and _is_option(lines, row - 1, marked):
            row -= 1
        return row
    for row in range(marked, -1, -1):
        if re.match(r" *(?:❯ )?1\. \S", lines[row]):
            return row
    return marked


def _is_no_more_of(line: str) -> bool:
    """Tell whether a line below the last option is none that belongs to it, by its margin."""
    return len(line) - len(line.lstrip(" ")) < _OPENING


def _kind(frame: _Frame) -> Kind | None:
    texts = [line.strip(" ") for line in frame.lines if line.strip(" ╌")]
    opening = texts[:_OPENING]
    if opening and _TABS.match(opening[0]):
        return Kind.QUESTION
    for kind, words, early in _NAMED:
        if any(words.search(text) for text in (opening if early else texts)):
            return kind
    above = [line.strip(" ") for line in frame.lines[: frame.options]]
    if any(_ASKS.match(text) for text in above):
        return Kind.PERMISSION
    return Kind.OTHER if any(text.endswith("?") for text in above) else None


def _name(kind: Kind, frame: _Frame) -> str:
    """Return the line that names a dialog: its heading, or what it asks where that says more."""
    above = [text for line in frame.lines[: frame.options] if (text := line.strip(" ╌"))]
    heading = next((text for text in above if not _TABS.match(text)), "")
    asked = next((text for text in reversed(above) if text.endswith("?")), "")
    if kind in _NAMED_BY_HEADING or not asked or (asked == _GENERIC and not any(map(_CUT.match, frame.lines))):
        return heading or kind.value
    return heading if kind is Kind.PLAN else asked


def _is_asked(text: str) -> bool:
    """Tell whether a line of Codex is its own question, and not the agent's reason for it."""
    return text.endswith("?") and not text.startswith("Reason:")


def _codex(lines: Sequence[str]) -> Waiting | None:
    """Return the dialog of a Codex screen, whose frame is the end of the screen."""
    end = max((row for row, line in enumerate(lines) if line), default=0)
    if not _CODEX_ENDS.search(lines[end]):
        return None
    marked = next((row for row in range(end, -1, -1) if _CODEX_MARKED.match(lines[row])), None)
    if marked is None:
        return None
    above = [line.strip(" ") for line in lines[:marked]]
    asked = next((text for text in reversed(above) if _is_asked(text)), "")
    is_question = any(_CODEX_QUESTION.match(line) for line in lines[max(0, marked - MOST_LINES) : marked])
    return Waiting(Kind.QUESTION if is_question else Kind.PERMISSION, asked or "approval")
