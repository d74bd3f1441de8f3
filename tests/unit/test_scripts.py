"""The scripts of the comm home: what an install writes, what it leaves alone, and what a death on the way leaves."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from sot_tui.cli import VERBS
from sot_tui.comm import scripts
from sot_tui.comm.disk import Disk
from sot_tui.comm.errors import Refused, Unreadable
from sot_tui.comm.home import Home
from sot_tui.comm.scripts import RECORD, SCRIPTS, STEWARD, STEWARD_VERBS, Stand, install, standing
from sot_tui.comm.subagent import SESSION_VERBS
from tests.faults.disks import Dying, Failing, dies, steps_of

THEIRS = "#!/usr/bin/env bash\n# another client's\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "comm"))


def bin_of(home: Home) -> Path:
    return Path(home.path, "bin")


def record(home: Home) -> list[str]:
    return bin_of(home).joinpath(RECORD).read_text().splitlines()


def another_install(home: Home, *names: str) -> None:
    bin_of(home).mkdir(parents=True)
    for name in names:
        bin_of(home).joinpath(name).write_text(THEIRS)
    bin_of(home).joinpath(RECORD).write_text("".join(f"{name}\n" for name in names))


def test_scripts_when_listed_then_each_stands_for_a_verb_there_is() -> None:
    assert set(SCRIPTS.values()) <= set(VERBS)
    assert all(verb.startswith(SESSION_VERBS) for verb in SCRIPTS.values())
    assert set(STEWARD_VERBS) <= set(VERBS)


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077])
def test_install_when_nothing_is_there_then_scripts_record_and_stamp_stand(home: Home, umask: int) -> None:
    before = os.umask(umask)
    try:
        done = install(home, "1.2.3")
    finally:
        os.umask(before)
    assert done.written == tuple(sorted(SCRIPTS))
    assert sorted(os.listdir(bin_of(home))) == sorted([RECORD, *SCRIPTS])
    assert record(home) == sorted(SCRIPTS)
    assert Path(home.path, "VERSION").read_text() == "sot-tui 1.2.3\n"
    assert {stat.S_IMODE(bin_of(home).joinpath(name).stat().st_mode) for name in SCRIPTS} == {0o755}
    assert stat.S_IMODE(bin_of(home).stat().st_mode) == 0o755
    assert stat.S_IMODE(os.stat(home.path).st_mode) == 0o700


def test_install_when_it_stands_already_then_no_file_is_touched(home: Home) -> None:
    install(home, "1.2.3")
    before = {path: path.stat() for path in Path(home.path).rglob("*")}
    assert install(home, "1.2.3").written == ()
    assert {path: path.stat() for path in Path(home.path).rglob("*")} == before


def test_install_when_one_of_ours_is_older_or_closed_then_it_is_set_right(home: Home) -> None:
    install(home, "1.2.3")
    bin_of(home).joinpath("comm-poll.sh").write_bytes(scripts.stub("comm-poll.sh") + b"# older\n")
    bin_of(home).joinpath("comm-send.sh").chmod(0o600)
    assert install(home, "1.2.4").written == ("comm-poll.sh",)
    assert stat.S_IMODE(bin_of(home).joinpath("comm-send.sh").stat().st_mode) == 0o755
    assert Path(home.path, "VERSION").read_text() == "sot-tui 1.2.4\n"


def test_install_when_another_client_stands_there_then_refused_and_nothing_is_written(home: Home) -> None:
    another_install(home, "comm-join.sh", "comm-matrix.sh")
    before = {path: path.read_bytes() for path in bin_of(home).iterdir()}
    with pytest.raises(Refused, match=r"another install stands in .*/bin \(comm-join\.sh\), and nothing was written"):
        install(home, "1.2.3")
    assert {path: path.read_bytes() for path in bin_of(home).iterdir()} == before
    assert not Path(home.path, "VERSION").exists()


def test_install_when_another_clients_stamp_stands_alone_then_refused(home: Home) -> None:
    Path(home.path).mkdir()
    Path(home.path, "VERSION").write_text("0123abc\n")
    with pytest.raises(Refused, match="VERSION"):
        install(home, "1.2.3")
    assert Path(home.path, "VERSION").read_text() == "0123abc\n"


def test_install_when_forced_over_another_client_then_only_our_names_are_written_and_its_others_stay(
    home: Home,
) -> None:
    another_install(home, "comm-join.sh", "comm-matrix.sh")
    bin_of(home).joinpath("mine.sh").write_text("echo mine\n")
    assert install(home, "1.2.3", force=True).removed == ()
    assert bin_of(home).joinpath("comm-join.sh").read_bytes() == scripts.stub("comm-join.sh")
    assert bin_of(home).joinpath("comm-matrix.sh").read_text() == THEIRS
    assert bin_of(home).joinpath("mine.sh").read_text() == "echo mine\n"
    assert record(home) == sorted([*SCRIPTS, "comm-matrix.sh"])
    assert install(home, "1.2.3").written == ()  # and from now on it is ours


def test_install_when_a_script_is_a_link_then_what_it_leads_to_is_never_written(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "checkout.sh"
    target.write_text(THEIRS)
    bin_of(home).mkdir(parents=True)
    bin_of(home).joinpath("comm-join.sh").symlink_to(target)
    with pytest.raises(Refused):
        install(home, "1.2.3")
    install(home, "1.2.3", force=True)
    assert target.read_text() == THEIRS
    assert not bin_of(home).joinpath("comm-join.sh").is_symlink()


def test_install_when_the_folder_is_a_link_then_refused_even_by_force(home: Home, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    Path(home.path).mkdir()
    bin_of(home).symlink_to(checkout)
    with pytest.raises(Refused, match="no folder of its own"):
        install(home, "1.2.3", force=True)
    assert os.listdir(checkout) == []


def test_install_when_a_release_ships_a_name_no_longer_then_it_is_removed_by_its_record_alone(home: Home) -> None:
    """ "An install removes the comm scripts a release no longer ships, by exact name: those it recorded"."""
    install(home, "1.2.3")
    ours = scripts.stub("comm-join.sh")
    for name in ("comm-old.sh", "comm-old.sh.bak", "comm-unrecorded.sh"):
        bin_of(home).joinpath(name).write_bytes(ours)
    bin_of(home).joinpath("comm-edited.sh").write_text(THEIRS)
    outside = Path(home.path, "outside.sh")
    outside.write_bytes(ours)
    with bin_of(home).joinpath(RECORD).open("a") as file:
        file.write("comm-old.sh\ncomm-edited.sh\n../outside.sh\ncomm-gone.sh\n")
    assert install(home, "1.2.4").removed == ("comm-old.sh",)
    left = set(os.listdir(bin_of(home)))
    assert "comm-old.sh" not in left
    assert {"comm-old.sh.bak", "comm-unrecorded.sh", "comm-edited.sh"} <= left
    assert outside.read_bytes() == ours


def test_install_when_it_dies_after_any_step_then_what_stands_is_whole_and_recorded_and_the_next_one_ends_it(
    tmp_path: Path,
) -> None:
    steps = len(steps_of(lambda disk: install(Home(str(tmp_path / "whole"), disk=disk), "1.2.3")))
    for number in range(1, steps + 1):
        home = Home(str(tmp_path / f"comm{number}"))
        disk = Dying(number)
        assert dies(lambda home=home, disk=disk: install(home._replace(disk=disk), "1.2.3"))  # type: ignore[misc]
        written = {path.name: path.read_bytes() for path in bin_of(home).glob("comm-*")}
        assert all(text == scripts.stub(name) for name, text in written.items())
        assert set(written) <= set(record(home) if written else [])
        install(home, "1.2.3")
        assert set(SCRIPTS) <= set(os.listdir(bin_of(home)))
        assert {stat.S_IMODE(bin_of(home).joinpath(name).stat().st_mode) for name in (".", *SCRIPTS)} == {0o755}


def test_install_when_the_disk_fails_at_any_step_then_one_sentence_and_no_torn_script(tmp_path: Path) -> None:
    steps = len(steps_of(lambda disk: install(Home(str(tmp_path / "whole"), disk=disk), "1.2.3")))
    for number in range(1, steps + 1):
        home = Home(str(tmp_path / f"comm{number}"))
        with suppress(Unreadable):
            install(home._replace(disk=Failing(number, errno.ENOSPC)), "1.2.3")
        assert all(path.read_bytes() == scripts.stub(path.name) for path in bin_of(home).glob("comm-*"))
        install(home, "1.2.3")
        assert record(home) == sorted(SCRIPTS)


# -- the notifier's name ----------------------------------------------------------------------------------------------


def test_steward_when_not_asked_for_then_it_is_not_there_and_what_bears_the_name_is_not_touched(home: Home) -> None:
    install(home, "1.2.3")
    assert not bin_of(home).joinpath(STEWARD).exists()
    assert STEWARD not in record(home)
    bin_of(home).joinpath(STEWARD).write_text(THEIRS)
    for force in (False, True):
        assert install(home, "1.2.4", force=force).total == len(SCRIPTS)
    assert install(home, "1.2.4", steward=False).removed == ()
    assert bin_of(home).joinpath(STEWARD).read_text() == THEIRS
    assert scripts.standing(home, "1.2.4").stand is Stand.INSTALLED


def test_steward_when_asked_for_then_it_stands_is_renewed_and_goes_when_no_longer_wanted(home: Home) -> None:
    done = install(home, "1.2.3", steward=True)
    assert (STEWARD in done.written, done.total) == (True, len(SCRIPTS) + 1)
    assert record(home) == sorted([*SCRIPTS, STEWARD])
    assert stat.S_IMODE(bin_of(home).joinpath(STEWARD).stat().st_mode) == 0o755
    assert install(home, "1.2.3").written == ()
    bin_of(home).joinpath(STEWARD).write_bytes(scripts.stub(STEWARD) + b"# older\n")
    found = scripts.standing(home, "1.2.3")
    assert (found.stand, found.names) == (Stand.OTHER_VERSION, (STEWARD,))
    assert install(home, "1.2.3").written == (STEWARD,)
    assert scripts.standing(home, "1.2.3").stand is Stand.INSTALLED
    done = install(home, "1.2.3", steward=False)
    assert (done.removed, done.total) == ((STEWARD,), len(SCRIPTS))
    assert not bin_of(home).joinpath(STEWARD).exists()
    assert record(home) == sorted(SCRIPTS)


def test_steward_when_another_program_bears_the_name_then_refused_even_by_force(home: Home, tmp_path: Path) -> None:
    theirs = tmp_path / "their-steward"
    theirs.write_text(THEIRS)
    bin_of(home).mkdir(parents=True)
    bin_of(home).joinpath(STEWARD).symlink_to(theirs)
    for force in (False, True):
        with pytest.raises(Refused, match=r"another steward stands in .*/bin, and nothing was written"):
            install(home, "1.2.3", force=force, steward=True)
    assert os.listdir(bin_of(home)) == [STEWARD]
    assert theirs.read_text() == THEIRS


def test_steward_when_another_program_took_its_place_then_that_stays_and_the_rest_is_installed(home: Home) -> None:
    install(home, "1.2.3", steward=True)
    bin_of(home).joinpath(STEWARD).write_text(THEIRS)
    assert install(home, "1.2.4").total == len(SCRIPTS)
    assert install(home, "1.2.4", steward=False).removed == ()
    assert bin_of(home).joinpath(STEWARD).read_text() == THEIRS


def test_steward_when_it_is_ours_and_not_recorded_then_it_stays(home: Home) -> None:
    """An install removes "by exact name: those it recorded"."""
    install(home, "1.2.3")
    bin_of(home).joinpath(STEWARD).write_bytes(scripts.stub(STEWARD))
    assert install(home, "1.2.3", steward=False).removed == ()
    assert bin_of(home).joinpath(STEWARD).exists()


def test_steward_when_an_install_dies_after_any_step_then_it_is_whole_and_recorded_or_not_there(tmp_path: Path) -> None:
    steps = len(steps_of(lambda disk: install(Home(str(tmp_path / "whole"), disk=disk), "1.2.3", steward=True)))
    for number in range(1, steps + 1):
        home = Home(str(tmp_path / f"comm{number}"))
        disk = Dying(number)
        assert dies(lambda home=home, disk=disk: install(home._replace(disk=disk), "1.2.3", steward=True))  # type: ignore[misc]
        if bin_of(home).joinpath(STEWARD).exists():
            assert bin_of(home).joinpath(STEWARD).read_bytes() == scripts.stub(STEWARD)
            assert STEWARD in record(home)
        install(home, "1.2.3", steward=False)
        assert not bin_of(home).joinpath(STEWARD).exists()
        assert set(SCRIPTS) <= set(os.listdir(bin_of(home)))


def test_standing_when_looked_at_then_says_how_they_stand_by_the_rules_of_an_install(home: Home) -> None:
    assert standing(home, "1.2.3").stand is Stand.MISSING
    install(home, "1.2.3")
    assert standing(home, "1.2.3") == (Stand.INSTALLED, str(bin_of(home)), "sot-tui 1.2.3", (), "")
    assert standing(home, "1.2.4").stand is Stand.OTHER_VERSION
    bin_of(home).joinpath("comm-join.sh").unlink()
    assert standing(home, "1.2.3")[::3] == (Stand.INCOMPLETE, ("comm-join.sh",))
    for name in SCRIPTS:
        bin_of(home).joinpath(name).unlink(missing_ok=True)
    assert standing(home, "1.2.3")[::3] == (Stand.MISSING, tuple(sorted(SCRIPTS)))
    Path(home.path, "VERSION").write_text("0123abc\n")
    assert standing(home, "1.2.3")[::3] == (Stand.FOREIGN, ("../VERSION",))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("comm-join.sh", "comm-list.sh", "comm-poll.sh"), "(comm-join.sh, comm-list.sh, comm-poll.sh)"),
        (
            ("comm-join.sh", "comm-list.sh", "comm-poll.sh", "comm-send.sh"),
            "(comm-join.sh, comm-list.sh, comm-poll.sh, ...)",
        ),
    ],
)
def test_install_when_another_install_is_refused_over_then_three_of_it_are_named_and_more_are_said(
    home: Home, names: tuple[str, ...], said: str
) -> None:
    another_install(home, *names)
    with pytest.raises(Refused) as refused:
        install(home, "1.2.3")
    assert said in refused.value.sentence


def test_install_when_the_disk_names_the_file_that_failed_or_none_then_so_does_the_sentence(home: Home) -> None:
    class Nameless(Disk):
        def replace(self, draft: str, path: str, data: bytes, mode: int | None = None) -> None:
            del draft, path, data, mode
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(Unreadable, match="installed: Input/output error; run it again"):
        install(home._replace(disk=Nameless()), "1.2.3")
    bin_of(home).joinpath("comm-join.sh").mkdir()
    with pytest.raises(Unreadable, match=r"installed: Is a directory \(.*comm-join.*\); run it again"):
        install(home, "1.2.3", force=True)
