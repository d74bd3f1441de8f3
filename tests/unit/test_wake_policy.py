"""Every condition and every veto of the wake, each alone: what it refuses, its reason, and what it does not refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.wake import policy, prompt, replay
from sot_tui.wake.policy import Act, Due, RowFacts, Rung, Sight, Stretch
from sot_tui.wake.prompt import WAKE_LINE, Verdict
from sot_tui.wake.terminal import Terminal
from sot_tui.wake.typist import Enter, Goal, Stop, Type, Typist, Wait

if TYPE_CHECKING:
    from sot_tui.wake.terminal import Screen

COLUMNS, LINES = 80, 12
RULE = "─" * COLUMNS
FREE = "❯\u00a0\x1b[7m \x1b[27m"


def screen(
    *box: str,
    above: str = RULE,
    under: str = RULE,
    below: tuple[str, ...] = ("  manual mode",),
    at: tuple[int, int] = (0, 2),
    osc: str = "",
    columns: int = COLUMNS,
) -> Screen:
    """Return a screen with a box: the rows of it, its rules, what is below, and the cursor in it by row and column."""
    terminal = Terminal(columns, LINES)
    rows = [*([""] * (LINES - 2 - len(box) - len(below))), above, *box, under, *below]
    drawn = "\r\n".join(rows)
    first = LINES - 1 - len(box) - len(below)
    terminal.feed(f"{osc}{drawn}\x1b[0m\x1b[{first + at[0] + 1};{at[1] + 1}H".encode(), 0.0)
    return terminal.snapshot(0.0)


def free(**more: object) -> Screen:
    return screen(FREE, **more)  # type: ignore[arg-type]


def holding(text: str = WAKE_LINE) -> Screen:
    return screen(f"❯\u00a0{text}\x1b[7m \x1b[27m", at=(0, 2 + len(text)))


# -- one frame ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        free(),
        free(at=(0, 1)),
        screen("❯\u00a0"),
        screen("  ❯\u00a0", at=(0, 4)),
        screen("❯\u00a0\x1b[7ma\x1b[27m\x1b[2mdd a test\x1b[22m"),
        screen("❯\u00a0\x1b[2madd a test\x1b[22m"),
        free(above="─" * 60 + " parser work " + "─" * 7),
        free(below=("  manual mode", "  ● main", "  ◯ general-purpose")),
        screen("❯\u00a0", above="─" * 40, under="─" * 40, columns=40),
    ],
)
def test_prompt_when_free_then_nothing_is_against_it(shown: Screen) -> None:
    """Contract, Waking: "a gray suggestion (drawn dim) or any other dim decoration does not count as a draft"."""
    assert prompt.read(shown).verdict is Verdict.FREE, prompt.read(shown).reason


REFUSED = {
    "a menu's plain space after the glyph": (screen("❯ \x1b[7m \x1b[27m"), prompt.NO_GLYPH),
    "a menu's hint after a plain space": (screen("❯ \x1b[2mdescribe a task\x1b[22m"), prompt.NO_GLYPH),
    "another glyph": (screen(">\u00a0"), prompt.NO_GLYPH),
    "shell mode": (screen("!\u00a0"), prompt.SHELL_MODE),
    "a draft, cursor behind it": (screen("❯\u00a0half", at=(0, 6)), prompt.DRAFT),
    "a draft, cursor at its start": (screen("❯\u00a0\x1b[7mh\x1b[27malf"), prompt.DRAFT),
    "one letter, cursor on it": (screen("❯\u00a0\x1b[7my\x1b[27m"), prompt.DRAFT),
    "a draft of no-break spaces": (screen("❯\u00a0\u00a0\u00a0"), prompt.DRAFT),
    "a draft whose first line is empty": (screen("❯\u00a0\x1b[7m \x1b[27m", "  second"), prompt.DRAFT),
    "a draft of two empty lines": (screen("❯\u00a0\x1b[7m \x1b[27m", ""), prompt.DRAFT),
    "text behind a suggestion": (screen("❯\u00a0\x1b[7ma\x1b[27m\x1b[2mdd\x1b[22m x"), prompt.DRAFT),
    "a paste, though it is dim": (screen("❯\u00a0\x1b[2m[Pasted text #1 +3 lines]\x1b[22m"), prompt.PASTED),
    "the cursor elsewhere in the box": (screen("❯\u00a0", at=(0, 5)), prompt.CURSOR_ELSEWHERE),
    "no upper rule": (free(above=""), prompt.NO_BOX),
    "no lower rule": (free(under=""), prompt.NO_BOX),
    "a rule that is too short": (free(under="─" * 70), prompt.NO_BOX),
    "a scrolled box": (free(above="─── ↑ 1 more " + "─" * 67), prompt.SCROLLED),
    "another agent's view": (free(below=("  x", "  ◯ main", "  ● general-purpose")), prompt.ANOTHER_AGENT),
    "no main in the panel": (free(below=("  x", "  ◯ general-purpose")), prompt.ANOTHER_AGENT),
    "the panel has the focus": (free(below=("  x", "❯ ● main", "  ◯ general-purpose")), prompt.ANOTHER_AGENT),
    "another agent's hint": (screen("❯\u00a0\x1b[2mMessage @general-purpose…\x1b[22m"), prompt.ANOTHER_AGENT),
    "a vim mode": (free(below=("  -- INSERT --",)), prompt.VIM_MODE),
    "too narrow": (screen("❯\u00a0", above="─" * 16, under="─" * 16, columns=16), prompt.TOO_NARROW),
    "the line, cursor inside it": (screen(f"❯\u00a0{WAKE_LINE}", at=(0, 9)), prompt.NOT_AT_THE_END),
    "the line and more": (screen(f"❯\u00a0{WAKE_LINE} x", at=(0, 46)), prompt.DRAFT),
    "more and the line": (screen(f"❯\u00a0x {WAKE_LINE}", at=(0, 46)), prompt.DRAFT),
    "the line, broken by hand": (
        screen(f"❯\u00a0{WAKE_LINE[:-13]}", f"  {WAKE_LINE[-12:]}", at=(1, 14)),
        prompt.DRAFT,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_prompt_when_it_is_not_clearly_free_then_it_is_refused_and_the_reason_said(case: str) -> None:
    """Contract, Waking: "a draft is not free wherever its cursor sits"."""
    shown, reason = REFUSED[case]
    found = prompt.read(shown)
    assert (found.verdict, found.reason) == (Verdict.REFUSED, reason)


def test_prompt_when_the_box_holds_just_the_line_then_it_says_so() -> None:
    assert prompt.read(holding()).verdict is Verdict.HOLDS


# -- conditions and vetoes --------------------------------------------------------------------------------------------

STILL = policy.STILL_SECS


def judged(shown: Screen, *, row: RowFacts | None = None, still_s: float = STILL, **sight: Any) -> tuple[Act, str]:
    found = policy.judge(Sight(shown, **sight), row or RowFacts(), still_s)
    return found.act, found.reason


def test_judge_when_free_and_still_then_type_and_with_the_line_in_the_box_enter() -> None:
    assert judged(free()) == (Act.TYPE, "")
    assert judged(holding()) == (Act.ENTER, "")


@pytest.mark.parametrize("shown", [free(), holding()])
def test_judge_when_not_still_for_a_second_and_a_half_then_no(shown: Screen) -> None:
    """Contract, Waking: "hold still for a second and a half before anything is typed"."""
    assert judged(shown, still_s=1.49) == (Act.NO, policy.MOVING)
    assert judged(shown, still_s=1.5)[0] is not Act.NO


ROWS = {
    "codex": (RowFacts("codex"), "codex: never typed into"),
    "a shell": (RowFacts("shell"), "shell: never typed into"),
    "vim": (RowFacts(vim=True), policy.VIM),
    "stop hook": (RowFacts(stop_age=59.9), policy.STOP_HOOK),
    "stop hook just ahead of our clock": (RowFacts(stop_age=-1.0), policy.STOP_HOOK),
    "floor with a heartbeat": (RowFacts(floor_age=19.9), "a turn is at work (fresh heartbeat)"),
}


@pytest.mark.parametrize("case", ROWS)
def test_judge_when_the_row_forbids_it_then_no_and_why(case: str) -> None:
    row, reason = ROWS[case]
    assert judged(free(), row=row) == judged(holding(), row=row) == (Act.NO, reason)


@pytest.mark.parametrize("row", [RowFacts(stop_age=60.0), RowFacts(stop_age=-1.1), RowFacts(floor_age=20.0)])
def test_judge_when_a_mark_is_old_or_of_a_wrong_clock_then_it_holds_nothing(row: RowFacts) -> None:
    """Contract, Waking: "a mark over a minute old holds nothing"."""
    assert judged(free(), row=row) == (Act.TYPE, "")


SIGHTS: dict[str, tuple[dict[str, Any], str]] = {
    "lag": ({"lag": 1}, policy.LAGS),
    "in a frame": ({"synchronizing": True}, policy.LAGS),
    "unread keys": ({"queued": 1}, policy.UNREAD_KEYS),
    "a person": ({"person_s": 2.4}, policy.PERSON),
}


@pytest.mark.parametrize("case", SIGHTS)
def test_judge_when_the_sight_is_not_whole_or_somebody_types_then_no_and_why(case: str) -> None:
    sight, reason = SIGHTS[case]
    assert judged(free(), **sight) == judged(holding(), **sight) == (Act.NO, reason)


def test_judge_when_the_person_is_gone_for_long_enough_then_yes() -> None:
    assert judged(free(), person_s=2.5) == (Act.TYPE, "")


AGENTS = ("  x", "  ● main", "  ◯ general-purpose")
GRAY = "\x1b[38;5;246m❯\x1b[39m\u00a0"
WORK = {
    "colour": (screen(GRAY), "colour of the prompt", policy.STRONG_SECS),
    "dim glyph": (screen("\x1b[2m❯\x1b[22m\u00a0"), "colour of the prompt", policy.STRONG_SECS),
    "hint": (free(below=("  manual · esc to interrupt",)), "interrupt hint", policy.STRONG_SECS),
    "hint below a status line": (
        free(below=("  mine", "  manual · esc to interrupt")),
        "interrupt hint",
        policy.STRONG_SECS,
    ),
    "queued": (
        screen("❯\u00a0\x1b[2mPress up to edit queued messages\x1b[22m"),
        "messages are queued",
        policy.STRONG_SECS,
    ),
    "title": (free(osc="\x1b]0;◐ Claude Code\x07"), "title", policy.WEAK_SECS),
    "title of an older version": (free(osc="\x1b]0;⠂ Claude Code\x07"), "title", policy.WEAK_SECS),
    "status": (free(osc="\x1b]7501;state=working\x07"), "status report: working", policy.WEAK_SECS),
    "title beside background agents": (
        free(osc="\x1b]0;◑ Claude Code\x07", below=AGENTS),
        "title",
        policy.AGENTS_STILL_SECS,
    ),
    "status beside background agents": (
        free(osc="\x1b]7501;state=working\x07", below=AGENTS),
        "status report: working",
        policy.AGENTS_STILL_SECS,
    ),
}


@pytest.mark.parametrize("case", WORK)
def test_judge_when_work_is_seen_then_it_is_a_veto_with_its_name_and_not_for_good(case: str) -> None:
    """A veto makes the wake stricter; none leaves an idle row deaf for ever."""
    shown, name, until = WORK[case]
    assert judged(shown) == (Act.NO, f"a turn is at work ({name})")
    assert judged(shown, still_s=until - 0.1) == (Act.NO, f"a turn is at work ({name})")
    assert judged(shown, still_s=until) == (Act.TYPE, "")


def test_judge_when_the_status_report_says_blocked_then_no() -> None:
    shown = free(osc="\x1b]7501;state=blocked:kind=permission\x07")
    assert judged(shown, still_s=1000.0) == (Act.NO, "a turn is at work (status report: blocked)")


@pytest.mark.parametrize("state", ["idle", "done", "error"])
def test_judge_when_the_agent_reports_no_work_then_yes(state: str) -> None:
    shown = free(osc=f"\x1b]7501;state={state}:app=claude-code\x07\x1b]0;✳ Claude Code\x07")
    assert judged(shown) == (Act.TYPE, "")


def test_judge_when_only_seldom_looks_saw_rest_then_nothing_is_typed_yet() -> None:
    """Looks that lie seconds apart may miss a change: they weaken a veto and never make up for the hold."""
    shown, _, until = WORK["title"]
    assert policy.judge(Sight(shown), RowFacts(), 1.0, until).reason == policy.MOVING
    assert policy.judge(Sight(shown), RowFacts(), 1.5, until).act is Act.TYPE


def test_stretch_when_the_watched_part_changes_then_it_begins_anew_and_the_footer_is_not_watched() -> None:
    """Contract, Waking: "the background-agent footer below it is not watched"."""
    stretch = Stretch().watched(free(below=AGENTS), 1.0)
    assert stretch.watched(free(below=("  x", "  ● main", "  ◯ general-purpose 4s")), 2.0).since == 1.0
    assert stretch.watched(free(above="─" * 70 + " label " + "─" * 3, below=AGENTS), 3.0).since == 3.0
    assert stretch.watched(free(at=(0, 1), below=AGENTS), 4.0).since == 4.0


# -- the mail -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unread", "newest", "rung", "now", "due"),
    [
        (0, 0, None, 0.0, Due.NOTHING),
        (1, 5, None, 0.0, Due.WAKE),
        (1, 5, Rung(5, 0.0), 599.9, Due.NOTHING),
        (1, 5, Rung(5, 0.0), 600.0, Due.WAKE),
        (2, 6, Rung(5, 0.0), 1.0, Due.WAKE),
        (0, 0, Rung(5, 0.0), 1.0, Due.FORGET),
        (1, 5, Rung(5, 0.0, owed=True), 1.0, Due.COMPLETE),
        (0, 0, Rung(5, 0.0, owed=True), 1.0, Due.COMPLETE),
        (2, 6, Rung(5, 0.0, owed=True), 1.0, Due.COMPLETE),
        (1, 5, Rung(5, 0.0, owed=True, not_before=10.0), 9.9, Due.NOTHING),
        (1, 5, Rung(5, 0.0, owed=True, not_before=10.0), 10.0, Due.COMPLETE),
        (1, 5, Rung(5, 0.0, owed=True), 600.0, Due.WAKE),
        (0, 0, Rung(5, 0.0, owed=True), 600.0, Due.FORGET),
    ],
)
def test_due_when_mail_and_memory_are_so_then_that_is_due(
    unread: int, newest: int, rung: Rung | None, now: float, due: Due
) -> None:
    """Contract, Waking: one line per new batch, one more after ten minutes, an owed Enter before all else."""
    assert policy.due(unread, newest, rung, now) is due


# -- one attempt ----------------------------------------------------------------------------------------------------


def _typed(goal: Goal = Goal.WAKE) -> Typist:
    typist = Typist(goal, RowFacts(), 0.0)
    assert typist.step(Sight(free()), 0.0) == Wait(policy.MOVING)
    assert isinstance(typist.step(Sight(free()), 1.5), Type)
    return typist


def test_typist_when_the_line_stands_alone_then_enter_and_the_end() -> None:
    typist = _typed()
    assert typist.owes_enter
    assert typist.step(Sight(free()), 1.6) == Wait("the line is not in the box yet")
    assert isinstance(typist.step(Sight(holding()), 1.7), Enter)
    assert typist.step(Sight(free()), 1.8) == Stop("")
    assert not typist.owes_enter


@pytest.mark.parametrize(
    "seen",
    [
        Sight(holding(f"{WAKE_LINE} x")),
        Sight(free()),
        Sight(holding(), lag=1),
        Sight(holding(), synchronizing=True),
        Sight(holding(), queued=1),
        Sight(holding(), person_s=0.1),
    ],
)
def test_typist_when_the_line_is_not_seen_alone_then_no_enter_and_it_is_owed(seen: Sight) -> None:
    """Contract, Waking: Enter "once main's input box holds just that line"."""
    typist = _typed()
    assert isinstance(typist.step(seen, 2.0), Wait)
    assert isinstance(typist.step(seen._replace(person_s=seen.person_s and 2.0), 4.5), Stop)
    assert typist.owes_enter


def test_typist_when_the_screen_had_changed_at_the_key_then_nothing_was_typed_and_the_hold_begins_anew() -> None:
    typist = _typed()
    typist.missed()
    assert not typist.owes_enter
    moved = free(above="─" * 70 + " label " + "─" * 3)
    assert typist.step(Sight(moved), 1.6) == Wait(policy.MOVING)
    assert isinstance(typist.step(Sight(moved), 3.1), Type)


def test_typist_when_enter_was_missed_then_it_is_owed_until_it_is_sent() -> None:
    typist = _typed()
    assert isinstance(typist.step(Sight(holding()), 1.7), Enter)
    typist.missed()
    assert typist.owes_enter
    assert isinstance(typist.step(Sight(holding()), 1.8), Enter)


def test_typist_when_enter_leaves_the_line_there_then_it_is_owed_again() -> None:
    typist = _typed()
    assert isinstance(typist.step(Sight(holding()), 1.7), Enter)
    assert isinstance(typist.step(Sight(holding()), 3.1), Wait)
    assert isinstance(typist.step(Sight(holding()), 3.2), Stop)
    assert typist.owes_enter


def test_typist_when_only_enter_is_due_then_a_free_box_gets_nothing() -> None:
    typist = Typist(Goal.COMPLETE, RowFacts(), 0.0)
    typist.step(Sight(free()), 0.0)
    assert isinstance(typist.step(Sight(free()), 1.5), Stop)
    assert typist.found_free
    held = Typist(Goal.COMPLETE, RowFacts(), 0.0)
    held.step(Sight(holding()), 0.0)
    assert isinstance(held.step(Sight(holding()), 1.5), Enter)


def test_typist_when_the_screen_never_rests_then_it_is_left_to_the_next_tick() -> None:
    typist = Typist(Goal.WAKE, RowFacts(), 0.0)
    steps = [typist.step(Sight(free(above="─" * (40 + at) + " a " + "─" * (37 - at))), at * 0.5) for at in range(10)]
    assert all(isinstance(step, Wait) for step in steps[:8])
    assert isinstance(steps[8], Stop)
    assert steps[8].reason == policy.MOVING


# -- edges, and what a person is told -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sign", "works"),
    [("\u27ff", False), ("\u2800", True), ("\u2810", True), ("\u28ff", True), ("\u2900", False), ("a", False)],
)
def test_work_when_the_title_begins_with_a_sign_of_the_turning_dots_then_a_turn_is_at_work(
    sign: str, works: bool
) -> None:
    shown = free(osc=f"\x1b]0;{sign} words\x07")
    found = policy.work_seen(Sight(shown), RowFacts(), prompt.read(shown), 0.0)
    assert found == ("title" if works else "")


def test_evidence_when_a_screen_says_something_then_it_is_said_in_words_and_else_nothing() -> None:
    ask = (RULE, " Bash command", "", " Do you want to proceed?", " ❯ 1. Yes", "   2. No", "   Esc to cancel")
    assert policy.evidence(drawn(*ask)) == "a dialog: Bash command"
    assert policy.evidence(free(osc="\x1b]0;\u2810 words\x07")) == "a turn at work (title)"
    assert policy.evidence(free()) == "a free prompt"
    assert policy.evidence(drawn("\x1b]7501;state=idle\x07$ ls")) == "a report: idle"
    assert policy.evidence(drawn("$ ls")) == ""


def drawn(*lines: str) -> Screen:
    terminal = Terminal(COLUMNS, LINES)
    terminal.feed("\r\n".join(lines).encode(), 0.0)
    return terminal.snapshot(0.0)


@pytest.mark.parametrize(
    ("lines", "row", "reason"),
    [
        (("$ ls",), RowFacts(), prompt.NO_BOX),
        (("$ ls",), RowFacts(dialog=True), policy.DIALOG_OPEN),
        (
            (RULE, " Bash command", "", " Do you want to proceed?", " ❯ 1. Yes", "   2. No", "   Esc to cancel"),
            RowFacts(),
            policy.DIALOG_OPEN,
        ),
    ],
)
def test_judge_when_there_is_no_box_then_a_dialog_is_said_only_where_one_waits(
    lines: tuple[str, ...], row: RowFacts, reason: str
) -> None:
    judged = policy.judge(Sight(drawn(*lines)), row, 60.0)
    assert (judged.act, judged.reason) == (Act.NO, reason)


@pytest.mark.parametrize(("width", "rows"), [(42, 1), (41, 2), (22, 2), (21, 3), (14, 3), (13, 4), (11, 4), (1, 4)])
def test_room_when_a_box_is_just_wide_enough_then_the_line_takes_no_row_more(width: int, rows: int) -> None:
    """Its words as they are wrapped: `[sot-comm] you` has 14 signs, `mail: run comm-poll.sh` 22, the whole line 42."""
    assert prompt.room(width) == rows


@pytest.mark.parametrize(("columns", "verdict"), [(18, Verdict.FREE), (17, Verdict.REFUSED)])
def test_prompt_when_the_line_just_fits_its_rows_then_it_is_free_and_in_a_narrower_box_not(
    columns: int, verdict: Verdict
) -> None:
    rule = "─" * columns
    shown = screen("❯\u00a0", above=rule, under=rule, below=("  mode",), columns=columns)
    found = prompt.read(shown)
    assert (found.verdict, found.reason) == (verdict, "" if verdict is Verdict.FREE else prompt.TOO_NARROW)


@pytest.mark.parametrize(("columns", "verdict"), [(32, Verdict.HOLDS), (33, Verdict.REFUSED)])
def test_prompt_when_the_next_word_had_room_in_the_row_above_then_somebody_began_a_new_line(
    columns: int, verdict: Verdict
) -> None:
    """Behind `[sot-comm] you have` a box of 33 columns has room for `mail:`, one of 32 has not."""
    rule = "─" * columns
    box = ("❯\u00a0[sot-comm] you have", "  mail: run comm-poll.sh")
    shown = screen(*box, above=rule, under=rule, columns=columns, at=(1, len(box[1])))
    assert prompt.read(shown).verdict is verdict


def test_prompt_when_the_cursor_is_in_the_last_column_of_the_box_then_it_is_read_all_the_same() -> None:
    assert prompt.read(free(at=(0, COLUMNS - 1))).reason == prompt.CURSOR_ELSEWHERE


@pytest.mark.parametrize("row", [0, LINES - 1])
def test_prompt_when_the_cursor_is_at_the_screen_s_edge_then_no_box_is_there(row: int) -> None:
    terminal = Terminal(COLUMNS, LINES)
    lines = ["words", "─ ↑ 3 more " + "─" * (COLUMNS - 11), *["x"] * (LINES - 4), RULE, "words"]
    if row == 0:
        lines[-1] = RULE
    terminal.feed(("\r\n".join(lines) + f"\x1b[{row + 1};1H").encode(), 0.0)
    found = prompt.read(terminal.snapshot(0.0))
    assert found.verdict is Verdict.REFUSED
    assert (found.reason == prompt.NO_BOX) is (row == 0)


def test_told_when_a_moment_is_printed_then_why_it_is_refused_or_else_not_typed_into_and_what_is_dim() -> None:
    text = "\x1b[2mab\x1b[22mc\x1b[2md\x1b[22m\r"
    (moment,) = replay.moments(COLUMNS, LINES, [(0.5, "o", text)])
    said = replay.told(moment)
    assert (said["at"], said["reason"], said["dim"]) == (0.5, prompt.NO_BOX, [[0, 2], [3, 4]])
    boxed = f"{RULE}\r\n{FREE}\x1b[2mdim\x1b[22m\r\n{RULE}\x1b[2;3H"
    (moment,) = replay.moments(COLUMNS, LINES, [(0.0, "o", boxed)])
    said = replay.told(moment)
    assert (said["prompt"], said["reason"], said["dim"]) == ("free", policy.MOVING, [[3, 6]])


def test_typist_when_a_bound_of_time_is_just_reached_then_it_is_over() -> None:
    moving = Typist(Goal.WAKE, RowFacts(), 0.0)
    # A Wait and a Stop with one reason are equal, as tuples are: the kind is asked for by itself.
    assert isinstance(moving.step(Sight(free(), lag=1), 3.999), Wait)
    assert isinstance(moving.step(Sight(free(), lag=1), 4.0), Stop)
    for seconds, over in ((2.999, False), (3.0, True)):
        typed = _typed()
        assert isinstance(typed.step(Sight(free()), 1.5 + seconds), Stop) is over
        assert typed.owes_enter
    for seconds, over in ((1.499, False), (1.5, True)):
        sent = _typed()
        assert isinstance(sent.step(Sight(holding()), 1.75), Enter)
        assert isinstance(sent.step(Sight(holding()), 1.75 + seconds), Stop) is over
        assert sent.owes_enter is over


@pytest.mark.parametrize(("person_s", "sends"), [(None, True), (0.2, False), (0.25, False), (0.3, True)])
def test_typist_when_a_person_s_key_came_with_the_line_or_after_it_then_no_enter(
    person_s: float | None, sends: bool
) -> None:
    typed = _typed()
    step = typed.step(Sight(holding(), person_s=person_s), 1.75)
    assert isinstance(step, Enter if sends else Wait)
