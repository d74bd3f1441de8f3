"""What is kept for the person: private, bounded, no stranger's mark, never half a draft, nothing in the comm home."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.home import Home
from sot_tui.engine import desk_store
from sot_tui.engine.client import Body, Drafts, KeptDraft, Kind, Letter, Sheet
from sot_tui.engine.desk_store import DeskStore
from tests.faults.disks import Crash, Dying, Failing, steps_of
from tests.seams import EPOCH, JumpingClock

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.disk import Disk

LETTER = Letter(3, Kind.DIRECTED, "anna", "me", "r", "hello", "", read=True, inbox="me", mark="7-5")
DRAFT = KeptDraft("to:anna", "anna", "half a\nmessage \u2028\x1b", "hello", "FAILED -> @anna: no", left=("a", "b"))


def store(folder: Path, home: Home | None = None) -> DeskStore:
    return DeskStore(home or Home(str(folder / "comm")), str(folder / "state" / "sot" / "tui"))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


# -- marks


def test_mark_when_made_then_holds_here_and_at_the_next_start(tmp_path: Path) -> None:
    here = store(tmp_path)
    assert not here.is_opened("me", 3, "7-5")
    assert here.mark_opened(LETTER) == ""
    assert here.mark_opened(LETTER) == ""
    for seen in (here, store(tmp_path)):
        assert seen.is_opened("me", 3, "7-5")
    assert len(next((tmp_path / "state/sot/tui").glob("*/opened")).read_text().splitlines()) == 1


@pytest.mark.parametrize("stranger", [("me", 3, "8-5"), ("me", 4, "7-5"), ("you", 3, "7-5")])
def test_mark_when_another_line_stands_in_its_place_then_it_does_not_hold(
    tmp_path: Path, stranger: tuple[str, int, str]
) -> None:
    """A cut-back or a new inbox has other lines under the same numbers."""
    store(tmp_path).mark_opened(LETTER)
    assert not store(tmp_path).is_opened(*stranger)


def test_mark_when_it_is_of_another_comm_home_then_it_does_not_hold(tmp_path: Path) -> None:
    store(tmp_path).mark_opened(LETTER)
    assert not store(tmp_path, Home(str(tmp_path / "other"))).is_opened("me", 3, "7-5")
    os.symlink(tmp_path / "comm", tmp_path / "link")
    assert store(tmp_path, Home(str(tmp_path / "link"))).is_opened("me", 3, "7-5")


def test_marks_when_there_are_too_many_then_the_newest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_store, "MARKS_LIMIT", 10)
    here = store(tmp_path)
    for line in range(1, 30):
        assert here.mark_opened(replace(LETTER, line=line)) == ""
    path = next((tmp_path / "state").rglob("opened"))
    assert len(path.read_text().splitlines()) < 21
    again = store(tmp_path)
    assert [line for line in range(1, 30) if again.is_opened("me", line, "7-5")] == list(range(20, 30))
    assert len(path.read_text().splitlines()) == 10


@pytest.mark.parametrize(
    "garbage", [b"me 3\n", b"me x 7-5\n", b"\xff\xfe\0\n\n", b"me 9" * 10, b"me " + b"9" * 5000 + b" 1-1\n"]
)
def test_marks_when_the_file_holds_garbage_then_the_good_lines_hold_and_new_ones_are_whole(
    tmp_path: Path, garbage: bytes
) -> None:
    store(tmp_path).mark_opened(LETTER)
    path = next((tmp_path / "state").rglob("opened"))
    path.write_bytes(path.read_bytes() + garbage)
    here = store(tmp_path)
    assert here.is_opened("me", 3, "7-5")
    here.mark_opened(replace(LETTER, line=9))
    assert store(tmp_path).is_opened("me", 9, "7-5")


def test_mark_when_it_cannot_be_kept_then_says_so_and_holds_for_now(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    here = store(tmp_path)
    assert here.mark_opened(LETTER) == "that this message was opened could not be kept: Not a directory"
    assert here.is_opened("me", 3, "7-5")


# -- drafts


def test_draft_when_kept_then_comes_back_whole_and_private(tmp_path: Path) -> None:
    os.umask(0o022)
    home = Home(str(tmp_path / "comm"), clock=JumpingClock())
    here = store(tmp_path, home)
    assert here.drafts() == Drafts()
    assert here.keep(DRAFT) == ""
    assert here.keep(replace(DRAFT, slot="", text="second", to_all=True)) == ""
    assert here.keep(replace(DRAFT, text="changed")) == ""
    kept = store(tmp_path, home).drafts()
    assert kept.faults == ()
    assert [(draft.slot, draft.text, draft.to_all) for draft in kept.drafts] == [
        ("", "second", True),
        ("to:anna", "changed", False),
    ]
    assert {draft.at for draft in kept.drafts} == {"2026-05-28T20:26:40Z"}
    assert home.clock.now() == EPOCH
    for path in entries(tmp_path / "state"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert not (tmp_path / "comm").exists()
    assert next((tmp_path / "state").rglob("comm-home")).read_text() == f"{tmp_path / 'comm'}\n"


def test_draft_when_it_is_dropped_then_is_gone(tmp_path: Path) -> None:
    here = store(tmp_path)
    assert here.drop("to:anna") == ""
    here.keep(DRAFT)
    assert here.drop("to:anna") == ""
    assert here.drafts() == Drafts()


def test_draft_when_its_every_field_is_odd_then_the_same_comes_back(tmp_path: Path) -> None:
    odd = KeptDraft("../x\0/", "", "\ud800 \x00 漢\n" * 9, "\x1b[2J", "[/]", to_all=True, left=("", "b"), at="")
    here = store(tmp_path, Home(str(tmp_path / "comm"), clock=JumpingClock()))
    here.keep(replace(odd, text=odd.text.replace("\ud800", "?")))
    (back,) = here.drafts().drafts
    assert replace(back, at="") == replace(odd, text=odd.text.replace("\ud800", "?"))
    assert {path.parent.name for path in (tmp_path / "state").rglob("*.json")} == {"drafts"}


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"slot":"x"}', b'{"slot":1}', b"\xff"])
def test_draft_when_its_file_is_garbage_then_it_is_named_and_left_alone(tmp_path: Path, garbage: bytes) -> None:
    here = store(tmp_path)
    here.keep(DRAFT)
    path = next((tmp_path / "state").rglob("*.json")).with_name("bad.json")
    path.write_bytes(garbage)
    kept = here.drafts()
    assert [draft.slot for draft in kept.drafts] == ["to:anna"]
    assert kept.faults == (f"{path} holds no draft that could be read; it is left alone",)
    assert path.read_bytes() == garbage


def test_draft_when_it_is_too_long_or_there_are_too_many_then_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_store, "DRAFTS_LIMIT", 2)
    here = store(tmp_path)
    assert here.keep(replace(DRAFT, text="x" * 1_000_001)) == (
        "this draft is not kept: it is longer than 1000000 characters"
    )
    for slot in "abc":
        here.keep(replace(DRAFT, slot=slot))
    kept = here.drafts()
    assert len(kept.drafts) == 2
    assert "3 drafts; 2 of them are shown" in kept.faults[0]


def test_draft_when_any_step_of_the_disk_fails_or_the_process_dies_then_the_old_or_the_new_one_is_there(
    tmp_path: Path,
) -> None:
    """Never half a draft, and a draft is not lost by changing it."""
    new = replace(DRAFT, text="changed")

    def change(folder: Path, disk: Disk) -> str:
        here = store(folder)
        here._disk = disk
        return here.keep(new)

    def kept_after(disk: Disk, name: str) -> tuple[str, str]:
        folder = tmp_path / name
        folder.mkdir()
        store(folder).keep(DRAFT)
        try:
            said = change(folder, disk)
        except Crash:
            said = "died"
        (back,) = store(folder).drafts().drafts
        return said, back.text

    (tmp_path / "count").mkdir()
    store(tmp_path / "count").keep(DRAFT)
    steps = steps_of(lambda disk: change(tmp_path / "count", disk))
    assert any(step.name == "rename" for step in steps)
    texts = set()
    for at in range(1, len(steps) + 1):
        said, text = kept_after(Failing(at, errno.ENOSPC), f"fails{at}")
        # Whatever is told, the truth: a change that was not kept is said, an old draft is never torn.
        assert text == ("changed" if not said else DRAFT.text), steps[at - 1]
        texts.add(kept_after(Dying(at), f"dies{at}")[1])
        texts.add(kept_after(Dying(at, part=9), f"torn{at}")[1])
    assert texts == {DRAFT.text, "changed"}


# -- sheets


def test_sheet_when_laid_out_then_is_private_and_comes_back_as_the_editor_left_it(tmp_path: Path) -> None:
    here = store(tmp_path)
    sheet = here.lay_out(b"as it was\n")
    path = tmp_path / "state" / os.path.relpath(sheet.path, tmp_path / "state")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.with_name("message.txt~").write_text("what an editor leaves beside it")
    path.write_bytes("né\r\nw\n\n".encode())
    assert here.take_up(sheet).text == "né\nw\n"
    assert not path.parent.exists()


def test_sheet_when_the_editor_removed_it_or_made_it_huge_then_says_so_and_nothing_is_lost(tmp_path: Path) -> None:
    here = store(tmp_path)
    sheet = here.lay_out(b"x")
    with open(sheet.path, "wb") as file:
        file.truncate(desk_store.SHEET_BYTES + 1)
    assert here.take_up(sheet).fault.endswith(f"longer than 4194304 bytes; it stays in {sheet.path}")
    assert os.path.exists(sheet.path)
    os.unlink(sheet.path)
    assert (
        here.take_up(sheet).fault
        == f"what the editor wrote could not be read (No such file or directory): {sheet.path}"
    )


@pytest.mark.parametrize(
    "place", ["message.txt", "sheets/message.txt", "sheets/../message.txt", "sheets/1/../message.txt"]
)
def test_sheet_when_it_is_none_of_this_store_then_nothing_is_read_or_removed(tmp_path: Path, place: str) -> None:
    here = store(tmp_path)
    here.lay_out(b"x")
    path = f"{here.folder}/{place}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("mine")
    assert here.take_up(Sheet(path)) == Body(fault=f"this is no sheet of this engine: {path}")
    assert os.path.exists(path)


def test_sheet_when_its_dashboard_is_gone_then_is_swept_and_a_living_ones_is_not(tmp_path: Path) -> None:
    here = store(tmp_path)
    living = here.lay_out(b"mine")
    sheets = os.path.dirname(os.path.dirname(living.path))
    os.mkdir(f"{sheets}/999999999-1")
    with open(f"{sheets}/999999999-1/message.txt", "w") as file:
        file.write("a dead one's")
    store(tmp_path).lay_out(b"another")
    assert not os.path.exists(f"{sheets}/999999999-1")
    assert os.path.exists(living.path)


def test_sheet_when_there_is_no_room_then_says_so(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    assert store(tmp_path).lay_out(b"x") == Sheet(fault="there is no file to open an editor with: Not a directory")
