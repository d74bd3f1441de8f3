"""Whatever a program draws, the wake reads it without a fault, and what it takes for free is what the contract says."""

from __future__ import annotations

from hypothesis import given, strategies as st

from sot_tui.wake import dialog, policy, prompt
from sot_tui.wake.policy import Act, RowFacts, Sight
from sot_tui.wake.prompt import Verdict
from sot_tui.wake.terminal import Terminal

COLUMNS, LINES = 40, 8
RULE = "─" * COLUMNS
PIECES = (
    RULE,
    "─── ↑ 1 more " + "─" * 27,
    "❯\u00a0",
    "❯ ",
    "❯ 1. Yes",
    "  2. No",
    "!\u00a0",
    "› 1. Yes (y)",
    "  ● main",
    "  ◯ other",
    prompt.WAKE_LINE,
    "Do you want to proceed?",
    "esc to interrupt",
    "Esc to cancel",
    "-- INSERT --",
    " ☐ Format",
    "\x1b[2m",
    "\x1b[7m",
    "\x1b[0m",
    "\x1b[38;5;246m",
    "\r\n",
    "\r\n",
    "\x1b[H",
    "\x1b[2J",
    "\x1b[5;3H",
    "▔" * COLUMNS,
    "\u00a0",
    "日本",
    "a",
    "\x1b]0;◐ x\x07",
    "\x1b]7501;state=working\x07",
)
drawn = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text(max_size=200),
)


@given(drawn, st.integers(1, 60), st.integers(1, 12))
def test_screen_when_anything_is_drawn_then_it_is_read_without_a_fault(text: str, columns: int, lines: int) -> None:
    terminal = Terminal(columns, lines)
    terminal.feed(text.encode("utf-8", "replace"), 0.0)
    screen = terminal.snapshot(0.0)
    prompt.read_codex(screen)
    dialog.read(screen)
    dialog.found(prompt.text_of(screen))
    policy.evidence(screen)
    policy.watched_part(screen)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_screen_when_it_is_taken_for_free_then_the_contract_s_words_hold_for_it(text: str) -> None:
    """Contract, Waking: glyph, no-break space, the two rules, the cursor at the start, nothing that is not dim."""
    terminal = Terminal(COLUMNS, LINES)
    # A box below whatever is drawn, so that many of the screens come near to a free one.
    terminal.feed(f"{text}\x1b[0m\x1b[6;1H{RULE}\r\n❯\u00a0\r\n{RULE}\x1b[7;3H{text[-1:]}".encode(), 0.0)
    screen = terminal.snapshot(0.0)
    seen = prompt.read(screen)
    if seen.verdict is Verdict.FREE:
        rows = prompt.text_of(screen)
        row = screen.rows[screen.cursor_y]
        assert all(prompt.is_rule(rows[at], COLUMNS) for at in (screen.cursor_y - 1, screen.cursor_y + 1))
        start = "".join(cell.data for cell in row).index("❯\u00a0")
        assert start + 1 <= screen.cursor_x <= start + 2
        undimmed = [cell for cell in row[start + 2 :] if not cell.dim and cell.data != " "]
        assert all(cell.reverse for cell in undimmed)
        assert dialog.read(screen) is None
    judged = policy.judge(Sight(screen), RowFacts(), 2.0)
    assert judged.act is Act.NO or seen.verdict is not Verdict.REFUSED
