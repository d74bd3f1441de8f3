"""The registry on the disk: three answers to a read, one way to write, the stamps, and liveness."""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm import registry
from sot_tui.comm.clock import stamp
from sot_tui.comm.disk import Disk
from sot_tui.comm.errors import Misuse
from sot_tui.comm.home import Home, ensure_home
from sot_tui.comm.reach import listen
from sot_tui.comm.registry import NotWritten, Registry, Unread, Written, replace
from sot_tui.comm.registry_lock import Held, Wait, release, take
from tests.faults.disks import Counting, Failing, Step
from tests.golden.tables import rows
from tests.seams import EPOCH, JumpingClock, Machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BOOK = {"protocol_version": 1, "agents": {"a-box": {"host": "box", "last_seen": "2026-05-29T18:04:00Z"}}}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(str(tmp_path / "comm"), Disk(), JumpingClock(), Machine().start())
    ensure_home(made)
    put(made, json.dumps(BOOK).encode())
    return made


def raw(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def put(home: Home, data: bytes) -> None:
    with open(home.registry, "wb") as file:
        file.write(data)


def book(home: Home) -> Any:
    with open(home.registry, "rb") as file:
        return json.loads(file.read())


def set_summary(text: str) -> Callable[[Registry], bool]:
    def change(found: Registry) -> bool:
        found.agents["a-box"]["summary"] = text
        return True

    return change


class Flaky(Counting):
    """A disk on which the first reads of the registry fail or are empty; it says what was done between them."""

    def __init__(self, *answers: bytes | OSError) -> None:
        super().__init__()
        self.answers = list(answers)

    def step(self, step: Step, act: Callable[[], Any]) -> Any:
        found = super().step(step, act)
        if step.name == "read_all" and self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, OSError):
                raise answer
            return answer
        return found


STALE = OSError(errno.ESTALE, os.strerror(errno.ESTALE))


# -- reading ----------------------------------------------------------------------------------------------------------


def test_read_when_the_file_is_there_then_it_is_read_once(home: Home) -> None:
    disk = Counting()
    found = registry.read(home._replace(disk=disk))
    assert isinstance(found, Registry)
    assert found.entry("a-box") == BOOK["agents"]["a-box"]  # type: ignore[index]
    assert [step.name for step in disk.steps] == ["open", "read_all", "close"]


@pytest.mark.parametrize("failures", [1, 2, 3])
@pytest.mark.parametrize("answer", [STALE, OSError(errno.EIO, "x"), b""])
def test_read_when_it_fails_or_is_empty_then_is_tried_three_times_more(
    home: Home, answer: bytes | OSError, failures: int
) -> None:
    """ "a read that failed ... or that returned zero bytes revalidates the folder and opens the file by path again, up
    to 3 times in about 200 ms" """
    disk = Flaky(*[answer] * failures)
    found = registry.read(home._replace(disk=disk))
    assert isinstance(found, Registry)
    assert [step.name for step in disk.steps] == [
        *["open", "read_all", "close", "revalidate"] * failures,
        *["open", "read_all", "close"],
    ]
    clock = home.clock
    assert isinstance(clock, JumpingClock)
    assert clock.slept == [0.1] * (failures - 1)


def test_read_when_it_fails_four_times_then_is_unreadable(home: Home) -> None:
    disk = Flaky(*[STALE] * 9)
    assert registry.read(home._replace(disk=disk)) == Unread(missing=False, why="Stale file handle", errno=errno.ESTALE)
    assert len(disk.answers) == 5
    assert registry.read(home._replace(disk=Flaky(*[b""] * 9))) == Unread(missing=False, why="it is empty")


def test_read_when_bytes_do_not_parse_then_is_never_tried_again(home: Home) -> None:
    """ "Non-empty bytes that do not parse are never retried." """
    put(home, b"not json\n")
    disk = Counting()
    found = registry.read(home._replace(disk=disk))
    assert found == Unread(missing=False, why="it is not one JSON document with an object .agents")
    assert [step.name for step in disk.steps] == ["open", "read_all", "close"]


def test_read_when_there_is_no_file_then_it_is_missing_and_told_at_the_open(home: Home) -> None:
    """ "A missing file is told at the open, never by a stat." """
    os.unlink(home.registry)
    disk = Counting()
    assert registry.read(home._replace(disk=disk)) == Unread(missing=True, why="there is no registry.json")
    assert [step.name for step in disk.steps] == ["open"]
    assert registry.read(Home(home.path + "/none", Disk(), home.clock)).missing  # type: ignore[union-attr]


def test_read_when_it_may_not_be_opened_then_is_unreadable_and_not_missing(home: Home) -> None:
    for error in (errno.EACCES, errno.ELOOP, errno.ENOTDIR, errno.ESTALE):
        found = registry.read(home._replace(disk=Failing(1, error, until=99)))
        assert found == Unread(missing=False, why=os.strerror(error), errno=error)


def test_read_when_a_failed_read_is_followed_by_a_missing_file_then_it_is_missing(home: Home) -> None:
    class Gone(Flaky):
        def step(self, step: Step, act: Callable[[], Any]) -> Any:
            if step.name == "revalidate":
                os.unlink(home.registry)
            return super().step(step, act)

    found = registry.read(home._replace(disk=Gone(STALE)))
    assert found == Unread(missing=True, why="there is no registry.json")


# -- writing ----------------------------------------------------------------------------------------------------------


def test_replace_when_the_change_says_so_then_the_new_whole_stands_there(home: Home) -> None:
    written = replace(home, set_summary("new"), Wait.RULED)
    assert isinstance(written, Written)
    assert book(home)["agents"]["a-box"]["summary"] == "new"
    assert dict(written.registry.agents) == book(home)["agents"]
    assert stat.S_IMODE(os.stat(home.registry).st_mode) == 0o600
    assert sorted(os.listdir(home.path)) == ["inbox", "read", "registry.json", "self"]


def test_replace_when_there_is_nothing_to_write_then_the_file_stays_the_same_file(home: Home) -> None:
    before = os.stat(home.registry)
    written = replace(home, lambda _: False, Wait.RULED)
    assert isinstance(written, Written)
    assert os.stat(home.registry) == before
    assert ".registry.lock" not in os.listdir(home.path)


@pytest.mark.parametrize("data", [b"", b"not json\n", b"[]", b'{"agents":[]}', b'{"agents":{}}\n{"agents":{}}\n', None])
def test_replace_when_the_registry_is_unreadable_then_nothing_is_written_and_nothing_is_repaired(
    home: Home, data: bytes | None
) -> None:
    os.unlink(home.registry)
    if data is not None:
        put(home, data)
    asked: list[Registry] = []

    def change(found: Registry) -> bool:
        asked.append(found)
        return True

    outcome = replace(home, change, Wait.RULED)
    assert outcome == NotWritten("FAILED: the registry could not be read or updated, so nothing was written")
    assert not asked
    if data is None:
        assert not os.path.exists(home.registry)  # writers never create it
    else:
        assert raw(home.registry) == data
    assert not [name for name in os.listdir(home.path) if name.startswith((".registry", "registry.json."))]


def test_replace_when_the_change_raises_then_the_lock_is_released_and_nothing_is_written(home: Home) -> None:
    def change(found: Registry) -> bool:
        found.agents["a-box"]["summary"] = object()
        return True

    with pytest.raises(TypeError):
        replace(home, change, Wait.RULED)
    assert book(home) == BOOK
    assert isinstance(replace(home, set_summary("again"), Wait.HEARTBEAT), Written)


def test_replace_when_a_temp_file_was_left_then_it_is_no_hindrance_and_its_mode_and_target_do_not_matter(
    home: Home, tmp_path: Path
) -> None:
    temp = home.registry + ".tmp"
    with open(temp, "w", encoding="ascii") as file:
        file.write("junk" * 1000)
    os.chmod(temp, 0o644)
    assert isinstance(replace(home, set_summary("one"), Wait.RULED), Written)
    assert stat.S_IMODE(os.stat(home.registry).st_mode) == 0o600
    (tmp_path / "elsewhere").write_text("precious")
    os.symlink(tmp_path / "elsewhere", temp)
    assert isinstance(replace(home, set_summary("two"), Wait.RULED), Written)
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert not os.path.islink(home.registry)
    assert book(home)["agents"]["a-box"]["summary"] == "two"


def test_replace_when_another_writer_was_between_then_its_change_is_kept(home: Home) -> None:
    def change(found: Registry) -> bool:
        found.agents["b-box"] = {"host": "other"}
        return True

    assert isinstance(registry.read(home), Registry)
    assert isinstance(replace(home, change, Wait.RULED), Written)
    assert isinstance(replace(home, set_summary("x"), Wait.RULED), Written)
    assert set(book(home)["agents"]) == {"a-box", "b-box"}


def test_replace_locked_when_the_caller_holds_the_lock_then_takes_none(home: Home) -> None:
    held = take(home, Wait.RULED)
    assert isinstance(held, Held)
    try:
        assert isinstance(registry.replace_locked(home, held, set_summary("inside")), Written)
        assert os.path.exists(home.lock)
    finally:
        release(home, held)
    assert book(home)["agents"]["a-box"]["summary"] == "inside"


def test_replace_when_the_lock_was_removed_by_hand_meanwhile_then_the_old_picture_is_not_put_over_the_new(
    home: Home,
) -> None:
    """A writer frozen for long, its lock removed by hand and taken by another: the other's write must stand."""

    def frozen(found: Registry) -> bool:
        found.agents["a-box"]["summary"] = "old picture"
        os.unlink(home.lock)
        with open(home.lock, "w", encoding="ascii") as file:
            file.write("other:m2:b2:1:5:6\n")
        put(home, json.dumps({"agents": {"theirs": {}}}).encode())
        return True

    outcome = replace(home, frozen, Wait.RULED)
    assert outcome == NotWritten("FAILED: the registry could not be read or updated, so nothing was written")
    assert book(home) == {"agents": {"theirs": {}}}
    assert raw(home.lock) == b"other:m2:b2:1:5:6\n"
    assert not os.path.exists(f"{home.registry}.tmp")


def test_replace_when_the_lock_is_held_then_says_so_as_the_contract_words_it(home: Home) -> None:
    with open(home.lock, "w", encoding="ascii") as file:
        file.write("otherbox:m2:b2:1:5:6\n")
    outcome = replace(home, set_summary("x"), Wait.RULED)
    assert isinstance(outcome, NotWritten)
    assert outcome.sentence.startswith(f"ERROR: registry lock {home.lock} is held by otherbox pid 5 start 6 (")
    assert book(home) == BOOK


# -- liveness and stamps ----------------------------------------------------------------------------------------------

NOW = EPOCH


def _seen(text: str) -> str:
    if not text.startswith("{NOW"):
        return text
    offset = text.removeprefix("{NOW").removesuffix("s}")
    return stamp(NOW + int(offset))


@pytest.mark.parametrize("row", rows("live"), ids=lambda row: repr(row["last_seen"]))
def test_live_when_the_golden_table_says_so_then_it_is(row: dict[str, Any]) -> None:
    assert registry.is_live({"last_seen": _seen(row["last_seen"])}, NOW) is row["live"]


@pytest.mark.parametrize(("age", "live"), [(599, True), (600, False), (601, False), (0, True), (-1, True)], ids=str)
def test_live_when_the_stamp_is_at_the_edge_then_under_600_seconds_counts(age: int, *, live: bool) -> None:
    """ "a handle is live when its last_seen is a YYYY-MM-DDTHH:MM:SSZ stamp under 600 seconds old" """
    assert registry.is_live({"last_seen": stamp(NOW - age)}, NOW) is live


@pytest.mark.parametrize("entry", [None, 5, "x", [], {}, {"last_seen": None}, {"last_seen": 5}, {"last_seen": ["x"]}])
def test_live_when_there_is_no_stamp_then_it_is_not(entry: object) -> None:
    assert registry.is_live(entry, NOW) is False


def test_live_when_the_variable_sets_another_life_then_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"last_seen": stamp(NOW - 100)}
    monkeypatch.setenv("COMM_LIVE_SECS", "50")
    assert registry.is_live(entry, NOW) is False
    assert registry.is_live(entry, NOW, 600) is True
    monkeypatch.setenv("COMM_LIVE_SECS", "")
    assert registry.is_live(entry, NOW) is True
    for wrong in ("ten", "-5", "1e3", "inf", "nan", "5s", "86401", " 5", "٣", "1.", ".5", "0x10"):
        monkeypatch.setenv("COMM_LIVE_SECS", wrong)
        with pytest.raises(Misuse) as caught:
            registry.is_live(entry, NOW)
        assert caught.value.sentence == f"COMM_LIVE_SECS is not a number of seconds from 0 to 86400: {wrong!r}"


def test_touch_when_the_handle_has_an_entry_then_stamps_it_alone(home: Home) -> None:
    registry.touch(home, "a-box")
    assert book(home)["agents"]["a-box"] == {"host": "box", "last_seen": stamp(EPOCH)}
    before = os.stat(home.registry)
    registry.touch(home, "nobody")
    assert os.stat(home.registry) == before


@pytest.mark.parametrize("data", [b"", b"junk", None, b'{"agents":{"a-box":7}}'])
def test_touch_when_the_registry_is_no_good_then_is_silent(home: Home, data: bytes | None) -> None:
    os.unlink(home.registry)
    if data is not None:
        put(home, data)
    registry.touch(home, "a-box")
    assert not os.path.exists(home.registry) if data is None else raw(home.registry) == data


def test_touch_when_the_lock_is_held_then_gives_up_silently_after_a_second(home: Home) -> None:
    with open(home.lock, "w", encoding="ascii") as file:
        file.write("otherbox:m2:b2:1:5:6\n")
    began = home.clock.monotonic()
    registry.touch(home, "a-box")
    assert home.clock.monotonic() - began == pytest.approx(1.0)
    assert book(home) == BOOK


def done_book(**entry: object) -> bytes:
    return json.dumps(
        {"agents": {"a-box": {"host": "box", "state": "done", "done": True, "note": "n", **entry}}}
    ).encode()


def test_clear_done_when_a_person_viewed_it_then_done_goes_and_nothing_else_is_touched(home: Home) -> None:
    """ "delete done; if state was "done" set it to "idle"; touch nothing else" (daemon-wire 3.10)"""
    put(home, done_book(summary="s", status_at="x", last_seen="y", odd=[1]))
    assert isinstance(registry.clear_done(home, "a-box", "BOX"), Written)
    assert book(home)["agents"]["a-box"] == {
        "host": "box",
        "state": "idle",
        "note": "n",
        "summary": "s",
        "status_at": "x",
        "last_seen": "y",
        "odd": [1],
    }
    put(home, done_book(state="working"))
    assert isinstance(registry.clear_done(home, "a-box", "box"), Written)
    assert book(home)["agents"]["a-box"]["state"] == "working"


@pytest.mark.parametrize("entry", [{"host": "other"}, {"host": None}, {"host": 5}, {"host": ""}])
def test_clear_done_when_it_is_another_hosts_then_takes_no_lock(home: Home, entry: dict[str, object]) -> None:
    put(home, done_book(**entry))
    disk = Counting()
    assert registry.clear_done(home._replace(disk=disk), "a-box", "box") is None
    assert [step for step in disk.steps if step.changes] == []


def test_clear_done_when_nothing_is_done_then_takes_no_lock(home: Home) -> None:
    for handle in ("a-box", "nobody"):
        disk = Counting()
        assert registry.clear_done(home._replace(disk=disk), handle, "box") is None
        assert [step for step in disk.steps if step.changes] == []
    put(home, b"junk")
    assert registry.clear_done(home, "a-box", "box") is None


def test_clear_done_when_another_cleared_it_first_then_writes_nothing(home: Home) -> None:
    put(home, done_book())

    class Between(Counting):
        def step(self, step: Step, act: Callable[[], Any]) -> Any:
            if step.name == "link":
                put(home, done_book().replace(b'"done": true, ', b""))
            return super().step(step, act)

    disk = Between()
    assert registry.clear_done(home._replace(disk=disk), "a-box", "box") is None
    assert "rename" not in {step.name for step in disk.steps}


def test_clear_done_when_the_lock_is_held_then_says_why_after_a_second(home: Home) -> None:
    put(home, done_book())
    with open(home.lock, "w", encoding="ascii") as file:
        file.write("otherbox:m2:b2:1:5:6\n")
    outcome = registry.clear_done(home, "a-box", "box")
    assert isinstance(outcome, NotWritten)
    assert outcome.sentence.startswith("ERROR: registry lock ")


def test_replace_when_a_test_listens_then_it_comes_through_each_named_point_in_order(home: Home) -> None:
    """The races of the stress tests are made at these points: one that is not said is a race that is never run."""
    points: list[str] = []
    listen(points.append)
    try:
        assert isinstance(replace(home, set_summary("x"), Wait.RULED), Written)
    finally:
        listen(None)
    assert [point for point in points if point != "lock.recorded"] == [
        "lock.taken",
        "registry.read",
        "registry.flushed",
        "registry.renamed",
        "lock.released",
    ]


class Stuck(Disk):
    """A disk on which no file takes another's place."""

    def rename(self, old: str, new: str) -> None:
        raise OSError(errno.EIO, "Input/output error", old, None, new)


def test_replace_when_it_cannot_be_renamed_into_place_then_no_temp_file_is_left(home: Home) -> None:
    before = sorted(os.listdir(home.path))
    failed = replace(home._replace(disk=Stuck()), set_summary("x"), Wait.RULED)
    assert failed == NotWritten(
        "FAILED: the registry update could not be renamed into place (Input/output error), so nothing was written"
    )
    assert sorted(os.listdir(home.path)) == before
    assert book(home) == BOOK


def test_forget_row_when_a_row_is_gone_then_its_entries_of_this_box_go_and_no_others() -> None:
    entries: dict[str, Any] = {
        "its": {"host": "Box", "workspace_id": "ws-1"},
        "named": {"host": "box", "workspace_id": ""},
        "away": {"host": "far", "workspace_id": "ws-1"},
        "nowhere": {"workspace_id": "ws-1"},
        "other": {"host": "box", "workspace_id": "ws-2"},
        "free": {"host": "box"},
        "odd": ["ws-1"],
    }
    found = registry.parse(json.dumps({"agents": entries}).encode())
    assert found is not None
    assert registry.forget_row(found, "ws-1", "named", "box")
    assert list(found.agents) == ["away", "nowhere", "other", "free", "odd"]
    assert not registry.forget_row(found, "ws-1", "other", "box")
    assert list(found.agents) == ["away", "nowhere", "other", "free", "odd"]
