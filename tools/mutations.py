"""Weaken what must never fail, one condition at a time, in a copy, and see that the tests notice: each line names one.

These are chosen by hand: the guards of the wake, of the lock and its proofs, of what `filed` promises. Every guard that
there is, weakened by rule, is for `tools.mutants`. `python -m tools.mutations [WORD]` runs those whose description
holds the word. A mutation that no test notices is printed and makes the exit code 1. The tree itself is not touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
UNIT = "tests/unit/test_wake_policy.py"
RECORDED = "tests/unit/test_wake_recordings.py"
FAULTS = "tests/faults/test"


class Mutation(NamedTuple):
    """One weakened condition, and the test that must fail for it."""

    what: str
    file: str
    was: str
    now: str
    test: str


def _lock(what: str, was: str, now: str, test: str = "test_registry_lock.py") -> Mutation:
    return Mutation(what, "sot_tui/comm/registry_lock.py", was, now, f"tests/unit/{test}")


def _proof(what: str, was: str, now: str) -> Mutation:
    return Mutation(what, "sot_tui/comm/proof.py", was, now, "tests/unit/test_proof.py")


def _registry(what: str, was: str, now: str) -> Mutation:
    tests = f"tests/unit/test_registry.py {FAULTS}_registry_faults.py"
    return Mutation(what, "sot_tui/comm/registry.py", was, now, tests)


def _inbox(what: str, was: str, now: str) -> Mutation:
    return Mutation(what, "sot_tui/comm/inbox.py", was, now, f"tests/unit/test_inbox.py {FAULTS}_inbox_faults.py")


def _comm(file: str, what: str, was: str, now: str) -> Mutation:
    return Mutation(what, f"sot_tui/comm/{file}.py", was, now, f"tests/unit/test_{file}.py")


def _claims(what: str, was: str, now: str) -> Mutation:
    return Mutation(what, "sot_tui/notify/claims.py", was, now, "tests/notify/test_claims.py")


def _prompt(what: str, was: str, now: str, test: str = "test_prompt_when") -> Mutation:
    return Mutation(what, "sot_tui/wake/prompt.py", was, now, f"{UNIT} -k {test}")


def _policy(what: str, was: str, now: str, test: str) -> Mutation:
    return Mutation(what, "sot_tui/wake/policy.py", was, now, f"{UNIT} -k {test}")


def _typist(what: str, was: str, now: str, test: str = "test_typist") -> Mutation:
    return Mutation(what, "sot_tui/wake/typist.py", was, now, f"{UNIT} -k {test}")


MUTATIONS = (
    _lock("the lock is not read again after the settling", "        if at.record == holder:\n            reach",
          "        if True:\n            reach"),
    _lock("nothing settles", "        self.home.clock.sleep(SETTLE_S)", "        pass"),
    _lock("unlinked instead of reclaimed",
          'walked = self._walk(holder, "a thread of this process left it" if own else "it is dead")',
          'walked = _Walked([holder], "it is dead")'),
    _lock("a holder that is not proved dead is removed", "if not judged.dead:\n                return",
          "if False:\n                return"),
    _lock("a reclaimer that is not proved dead is passed", "if not judged.dead:\n                who",
          "if False:\n                who"),
    _lock("the circle of markers is walked", "if at.record in passed:", "if False:"),
    _lock("the own marker stays", "if walked.records == [self.me]:", "if False:"),
    _lock("anybody's lock is released", "        if still_held(home, held):\n            _unlink",
          "        if True:\n            _unlink"),
    _lock("what cannot be read is not held", "    except OSError:\n        return True\n    if held.identity",
          "    except OSError:\n        return False\n    if held.identity"),
    _lock("a folder in its place is a dead holder's", "if holder is None:\n            return self.blocked_by(at)",
          "if holder is None:\n            return _Removed(self.me)"),
    _proof("the start tick is ignored", "if start_now != record.start:", "if False:"),
    _proof("a start that was not read proves", "if UNREAD in {start_now, record.start}:", "if False:"),
    _proof("a foreign pid namespace is judged", "if not _equal(record.namespace, me.namespace):", "if False:"),
    _proof("another machine's boot is this one's", "machines_differ = UNREAD not in {record.machine, me.machine} and",
           "machines_differ = False and"),
    _proof("fields that are not known are equal", "return one == other != UNREAD", "return one == other"),
    _proof("a record may be a part of one", "_RECORD.fullmatch(", "_RECORD.match("),
    _registry("the registry is not flushed", "            disk.flush(descriptor)\n", "            pass\n"),
    _registry("the lock is not looked at before the rename", "if not still_held(home, held):", "if False:"),
    _registry("one read is enough", "REREAD_PAUSES_S = (0.0, 0.1, 0.1)", "REREAD_PAUSES_S = ()"),
    _registry("an empty read is a registry", 'return data or Unread(missing=False, why="it is empty")',
              "return data or b'{\"agents\":{}}'"),
    _registry("what could not be read is written over",
              "    if isinstance(registry, Unread):\n        return NotWritten(NOT_WRITTEN)",
              "    if isinstance(registry, Unread):\n        registry = parse(b'{\"agents\":{}}')"),
    _inbox("the line is not flushed", "        disk.flush(descriptor)\n        if not", "        if not"),
    _inbox("the new file's name is not flushed", "        if not length:\n", "        if False:\n"),
    _inbox("a dead writer's part is built upon",
           'if length and disk.read_at(descriptor, 1, length - 1) != b"\\n":', "if False:"),
    _inbox("a failed append stays", "left = _cut_back(home, descriptor, length)", 'left = ""'),
    _inbox("a reader takes no lock", "        if shared:\n", "        if False:\n"),
    _inbox("lines without an end count", "            parts = [more[-1]]\n",
           '            parts = [more[-1]]\n    yield b"".join(parts)\n'),
    _inbox("the cursor is the file's end", "cursor.text(batch.start + len(batch.lines), ",
           "cursor.text(batch.total + 1, "),
    _inbox("the cursor is read after the lines", "        said = cursor_bytes(home, handle)\n", '        said = b""\n'),
    _comm("cursor", "the hash is not looked at", "if not hashed or not count or line_hash(line) ==",
          "if True or line_hash(line) =="),
    _comm("cursor", "a part of a line is a line", 'total = inbox.count(b"\\n")',
          'total = inbox.count(b"\\n") + (not inbox.endswith(b"\\n"))'),
    _comm("frames", "own lines count", ' and found.get("from") != handle', ""),
    _comm("frames", "broadcast copies count", 'found.get("to") == handle', 'found.get("to") in (handle, "")'),
    Mutation("bare none matches", "sot_tui/comm/mounts.py", "record.manager == own != NO_MANAGER",
             "record.manager == own",
             "tests/unit/test_lock_manager.py"),
    Mutation("another machine's record is replaced", "sot_tui/comm/mounts.py",
             "elif record.writer and record.writer == _writer(home):", "elif True:", "tests/unit/test_lock_manager.py"),
    _comm("routes", "a stale session gets mail", "if not registry.is_live(entry, home.clock.now()):", "if False:"),
    _claims("a completion is claimed twice", "if key in self._held:", "if False:"),
    _claims("a claim of another is given back", " and claim.token == token", ""),
    _claims("claims never expire", "for old in _expired(self._held, now):", "for old in ():"),
    _claims("claims without end", "if len(self._held) >= self._capacity:", "if False:"),
    _prompt("any blank after the glyph", "startswith(GLYPH + NO_BREAK)", 'startswith((GLYPH + NO_BREAK, GLYPH + " "))'),
    _prompt("any glyph", "if not first[glyph:].startswith(GLYPH + NO_BREAK):", "if not first:"),
    _prompt("no-break spaces are blank", 'parts.append(undimmed(cells[start:]).rstrip(" "))',
            "parts.append(undimmed(cells[start:]).rstrip())"),
    _prompt("a short rule is a rule", "if len(line) != columns or not", "if not"),
    _prompt("a draft is free", "if held:  #", "if False:  #"),
    _prompt("only the first row counts", "for row in range(box.upper + 1, box.lower):", "for row in (box.upper + 1,):"),
    _prompt("the reverse letter is always blank", "if cells[at].reverse and after is not None and after.dim:",
            "if cells[at].reverse:"),
    _prompt("the reverse letter is never blank", "if cells[at].reverse and after is not None and after.dim:",
            "if False:"),
    _prompt("dim is a draft", 'return "".join(" " * len(cell.data) if cell.dim else cell.data for cell in cells)',
            'return "".join(cell.data for cell in cells)'),
    _prompt("the cursor may be anywhere", "if not box.glyph + 1 <= screen.cursor_x <= box.glyph + 2:", "if False:"),
    _prompt("a scrolled box is whole", "if any(_MORE.search(lines[row]) for row in (box.upper, box.lower)):",
            "if False:"),
    _prompt("no pane is too narrow", "if room(screen.columns - box.glyph - 4) > MOST_ROWS:", "if False:"),
    _prompt("another agent's view is main's", "if marked and not (", "if False and not ("),
    _prompt("another agent's hint says nothing", "if _OTHER_AGENT.search(shown):", "if False:"),
    _prompt("a paste is free", "if _PLACEHOLDER.search(shown):", "if False:"),
    _prompt("vim mode is not seen", 'or (VIM_MODE if vim else "")', 'or ""'),
    _prompt("the line may have its cursor anywhere", "if not _is_cursor_behind(screen, box):", "if False:"),
    _prompt("the line may be broken by hand",
            'if len(part) + 1 + len(following.partition(" ")[0]) <= width:', "if False:"),
    _prompt("the box holds what begins with the line", "if held == WAKE_LINE:\n        if",
            "if held.startswith(WAKE_LINE):\n        if"),
    _policy("no stillness", "if still_s < STILL_SECS:", "if False:", "a_second_and_a_half"),
    _policy("less stillness", "STILL_SECS = 1.5", "STILL_SECS = 1.4", "a_second_and_a_half"),
    _policy("any agent", 'if row.agent != "claude":', "if False:", "the_row_forbids_it"),
    _policy("vim in the settings", "if row.vim:", "if False:", "the_row_forbids_it"),
    _policy("no stop hook", "if row.stop_age is not None and -STOP_AHEAD_SECS", "if False and -STOP_AHEAD_SECS",
            "the_row_forbids_it"),
    _policy("a shorter stop_at", "STOP_SECS = 60.0", "STOP_SECS = 50.0", "the_row_forbids_it"),
    _policy("a stop_at for ever", "row.stop_age < STOP_SECS:", "row.stop_age < 1e9:", "old_or_of_a_wrong_clock"),
    _policy("lag", "if sight.lag or sight.synchronizing:", "if sight.synchronizing:", "not_whole"),
    _policy("half a frame", "if sight.lag or sight.synchronizing:", "if sight.lag:", "not_whole"),
    _policy("keys that are not read", "if sight.queued:", "if False:", "not_whole"),
    _policy("a person", "if sight.person_s is not None and sight.person_s < PERSON_SECS:", "if False:", "not_whole"),
    _policy("the colour", "if glyph.fg != _IDLE_COLOR or glyph.dim:", "if glyph.dim:", "work_is_seen"),
    _policy("the dim glyph", "if glyph.fg != _IDLE_COLOR or glyph.dim:", "if glyph.fg != _IDLE_COLOR:", "work_is_seen"),
    _policy("the hint", "if any(_INTERRUPT in line for line in below):", "if False:", "work_is_seen"),
    _policy("the hint below a status line", "_HINT_ROWS = 3", "_HINT_ROWS = 1", "work_is_seen"),
    _policy("the queue", 'return "messages are queued" if', 'return "" if', "work_is_seen"),
    _policy("the title", "if screen.title.startswith(tuple(_BUSY_TITLES)) or", "if", "work_is_seen"),
    _policy("an older title", "or _BRAILLE[0] <= screen.title[:1] <= _BRAILLE[1]:", "or False:", "work_is_seen"),
    _policy("the status report", 'return "status report: working" if state == "working" else ""', 'return ""',
            "work_is_seen"),
    _policy("blocked", 'if state == "blocked":', "if False:", "says_blocked"),
    _policy("the heartbeat", "if row.floor_age is not None and row.floor_age < FLOOR_SECS:", "if False:",
            "the_row_forbids_it"),
    _policy("a heartbeat for ever", "row.floor_age < FLOOR_SECS:", "row.floor_age < 1e9:", "old_or_of_a_wrong_clock"),
    _policy("title for ever", "if rest_s >= enough:", "if False:", "work_is_seen"),
    _policy("colour for ever", "if rest_s < STRONG_SECS:", "if True:", "work_is_seen"),
    _policy("agents make no difference", "AGENTS_STILL_SECS if has_background_agents(screen, seen) else WEAK_SECS",
            "WEAK_SECS", "work_is_seen"),
    _policy("seldom looks are a hold", "if still_s < STILL_SECS:", "if max(still_s, rest_s) < STILL_SECS:",
            "only_seldom_looks"),
    _policy("the footer is watched", "rows = screen.rows if lower is None else screen.rows[: lower + 1]",
            "rows = screen.rows", "the_footer_is_not_watched"),
    _policy("the cursor is not watched", "return (screen.columns, screen.cursor_x, screen.cursor_y, rows)",
            "return (screen.columns, rows)", "the_footer_is_not_watched"),
    _policy("twice for one batch", "newest > rung.newest or", "True or", "test_due"),
    _policy("no reminder", "or now - rung.at >= REMIND_SECS:", "or False:", "test_due"),
    _policy("an owed line is typed again", "if rung is not None and rung.owed and", "if False and", "test_due"),
    _policy("Enter at once again", "return Due.COMPLETE if now >= rung.not_before else Due.NOTHING",
            "return Due.COMPLETE", "test_due"),
    _typist("Enter without a look", "if seen.verdict is Verdict.HOLDS and whole and alone and not seen.vim:",
            "if True:"),
    _typist("Enter on half a screen", "seen.verdict is Verdict.HOLDS and whole and alone",
            "seen.verdict is Verdict.HOLDS and alone"),
    _typist("Enter while a person writes", "whole and alone and not", "whole and not"),
    _typist("the line where Enter alone is due", "case Act.TYPE if self._goal is Goal.COMPLETE:",
            "case Act.TYPE if False:"),
    _typist("a missed line is owed", "self._stage, self._typed_at, self.owes_enter = _Stage.LOOKS, None, False",
            "self._stage = _Stage.TYPED"),
    _typist("Enter is believed", "if prompt.read(sight.screen).verdict is not Verdict.HOLDS:", "if True:"),
    Mutation("no veto at all, recorded", "sot_tui/wake/policy.py",
             "    if work:\n        return no(", "    if False:\n        return no(",
             f"{RECORDED} -k a_turn_is_at_work"),
)  # fmt: skip


def main(words: list[str]) -> int:
    """Run the mutations; return 1 when a test failed to notice one."""
    results = tried(words[0] if words else "")
    for one, noticed in results:
        if not noticed:
            sys.stdout.write(f"NOT NOTICED: {one.what} ({one.test})\n")
    count = sum(noticed for _, noticed in results)
    sys.stdout.write(f"{count} of {len(results)} mutations were noticed\n")
    return 0 if count == len(results) else 1


def tried(word: str = "") -> list[tuple[Mutation, bool]]:
    """Try the mutations whose description holds a word, and say of each whether it was noticed."""
    chosen = [one for one in MUTATIONS if word in one.what]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "__pycache__", "docs", ".*cache"))
        for test in {one.test for one in chosen}:
            if _failed(copy, test):
                raise SystemExit(f"without any mutation: {test}")
        return [(one, _is_noticed(copy, one)) for one in chosen]


def _is_noticed(copy: Path, one: Mutation) -> bool:
    path = copy / one.file
    whole = path.read_text(encoding="utf-8")
    if whole.count(one.was) != 1:
        raise SystemExit(f"{one.what}: {one.file} does not hold it once: {one.was}")
    path.write_text(whole.replace(one.was, one.now), encoding="utf-8")
    try:
        return _failed(copy, one.test)
    finally:
        path.write_text(whole, encoding="utf-8")


def _failed(copy: Path, test: str) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *test.split(" ")]
    environ = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=copy, env=environ, capture_output=True, check=False).returncode == 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
