"""Reference, section 8.9 and 8.10, behaviours B76 to B80: the names of sessions, in real files and by real programs."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.clock import SystemClock
from sot_tui.comm.home import Home, home_here
from sot_tui.notify import delivery, labels
from sot_tui.notify.composer import Composer, words_by
from sot_tui.notify.delivery import Channel, Words
from sot_tui.notify.frame import Frame
from sot_tui.notify.labels import Labels, Plan, Unavailable, digest
from tests.e2e.box import COMMAND
from tests.faults.disks import Failing, steps_of
from tests.notify.pieces import ASKED, ENDED, IDLE, PI_TURN, STOP, program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sot_tui.notify.decide import Notice
    from sot_tui.notify.event import Event

SESSION = "f3d5320affd09a091f10bbc85136562744735bca7b9fd988fd7ccc1d86d38004.json"
MATERIAL = "37e89435e7ee0cd6b5c61248eece6af72d8f847cd536ed653f0ac75f2463f819"
LABEL = "Fix the parser"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "state" / "base"


@pytest.fixture
def store(base: Path) -> Labels:
    return Labels(home_here(), str(base))


def turn(number: int, event: Event = PI_TURN) -> Event:
    """Return the completion of an exchange, with words of its own."""
    return event._replace(completion_id=f"c{number}", user=f"question {number}")


def file_of(base: Path) -> Path:
    return base / labels.FOLDER / SESSION


def kept(base: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(file_of(base).read_text(encoding="utf-8"))
    return said


def named(store: Labels, event: Event = PI_TURN) -> None:
    """Give the event's session its name, as its first exchange."""
    plan = store.plan(event)
    assert plan.refresh
    assert store.finish(plan, LABEL) == LABEL


def seen(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return everything below a folder, as it would show any touch."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        how = path.lstat()
        data = path.read_bytes() if stat.S_ISREG(how.st_mode) else b""
        found[str(path)] = (how.st_ino, how.st_mode, how.st_mtime_ns, data)
    return found


# -- what is kept -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "name"),
    [
        (("pi", "session-1"), SESSION.removesuffix(".json")),
        (("claude-code", "session-1"), "1e7c3acecf2820696d309018a342a85a59c9398f9204e33b849d352026b967f9"),
        (("user", "assistant"), MATERIAL),
        (("", ""), "374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb"),
        (("ab", ""), "5275cd81a7ab85c7219cbe049231f08aab0913631cfd098890af6791862ef41e"),
    ],
)
def test_digest_when_a_pair_is_named_then_the_references_own(pair: tuple[str, str], name: str) -> None:
    assert digest(*pair) == name


def test_b76_first_completion_when_planned_and_finished_then_a_private_record_of_nine_keys(
    base: Path, store: Labels
) -> None:
    plan = store.plan(PI_TURN)
    assert (plan.label, plan.refresh) == ("", True)
    planned = {
        "version": 1,
        "harness": "pi",
        "session": "session-1",
        "label": "",
        "source_generation": 1,
        "latest_completion_id": "completion-1",
        "exchange_count": 1,
        "last_successful_refresh_exchange": 0,
        "last_attempted_material_fingerprint": MATERIAL,
    }
    assert kept(base) == planned
    assert list(kept(base)) == list(planned)
    assert store.finish(plan, LABEL) == LABEL
    assert kept(base) == {**planned, "label": LABEL, "last_successful_refresh_exchange": 1}
    assert stat.S_IMODE(file_of(base).stat().st_mode) == 0o600
    assert {stat.S_IMODE(path.stat().st_mode) for path in (base, base / labels.FOLDER)} == {0o700}
    assert os.listdir(base / labels.FOLDER) == [SESSION]


def test_b76_label_when_the_answer_leaves_it_out_then_it_is_kept_and_counts_as_given(base: Path, store: Labels) -> None:
    named(store)
    plans = [store.plan(turn(number)) for number in range(2, 6)]
    assert [plan.refresh for plan in plans] == [False, False, False, True]
    assert store.finish(plans[-1], "") == LABEL
    assert (kept(base)["label"], kept(base)["last_successful_refresh_exchange"]) == (LABEL, 5)


def test_plan_when_the_same_completion_comes_again_then_nothing_is_asked_or_written(base: Path, store: Labels) -> None:
    named(store)
    before = seen(base)
    assert store.plan(PI_TURN)[:2] == (LABEL, False)
    assert seen(base) == before


def test_plan_when_an_attempt_failed_then_other_words_are_tried_and_the_same_are_not(base: Path, store: Labels) -> None:
    assert store.plan(turn(1)).refresh
    assert not store.plan(turn(2)._replace(user="question 1")).refresh
    assert store.plan(turn(3)).refresh
    assert (kept(base)["exchange_count"], kept(base)["label"]) == (3, "")


def test_plan_when_words_were_never_tried_then_they_are_though_an_exchange_before_had_them(store: Labels) -> None:
    named(store, turn(1))
    for number in (2, 3, 4):
        assert not store.plan(turn(number)).refresh
    assert store.plan(turn(5)._replace(user="question 4")).refresh


def test_plan_when_the_counter_is_full_then_unavailable_and_nothing_written(base: Path, store: Labels) -> None:
    named(store)
    full = {**kept(base), "source_generation": labels.MOST, "exchange_count": labels.MOST}
    file_of(base).write_text(json.dumps(full))
    before = seen(base)
    with pytest.raises(Unavailable):
        store.plan(turn(2))
    assert seen(base) == before
    assert labels.look(home_here(), str(base), "pi", "session-1") is not None


def test_finish_when_a_later_completion_was_planned_then_the_record_stays_and_the_push_has_its_name(
    base: Path, store: Labels
) -> None:
    first = store.plan(turn(1))
    store.plan(turn(2))
    before = seen(base)
    assert store.finish(first, LABEL) == LABEL
    assert seen(base) == before


@pytest.mark.parametrize(
    "spoil",
    [
        {"version": 2},
        {"version": True},
        {"harness": "claude-code"},
        {"session": "other"},
        {"label": ""},
        {"label": "Two words"},
        {"label": None},
        {"source_generation": 2},
        {"source_generation": 0, "exchange_count": 0, "label": "", "last_successful_refresh_exchange": 0},
        {"source_generation": 1.0},
        {"source_generation": 2**64, "exchange_count": 2**64},
        {"last_successful_refresh_exchange": 2},
        {"last_successful_refresh_exchange": 0},
        {"last_successful_refresh_exchange": -1},
        {"latest_completion_id": ""},
        {"latest_completion_id": "a\nb"},
        {"last_attempted_material_fingerprint": MATERIAL.upper()},
        {"last_attempted_material_fingerprint": MATERIAL[1:]},
        {"more": 1},
    ],
)
def test_record_when_it_is_not_as_this_program_writes_it_then_unavailable_and_left_as_it_is(
    base: Path, store: Labels, spoil: dict[str, object]
) -> None:
    named(store)
    file_of(base).write_text(json.dumps({**kept(base), **spoil}))
    unavailable(base, store)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda said: said[:-1],
        lambda said: said + said,
        lambda said: said.replace(b'"label"', b'"label":"x","label"'),
        lambda said: said.replace(LABEL.encode(), b"Fix the \\ud800"),
        lambda said: said.replace(LABEL.encode(), b"Fix the \xff"),
        lambda _: b"",
        lambda said: said.ljust(labels.FILE_BYTES + 1),
    ],
)
def test_record_when_its_bytes_are_none_then_unavailable_and_left_as_it_is(
    base: Path, store: Labels, spoil: Callable[[bytes], bytes]
) -> None:
    named(store)
    file_of(base).write_bytes(spoil(file_of(base).read_bytes()))
    unavailable(base, store)


def unavailable(base: Path, store: Labels) -> None:
    """See that nobody reads or writes the labels, and that all stays as it is."""
    before = seen(base.parent)
    for act in (lambda: store.plan(turn(2)), lambda: store.of(PI_TURN)):
        with pytest.raises(Unavailable):
            act()
    assert seen(base.parent) == before


@pytest.mark.parametrize("spoil", ["open folder", "linked folder", "linked file", "open file", "folder", "linked base"])
def test_b79_store_when_it_is_not_private_then_unavailable_and_nothing_modified(
    base: Path, store: Labels, spoil: str
) -> None:
    named(store)
    folder, file, aside = base / labels.FOLDER, file_of(base), base.parent / "aside"
    match spoil:
        case "open folder":
            folder.chmod(0o755)
        case "open file":
            file.chmod(0o644)
        case "folder":
            file.unlink()
            file.mkdir()
        case _:
            place = {"linked folder": folder, "linked file": file, "linked base": base}[spoil]
            place.rename(aside)
            place.symlink_to(aside)
    unavailable(base, store)


def test_store_when_any_step_on_the_disk_fails_then_unavailable_or_the_whole_record(base: Path) -> None:
    def act(disk: Any) -> None:
        named(Labels(Home(home_here().path, disk=disk), str(base)))

    def clean() -> None:
        subprocess.run(["rm", "-rf", str(base.parent)], check=True)

    steps = steps_of(act)
    clean()
    order = [step.name for step in steps]
    assert order.index("flush") < order.index("rename") < order.index("flush_folder")
    for step in range(1, len(steps) + 1):
        with suppress(Unavailable):
            act(Failing(step, errno.EIO))
        if file_of(base).exists():
            assert kept(base)["label"] in {"", LABEL}
            assert not Labels(home_here(), str(base)).plan(PI_TURN).refresh  # it stands, and is sound
        clean()


# -- with a program that composes -------------------------------------------------------------------------------------


class Pushes:
    """What a daemon pushes and logs, with a real program that composes."""

    def __init__(self, base: Path, folder: Path, code: str) -> None:
        self.requests = folder / "requests"
        head = f"line = sys.stdin.buffer.read()\nopen({str(self.requests)!r}, 'ab').write(line)\n"
        head += "import json\nasked = json.loads(line)['label']\n"
        self.base = base
        self.sent: list[Notice] = []
        composer = Composer(program(folder, head + code), os.environ, SystemClock(), 30)
        words = words_by(composer, Labels(home_here(), str(base)))
        self.channel = Channel(home_here(), str(base), "earth", self.send, print, print, words)

    def send(self, notice: Notice) -> bool:
        self.sent.append(notice)
        return True

    def tell(self, event: Event) -> tuple[str, str, dict[str, str]]:
        """Return title and body of the push, and what the log says of it."""
        delivery.deliver(self.channel, Frame(event, "earth:3"))
        log = (self.base / "notify-decisions.jsonl").read_text(encoding="utf-8").splitlines()
        return self.sent[-1].title, self.sent[-1].body, json.loads(log[-1])

    @property
    def asked(self) -> list[dict[str, object]]:
        return [json.loads(line)["label"] for line in self.requests.read_text(encoding="utf-8").splitlines()]


ANSWERING = """
answer = {"version": 1, "ok": True, "body": "It is done."}
if asked["refresh"]:
    answer["label"] = "Name given " + str(len(open(REQUESTS).readlines()))
print(json.dumps(answer))
"""


@pytest.fixture
def pushes(base: Path, tmp_path: Path) -> Pushes:
    return Pushes(base, tmp_path, ANSWERING.replace("REQUESTS", repr(str(tmp_path / "requests"))))


def test_b77_session_when_nine_exchanges_succeed_then_a_name_is_asked_for_at_one_five_and_nine(pushes: Pushes) -> None:
    """Contract, Failure semantics: "attempted at most once per accepted reliable completion"."""
    titles = [pushes.tell(turn(number))[0] for number in range(1, 10)]
    assert len(pushes.asked) == 9
    assert [number for number, asked in enumerate(pushes.asked, 1) if asked["refresh"]] == [1, 5, 9]
    assert [asked["current"] for asked in pushes.asked] == ["", *["Name given 1"] * 4, *["Name given 5"] * 4]
    assert titles == [f"Name given {number} · earth:3" for number in (1, 1, 1, 1, 5, 5, 5, 5, 9)]


def test_b78_input_when_its_session_has_a_name_then_it_is_the_title_and_the_file_is_not_touched(
    base: Path, pushes: Pushes
) -> None:
    pushes.tell(STOP)
    before = seen(base / labels.FOLDER)
    title, body, entry = pushes.tell(ASKED)
    assert (title, body, entry["reason"]) == ("Name given 1 · earth:3", "Allow it?", "permission prompt")
    assert pushes.tell(ASKED._replace(notification_type="agent_needs_input"))[0] == "Name given 1 · earth"
    assert pushes.tell(ASKED._replace(session_id="other"))[0] == "project · earth:3"
    assert pushes.tell(ASKED._replace(session_id=""))[0] == "project · earth:3"
    assert seen(base / labels.FOLDER) == before
    assert len(pushes.asked) == 1


def test_b79_push_when_the_store_is_not_private_then_it_goes_without_a_name_and_the_log_says_so(
    base: Path, pushes: Pushes
) -> None:
    (base / labels.FOLDER).mkdir(parents=True)
    (base / labels.FOLDER).chmod(0o755)
    title, body, entry = pushes.tell(PI_TURN)
    assert (title, body) == ("project · earth:3", "It is done.")
    assert entry["reason"] == "root completion (labels unavailable) (enriched)"
    assert (entry["composition_outcome"], entry["composition_error"]) == ("composed", "labels unavailable")
    assert pushes.asked == [{"current": "", "refresh": False}]
    assert pushes.tell(ASKED)[2]["reason"] == "permission prompt (labels unavailable)"
    assert pushes.tell(ASKED._replace(session_id=""))[2]["reason"] == "permission prompt"
    assert os.listdir(base / labels.FOLDER) == []


def test_push_when_the_name_cannot_be_kept_then_it_goes_with_the_one_before(base: Path, tmp_path: Path) -> None:
    spoil = f"import shutil\nos.chmod({str(base / labels.FOLDER)!r}, 0o755)\n"
    answer = "print(json.dumps({'version': 1, 'ok': True, 'body': 'b', 'label': 'One two three'}))"
    title, body, entry = Pushes(base, tmp_path, spoil + answer).tell(PI_TURN)
    assert (title, body) == ("project · earth:3", "b")
    assert entry["reason"] == "root completion (labels unavailable) (enriched)"


@pytest.mark.parametrize("code", ["sys.exit(1)", "print(json.dumps({'version': 1, 'ok': True, 'body': 'b'}))"])
def test_push_when_the_program_gives_no_name_at_first_then_the_project_is_the_title(
    base: Path, tmp_path: Path, code: str
) -> None:
    title, body, entry = Pushes(base, tmp_path, code).tell(PI_TURN)
    assert (title, body) == ("project · earth:3", "assistant")
    assert entry["reason"] == "root completion (enrichment failed: invalid helper protocol)"
    assert kept(base)["label"] == ""


@pytest.mark.parametrize(
    "event",
    [
        ENDED,
        IDLE,
        ASKED,
        STOP._replace(agent_id="a"),
        STOP._replace(goal_active=True),
        PI_TURN._replace(completion_id=""),
        PI_TURN._replace(session_id=""),
    ],
)
def test_labels_when_no_completion_is_composed_for_then_no_folder_is_made(
    base: Path, pushes: Pushes, event: Event
) -> None:
    delivery.deliver(pushes.channel, Frame(event, ""))
    delivery.deliver(pushes.channel, Frame(PI_TURN, "", dry_run=True))
    assert not (base / labels.FOLDER).exists()
    assert not pushes.requests.exists()


def test_labels_when_no_composer_can_run_then_a_name_that_there_is_still_shows(base: Path, store: Labels) -> None:
    named(store)
    before = seen(base)
    assert words_by(None, store)(turn(2)) == Words(LABEL, error="invalid configuration")
    assert seen(base) == before
    with pytest.raises(Unavailable):
        store.finish(Plan(), LABEL)


# -- the command ------------------------------------------------------------------------------------------------------


def metadata(*words: str) -> tuple[int, bytes, bytes]:
    ran = subprocess.run(
        [COMMAND, "session-metadata", *words], capture_output=True, check=False, timeout=50, stdin=subprocess.DEVNULL
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.e2e
def test_b80_session_metadata_when_the_session_is_unknown_then_missing_and_nothing_created(room: Path) -> None:
    before = seen(room)
    said = (
        b'{"version":1,"status":"missing","harness":"pi","session_id":"session-1","label":"","completion_id":"",'
        b'"source_generation":"0","label_generation":"0"}\n'
    )
    assert metadata("--harness", "pi", "--session-id=session-1") == (0, said, b"")
    assert metadata("--harness=pi", "--session-id", "session-1", "--state-base", f"{room}/none") == (0, said, b"")
    assert seen(room) == before


@pytest.mark.e2e
def test_session_metadata_when_there_is_a_record_then_known_or_unavailable_and_nothing_touched(
    base: Path, store: Labels
) -> None:
    named(store)
    store.plan(turn(2))
    words = ("--harness", "pi", "--session-id", "session-1", "--state-base", str(base))
    before = seen(base)
    code, out, err = metadata(*words)
    assert (code, err) == (0, b"")
    assert json.loads(out) == {
        "version": 1,
        "status": "known",
        "harness": "pi",
        "session_id": "session-1",
        "label": LABEL,
        "completion_id": "c2",
        "source_generation": "2",
        "label_generation": "1",
    }
    file_of(base).chmod(0o644)
    code, out, err = metadata(*words)
    assert (code, json.loads(out)["status"], json.loads(out)["source_generation"]) == (0, "unavailable", "0")
    file_of(base).chmod(0o600)
    assert {path: how[-2:] for path, how in seen(base).items()} == {path: how[-2:] for path, how in before.items()}


@pytest.mark.e2e
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--harness", "pi"],
        ["--session-id", "s"],
        ["--harness", "codex", "--session-id", "s"],
        ["--harness", "pi", "--session-id", ""],
        ["--harness", "pi", "--session-id", "s" * 257],
        ["--harness", "pi", "--session-id", "a\nb"],
        ["--harness", "pi", "--harness", "pi", "--session-id", "s"],
        ["--harness", "pi", "--session-id", "s", "more"],
        ["--harness", "pi", "--session-id"],
    ],
)
def test_session_metadata_when_the_request_is_none_then_one_line_says_so(words: list[str]) -> None:
    assert metadata(*words) == (2, b'{"version":1,"status":"invalid_request"}\n', b"")
