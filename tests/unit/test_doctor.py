"""The doctor's judgements, as tables: what was found, how bad it is, and the next step as a command."""

from __future__ import annotations

import errno
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import doctor
from sot_tui.comm.doctor import Entry, Fault, Finding, Hooks, Level, Notifier, Room, Seen, Terminal, Unlike
from sot_tui.comm.home import Home, ensure_home, open_entries
from sot_tui.comm.links import Concern, LinkStanding
from sot_tui.comm.mounts import LockRecord, Mount
from sot_tui.comm.proof import Record
from sot_tui.comm.registry import Registry, Unread
from sot_tui.comm.registry_lock import LockIs, LockLook
from sot_tui.comm.scripts import SCRIPTS, Stand, Standing
from sot_tui.comm.topology import Box, Topology, Unlisted
from tests.seams import Machine

if TYPE_CHECKING:
    from pathlib import Path

OK, WARN, FAULT = Level.OK, Level.WARN, Level.FAULT
NOW = 1_780_000_000.0
HOME = Home("/c", procs=Machine(machine="m1").start())
EXT4 = Mount("27", "1", "/", "ext4", "/dev/vda", frozenset({"rw"}))
OVERLAY = EXT4._replace(kind="overlay", source="overlay")
ME = Record("box", "m1", "b1", "4026531836", "10", "100")


def of(finding: Finding) -> tuple[Level, str]:
    return finding.level, finding.step


def folder(mode: int, owner: int = 7) -> Entry:
    return Entry(mode=stat.S_IFDIR | mode, owner=owner)


# -- words of a command -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "/plain",
        "/with blank",
        "/it's",
        "/né 项目",
        "/esc\x1b[2J",
        "/new\nline",
        "/bidi\u202e",
        "/byte\udcff",
        "/odd\u00a0blank",
        "/\x1f \x1b ~ \x7f",
        "/nothing\u200b",
        "-x",
        "",
    ],
)
def test_word_when_a_shell_reads_it_then_it_is_the_text_and_a_terminal_gets_nothing(text: str) -> None:
    quoted = doctor.word(text)
    ran = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert ran.stdout == text.encode("utf-8", "surrogateescape")
    assert quoted.isprintable()


def test_word_when_a_sign_is_plain_then_it_stays_as_it_is_beside_those_that_are_not() -> None:
    assert doctor.word("a b~\x1b") == "$'a b~\\x1b'"


# -- the comm home ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(folder(0o700), (OK, ""), id="well"),
        pytest.param(folder(0o755), (FAULT, "chmod -R go-rwx /c"), id="open"),
        pytest.param(folder(0o701), (FAULT, "chmod -R go-rwx /c"), id="open-to-one-bit"),
        pytest.param(folder(0o500), (FAULT, "chmod 700 /c"), id="not-writable"),
        pytest.param(folder(0o700, owner=8), (FAULT, "unset SOT_COMM_HOME"), id="of-another-account"),
        pytest.param(Entry(mode=stat.S_IFREG | 0o600, owner=7), (FAULT, "mv /c /c.aside"), id="a-file"),
        pytest.param(Entry(), (WARN, "sot-tui join"), id="nothing"),
        pytest.param(Entry(dangling=True), (FAULT, "rm /c"), id="a-dead-link"),
        pytest.param(Entry(fault="Permission denied"), (FAULT, "ls -ld /c"), id="not-to-be-looked-at"),
    ],
)
def test_home_when_found_so_then_this(found: Entry, expected: tuple[Level, str]) -> None:
    assert of(doctor.of_home("/c", found, 7)) == expected


def test_modes_when_entries_are_open_then_the_folders_they_are_in_are_closed() -> None:
    assert of(doctor.of_modes(HOME, [])) == (OK, "")
    found = doctor.of_modes(HOME, ["inbox", "inbox/a.jsonl", "registry.json"])
    assert of(found) == (WARN, "chmod -R go-rwx /c/inbox /c/registry.json")
    assert found.fact == "inbox and 2 more are open to others, behind the closed comm home"
    found = doctor.of_modes(HOME, ["inbox", "inbox/a.jsonl"])
    assert found.fact == "inbox and 1 more are open to others, behind the closed comm home"
    assert doctor.of_modes(HOME, ["inbox"]).fact == "inbox is open to others, behind the closed comm home"


def test_modes_when_looked_at_then_what_the_contract_wants_closed_counts_and_nothing_else(comm_home: Path) -> None:
    home = Home(str(comm_home))
    ensure_home(home)
    assert open_entries(home) == []
    for name, mode in (("inbox/group.jsonl", 0o640), ("inbox/world.jsonl", 0o604), ("inbox/own.jsonl", 0o600)):
        (comm_home / name).touch()
        (comm_home / name).chmod(mode)
    for name in ("bin", "mine"):
        (comm_home / name).mkdir()
        (comm_home / name).chmod(0o755)
    (comm_home / "VERSION").touch(0o644)
    (comm_home / "self" / "link.txt").symlink_to("/")
    (comm_home / "read").chmod(0o710)
    (comm_home / ".registry.lock.tmp.x").touch(0o644)
    (comm_home / ".registry.lock.tmp.x").chmod(0o644)
    assert open_entries(home) == [".registry.lock.tmp.x", "inbox/group.jsonl", "inbox/world.jsonl", "read"]


@pytest.mark.parametrize(
    ("mount", "linux", "level"),
    [
        (EXT4, True, OK),
        (OVERLAY, True, OK),
        (EXT4._replace(options=frozenset({"ro"})), True, FAULT),
        (None, True, WARN),
        (None, False, OK),
    ],
)
def test_mount_when_it_is_so_then_this(mount: Mount | None, linux: bool, level: Level) -> None:
    assert doctor.of_mount("/c", mount, linux=linux).level is level


@pytest.mark.parametrize(
    ("kind", "options", "why"),
    [
        ("nfs4", "vers=4.2 local_lock=none", ""),
        ("nfs4", "vers=4.2 local_lock=all", "local_lock=all"),
        ("nfs4", "vers=4.2 local_lock=flock", "local_lock=flock"),
        ("nfs", "vers=3 local_lock=none", "NFS before version 4"),
        ("nfs", "vers=3", "NFS before version 4"),
    ],
)
def test_mount_when_its_locks_are_this_machines_own_then_says_so_and_what_follows(
    kind: str, options: str, why: str
) -> None:
    mount = EXT4._replace(kind=kind, source="nas:/home", point="/c", options=frozenset(options.split()))
    found = doctor.of_mount("/c", mount, linux=True)
    told = f"{kind}, nas:/home mounted on /c"
    if why:
        told += f": its locks exclude no other box ({why}), so every box but one files through the hub"
    assert (found.level, found.fact) == (WARN if why else OK, told)


@pytest.mark.parametrize(
    ("me", "fresh", "expected"),
    [
        pytest.param(ME, True, (OK, ""), id="proves"),
        pytest.param(
            Record("box", "-", "-", "-", "10", "-"),
            False,
            (WARN, "export SOT_COMM_HOME=/a/folder/on/a/local/disk"),
            id="no-fresh-reads",
        ),
        pytest.param(ME._replace(machine="-"), True, (WARN, "sudo systemd-machine-id-setup"), id="no-machine-id"),
        pytest.param(ME._replace(namespace="-"), True, (WARN, "ls -l /proc/self"), id="a-proc-of-others"),
    ],
)
def test_proof_when_a_field_is_missing_then_warns_with_the_way_to_it(
    me: Record, fresh: bool, expected: tuple[Level, str]
) -> None:
    assert of(doctor.of_proof(me, OVERLAY, fresh=fresh)) == expected


def test_proof_when_reads_are_not_known_to_be_fresh_then_names_the_mount_if_there_is_one() -> None:
    me = Record("box", "-", "-", "-", "10", "-")
    for mount, named in ((OVERLAY, "overlay"), (None, "its mount")):
        found = doctor.of_proof(me, mount, fresh=False)
        assert found.fact.endswith(f": a read on {named} is not known to be fresh")


@pytest.mark.parametrize(
    ("name", "found", "expected"),
    [
        pytest.param("sot-tui", "/b/sot-tui", (OK, ""), id="this-one"),
        pytest.param("sot-tui", "/other/sot-tui", (WARN, "export SOT_TUI_BIN=/b/sot-tui"), id="another-one"),
        pytest.param("sot-tui", "", (WARN, "ln -s"), id="none"),
        pytest.param("/gone", "", (WARN, "unset SOT_TUI_BIN"), id="a-name-of-nothing"),
        pytest.param("/b/sot-tui", "/b/sot-tui", (OK, ""), id="this-one-by-its-path"),
    ],
)
def test_command_when_the_scripts_find_it_or_not_then_this(name: str, found: str, expected: tuple[Level, str]) -> None:
    assert of(doctor.of_command(name, found, "/b/sot-tui", "ln -s")) == expected


# -- the registry -----------------------------------------------------------------------------------------------------


def test_registry_when_read_or_not_then_this() -> None:
    assert doctor.of_registry(HOME, Registry({"agents": {"a": {}}})).fact == "it is read, and lists 1 handle"
    assert of(doctor.of_registry(HOME, Unread(missing=True, why="x"))) == (WARN, "sot-tui join")
    found = doctor.of_registry(HOME, Unread(missing=False, why="it is empty"))
    assert of(found) == (FAULT, "mv /c/registry.json /c/registry.json.aside")
    assert "it is empty" in found.fact


@pytest.mark.parametrize(
    ("found", "step"),
    [
        (Unread(missing=False, why="Permission denied", errno=errno.EACCES), "chmod 600 /c/registry.json"),
        (Unread(missing=False, why="Input/output error", errno=errno.EIO), "ls -l /c/registry.json"),
        (Unread(missing=False, why="Stale file handle", errno=errno.ESTALE), "ls -l /c/registry.json"),
        (
            Unread(missing=False, why="it is no regular file", errno=errno.ENXIO),
            "mv /c/registry.json /c/registry.json.aside",
        ),
        (Unread(missing=False, why="Is a directory", errno=errno.EISDIR), "mv /c/registry.json /c/registry.json.aside"),
    ],
)
def test_registry_when_it_merely_cannot_be_read_then_it_is_not_moved_aside(found: Unread, step: str) -> None:
    """A whole registry that a mode of 000 hid was once to be moved aside: everybody would have lost their handles."""
    judged = doctor.of_registry(HOME, found)
    assert of(judged) == (FAULT, step)
    assert ("moved aside" in judged.fact) is step.startswith("mv ")


def test_registry_when_a_link_leads_nowhere_then_a_join_would_not_make_it() -> None:
    found = doctor.of_registry(HOME, Unread(missing=True, why="x"), dangling=True)
    assert of(found) == (FAULT, "rm /c/registry.json")


@pytest.mark.parametrize(
    ("room", "level", "step"),
    [
        (Room(1 << 30, 5), OK, ""),
        (Room(1 << 20, None), OK, ""),
        (Room((1 << 20) - 1, 5), WARN, "df -h /c"),
        (Room(0, 5), FAULT, "df -h /c"),
        (Room(1 << 30, 0), FAULT, "df -i /c"),
        (Fault("Input/output error", errno.EIO), WARN, "df /c"),
    ],
)
def test_room_when_so_much_is_left_then_this(room: Room | Fault, level: Level, step: str) -> None:
    """On a full file system nothing is filed and nobody joins, and once all was well here."""
    assert of(doctor.of_room("/c", room)) == (level, step)


def test_inboxes_when_one_cannot_be_read_then_names_it_and_the_way_to_it() -> None:
    assert of(doctor.of_inboxes(HOME, [])) == (OK, "")
    denied, pipe = Fault("Permission denied", errno.EACCES), Fault("it is no regular file", errno.ENXIO)
    found = doctor.of_inboxes(HOME, [("a", denied), ("b", pipe)])
    assert found == (FAULT, "inboxes", "the inbox of @a could not be read: Permission denied, and 1 more",
                     "chmod 600 /c/inbox/a.jsonl")  # fmt: skip
    found = doctor.of_inboxes(HOME, [("b", pipe)])
    assert found.step == "mv /c/inbox/b.jsonl /c/inbox/b.jsonl.aside"
    assert found.fact == "the inbox of @b could not be read: it is no regular file"


@pytest.mark.parametrize(("version", "level"), [(1, OK), (2, WARN), (None, WARN), ("1", WARN), (True, WARN)])
def test_version_when_it_is_not_ours_then_warns(version: object, level: Level) -> None:
    assert doctor.of_version(version).level is level


def test_version_when_none_is_named_then_that_is_said_and_not_another_one() -> None:
    update = "this client speaks v1: update all machines"
    assert doctor.of_version(None).fact == f"the registry names no version, {update}"
    assert doctor.of_version(2).fact == f"the registry names v2, {update}"


HELD = LockLook(LockIs.HELD, ME, 30.0, "dead: same boot, pid 10 is gone", True, "R", "S")


@pytest.mark.parametrize(
    ("look", "here", "expected"),
    [
        pytest.param(LockLook(LockIs.FREE), False, (OK, ""), id="free"),
        pytest.param(HELD, True, (FAULT, "sot-tui lock-clear"), id="dead"),
        pytest.param(HELD._replace(age_s=0.1), True, (FAULT, "sot-tui lock-clear"), id="dead-just-now"),
        pytest.param(HELD._replace(provable=False), True, (WARN, "ps -o pid,lstart,args -p 10"), id="alive-here"),
        pytest.param(HELD._replace(provable=False), False, (WARN, "ssh box sot-tui lock-clear"), id="elsewhere"),
        pytest.param(HELD._replace(provable=False, age_s=1.9), True, (OK, ""), id="a-write-of-the-moment"),
        pytest.param(
            HELD._replace(provable=False, age_s=2.0), True, (WARN, "ps -o pid,lstart,args -p 10"), id="just-past-one"
        ),
        pytest.param(LockLook(LockIs.OLDER_VERSION, None, 9.0), False, (FAULT, "rmdir /c/l"), id="older"),
        pytest.param(LockLook(LockIs.UNPARSABLE, None, 9.0), False, (FAULT, "rm /c/l"), id="unparsable"),
        pytest.param(LockLook(LockIs.UNREADABLE, None, 0.0), False, (FAULT, "ls -ld /c/l"), id="unreadable"),
    ],
)
def test_lock_when_held_so_then_this(look: LockLook, here: bool, expected: tuple[Level, str]) -> None:
    assert of(doctor.of_lock("/c/l", look, here=here)) == expected


@pytest.mark.parametrize(
    ("holder", "here"),
    [
        (ME, True),
        (ME._replace(machine="m2"), False),
        (ME._replace(machine="-"), True),
        (ME._replace(machine="-", name="far"), False),
    ],
)
def test_holder_when_its_machine_is_named_then_that_decides_and_its_name_otherwise(holder: Record, here: bool) -> None:
    assert doctor.is_of_here(HELD._replace(record=holder), ME) is here
    assert not doctor.is_of_here(LockLook(LockIs.FREE), ME)


# -- mail -------------------------------------------------------------------------------------------------------------

OWN = "local m1"


@pytest.mark.parametrize(
    ("own", "record", "hub", "expected"),
    [
        pytest.param(OWN, LockRecord(OWN, "m1"), True, (OK, ""), id="its-own"),
        pytest.param(OWN, LockRecord(OWN, "m1"), False, (OK, ""), id="a-guest-on-the-same-disk"),
        pytest.param(OWN, None, True, (WARN, "sot-tui"), id="none-yet"),
        pytest.param(OWN, None, False, (WARN, "cat /c/inbox-lock-manager"), id="none-yet-for-a-guest"),
        pytest.param(OWN, LockRecord("nfs4 s:/x", "m2"), False, (WARN, "cat /c/inbox-lock-manager"), id="a-guest"),
        pytest.param(OWN, LockRecord("nfs4 s:/x", "m1"), True, (WARN, "sot-tui"), id="before-a-remount"),
        pytest.param(OWN, LockRecord("local m2", "m2"), True, (FAULT, "rm /c/inbox-lock-manager"), id="anothers"),
        pytest.param(
            OWN, LockRecord("local m2", ""), True, (FAULT, "rm /c/inbox-lock-manager"), id="an-unknown-writer"
        ),
        pytest.param(OWN, "Permission denied", True, (FAULT, "ls -l /c/inbox-lock-manager"), id="unreadable"),
        pytest.param("none", None, True, (FAULT, "sudo systemd-machine-id-setup"), id="no-machine-id"),
        pytest.param("none", LockRecord("none", ""), True, (FAULT, "sudo systemd-machine-id-setup"), id="none-is-none"),
    ],
)
def test_filing_when_recorded_so_then_this(
    own: str, record: LockRecord | str | None, hub: bool, expected: tuple[Level, str]
) -> None:
    assert of(doctor.of_filing(HOME, own, record, hub=hub, linux=True)) == expected


def test_filing_when_the_system_is_not_linux_then_a_daemon_files() -> None:
    assert doctor.of_filing(HOME, OWN, LockRecord(OWN, "m1"), hub=True, linux=False).level is WARN


# -- links ------------------------------------------------------------------------------------------------------------

LAB, HUB = Concern("hub"), Concern(others=("lab", "desk"))
UP = LinkStanding("hub", up=True, since_s=200)
DOWN = LinkStanding("hub", since_s=7200, why="Permission denied (publickey).", next_try_s=30)
BRIDGE = (
    """ssh -o BatchMode=yes -- hub 'PATH="$HOME/.local/share/sot/bin:$HOME/.cargo/bin:$HOME/.local/bin:$PATH"; """
    "sotd stdio-bridge </dev/null'"
)


@pytest.mark.parametrize(
    ("concern", "standing", "fault", "level", "fact", "step"),
    [
        (LAB, UP, "", OK, "it leads to hub, and stands for 3m", ""),
        (
            LAB,
            DOWN,
            "",
            FAULT,
            "it leads to hub, and does not stand for 2h: Permission denied (publickey).; next try in 30 s",
            BRIDGE,
        ),
        (
            LAB,
            DOWN._replace(why="hello refused: no", next_try_s=0),
            "",
            FAULT,
            "it leads to hub, and does not stand for 2h: hello refused: no; it is just being tried",
            "ssh -- hub sot-tui doctor",
        ),
        (LAB, LinkStanding("hub"), "", WARN, "it leads to hub, and is just being tried", "sot-tui doctor"),
        (
            LAB,
            LinkStanding(),
            "",
            FAULT,
            "the list of boxes has a link to hub, and the daemon holds none, as it was when it started: restart it",
            "sot-tui service status",
        ),
        (
            LAB,
            None,
            "",
            WARN,
            "no daemon runs here that holds its link to hub, so mail passes on to no session behind it",
            "sotd run",
        ),
        (LAB, None, "it slept", WARN, "how it stands is not known: it slept", "tail /s/events.log"),
        (HUB, LinkStanding(linked=("lab", "desk")), "", OK, "linked: lab, desk", ""),
        (
            HUB,
            LinkStanding(linked=("moon",), missing=("lab", "desk")),
            "",
            WARN,
            "not linked: lab, desk; linked: moon",
            "ssh -- lab sot-tui doctor",
        ),
        (HUB, LinkStanding(missing=("lab",)), "", WARN, "not linked: lab; linked: nobody", "ssh -- lab sot-tui doctor"),
        (
            HUB,
            None,
            "",
            WARN,
            "no daemon runs here that takes the links of the other boxes, so mail passes on to no session behind it",
            "sotd run",
        ),
    ],
)
def test_links_when_they_stand_so_then_so_bad_and_the_next_step(
    concern: Concern, standing: LinkStanding | None, fault: str, level: Level, fact: str, step: str
) -> None:
    what = "link" if concern.hub else "links"
    found = doctor.of_links(concern, standing, fault, "/s/events.log")
    assert found == (Finding(level, what, fact, step),)


def test_behind_link_when_the_folder_is_not_known_as_its_own_disk_then_no_offer_is_filed_there() -> None:
    found = doctor.of_behind_link("/c", OVERLAY)
    assert of(found) == (FAULT, "export SOT_COMM_HOME=/a/folder/on/a/local/disk")
    words = "lies on overlay, not known as this box's own disk, so its daemon is a guest there and files no offer"
    assert found.fact == f"/c {words}"


# -- this box ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ahead", "level"), [(-7200, OK), (0, OK), (5, OK), (6, WARN), (599, WARN), (600, FAULT), (90_000, FAULT)]
)
def test_clock_when_the_newest_stamp_is_ahead_then_so_bad(ahead: float, level: Level) -> None:
    stamps = [Seen("@old on far", NOW - 9), Seen("@new on far", NOW + ahead), Seen("the file server", NOW - 3)]
    found = doctor.of_clock(NOW, stamps)
    assert found.level is level
    assert ("@new on far" in found.fact) is (level is not OK)
    assert doctor.of_clock(NOW, []).level is OK


def test_names_when_they_make_no_sense_then_the_way_to_them() -> None:
    assert of(doctor.of_host("box", "")) == (OK, "")
    assert of(doctor.of_host("", "SOT_SELF_HOST='a/b' cannot be ...")) == (FAULT, "unset SOT_SELF_HOST")
    assert of(doctor.of_host("", "this machine has no host name, so no declared host; set SOT_SELF_HOST")) == (
        FAULT,
        "hostname",
    )
    assert of(doctor.of_operator("anna", "", "/t")) == (OK, "")
    assert of(doctor.of_operator("", "an na", "/t")) == (FAULT, "${EDITOR:-vi} /t")
    assert of(doctor.of_variable("X is ...", "X")) == (FAULT, "unset X")


def test_settings_when_there_are_warnings_then_one_finding_each() -> None:
    assert [of(found) for found in doctor.of_settings("/t", ("a", "b"), there=True)] == [
        (WARN, "${EDITOR:-vi} /t"),
        (WARN, "${EDITOR:-vi} /t"),
    ]
    assert doctor.of_settings("/t", (), there=True) == (Finding(OK, "settings", "/t"),)
    absent = "/t is not there, so every default counts"
    assert doctor.of_settings("/t", (), there=False) == (Finding(OK, "settings", absent),)


@pytest.mark.parametrize(
    ("mount", "found", "level"),
    [
        (EXT4, folder(0o700), OK),
        (EXT4, Entry(), OK),
        (None, Entry(), OK),
        (EXT4._replace(kind="nfs4"), Entry(), WARN),
        (EXT4, Entry(mode=stat.S_IFREG | 0o600), FAULT),
        (EXT4, Entry(fault="Permission denied"), FAULT),
    ],
)
def test_state_root_when_found_so_then_this(mount: Mount | None, found: Entry, level: Level) -> None:
    assert doctor.of_state_root("/s", mount, found).level is level


def test_state_root_when_it_is_not_there_yet_then_says_that_it_is_made() -> None:
    assert doctor.of_state_root("/s", EXT4, folder(0o700)).fact == "/s"
    assert doctor.of_state_root("/s", EXT4, Entry()).fact == "/s (made when it is needed)"


def test_set_aside_when_its_file_cannot_be_read_then_that_alone_is_worth_a_line() -> None:
    assert doctor.of_set_aside("/s/aside", "") == ()
    found = Finding(WARN, "set aside", "Permission denied", "mv /s/aside /s/aside.aside")
    assert doctor.of_set_aside("/s/aside", "Permission denied") == (found,)


# -- the scripts, the boxes, the daemon -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "level", "words", "step"),
    [
        (Standing(Stand.INSTALLED, "/c/bin", "2.0"), OK, f"all {len(SCRIPTS)} in /c/bin, of 2.0", ""),
        (
            Standing(Stand.MISSING, "/c/bin"),
            WARN,
            "none in /c/bin, so a session that is told to run comm-poll.sh finds none",
            "sot-tui install",
        ),
        (
            Standing(Stand.INCOMPLETE, "/c/bin", "2.0", ("a", "b", "c")),
            WARN,
            "not there in /c/bin: a, b, c",
            "sot-tui install",
        ),
        (
            Standing(Stand.INCOMPLETE, "/c/bin", "2.0", ("a", "b", "c", "d")),
            WARN,
            "not there in /c/bin: a, b, c, …",
            "sot-tui install",
        ),
        (
            Standing(Stand.OTHER_VERSION, "/c/bin", "1.0", ("a",)),
            WARN,
            "another release wrote those in /c/bin: VERSION says '1.0'",
            "sot-tui install",
        ),
        (
            Standing(Stand.FOREIGN, "/c/bin", "", ("a",)),
            WARN,
            "another install's stand in /c/bin (a); there is no VERSION; ours would replace them",
            "sot-tui install --force",
        ),
        (Standing(Stand.UNREAD, "/c/bin", fault="no"), FAULT, "/c/bin: no", "ls -la /c/bin"),
    ],
)
def test_scripts_when_they_stand_so_then_this(found: Standing, level: Level, words: str, step: str) -> None:
    assert doctor.of_scripts(found) == Finding(level, "scripts", words, step)


BOXES = Topology("hub", {"hub": Box(daemon=True), "lab": Box(daemon=True), "desk": Box(frontend=True)})


@pytest.mark.parametrize(
    ("host", "found", "told"),
    [
        ("hub", BOXES, "the hub"),
        ("lab", BOXES, "a box of the hub hub"),
        ("desk", BOXES, "a frontend of the hub hub"),
        ("moon", BOXES, ""),
        ("hub", Unlisted("no hub"), ""),
        ("hub", None, "on its own: there is no list of boxes"),
    ],
)
def test_role_when_a_box_is_listed_or_not_then_in_words(
    host: str, found: Topology | Unlisted | None, told: str
) -> None:
    assert doctor.role(host, found) == told


def test_topology_when_it_can_be_used_or_not_then_this() -> None:
    edit = "${EDITOR:-vi} /t"
    assert doctor.of_topology("/t", "hub", Unlisted("no hub")) == (Finding(FAULT, "topology", "no hub", edit),)
    assert doctor.of_topology("/t", "moon", BOXES) == (
        Finding(FAULT, "topology", "/t does not list this box, moon", edit),
    )
    alone = "this box is on its own: there is no list of boxes"
    assert doctor.of_topology("/t", "hub", None) == (Finding(OK, "topology", alone),)
    assert doctor.of_topology("/t", "hub", BOXES._replace(warnings=("w",))) == (
        Finding(OK, "topology", "this box is the hub"),
        Finding(WARN, "topology", "/t: w", edit),
    )


def test_daemon_and_relay_when_they_are_found_or_not_then_this() -> None:
    assert doctor.of_daemon("/r/s", "", ("odd",)) == Finding(FAULT, "daemon", "odd", "unset SOT_SPAWN_ENDPOINT")
    assert doctor.of_daemon("/r/s", "unix:/r/s", ()) == Finding(OK, "daemon", "unix:/r/s")
    assert doctor.of_daemon("/r/s", "", ()).fact.startswith("none listens at /r/s; ")
    assert doctor.of_daemon("", "", ()).fact.startswith("none listens at any path; ")
    unset = "unset SOT_RELAY_ENDPOINT SOT_SPAWN_ENDPOINT"
    assert doctor.of_relay("", ("odd",)) == Finding(WARN, "relay", "odd", unset)
    assert doctor.of_relay("ssh:hub", ()) == Finding(OK, "relay", "ssh:hub")
    gone = doctor.of_relay("unix:/r/sot-relay.sock", (), "/r/sot-relay.sock", "hub")
    fact = "unix:/r/sot-relay.sock is not there: nothing carries the socket of hub to this box"
    step = "ssh -f -N -L /r/sot-relay.sock:$(ssh -- hub sotd session-socket-path sot) -- hub"
    assert gone == Finding(FAULT, "relay", fact, step)
    assert doctor.of_relay("", ()).fact == "the hub is this box, where no daemon listens"


# -- the notifier -----------------------------------------------------------------------------------------------------

PUSHES = Notifier(True, False, "daemon, pid 7", "", False, 0, "delivered", False)
CONFIGURED = "a sender is configured; served by the daemon, pid 7; last push: "
HELD_BACK = Notifier(False, False, "", "22:00-07:00", True, 2, "", False)
NO_SENDER = Finding(OK, "pushes", "no sender is configured, so nothing is pushed and no hook is served")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(PUSHES, [Finding(OK, "pushes", f"{CONFIGURED}delivered")], id="well"),
        pytest.param(PUSHES._replace(last=""), [Finding(OK, "pushes", f"{CONFIGURED}none")], id="none-yet"),
        pytest.param(
            PUSHES._replace(last="refused", last_failed=True),
            [Finding(WARN, "pushes", f"{CONFIGURED}refused", "sot-tui notify test")],
            id="failed",
        ),
        pytest.param(
            PUSHES._replace(served_by="", last=""),
            [
                Finding(
                    OK, "pushes", "a sender is configured; each hook sends by itself: nothing serves; last push: none"
                )
            ],
            id="not-served",
        ),
        pytest.param(
            PUSHES._replace(disabled=True),
            [Finding(OK, "pushes", "switched off by $STEWARD_NTFY_DISABLED")],
            id="switched-off",
        ),
        pytest.param(PUSHES._replace(sender=False), [NO_SENDER], id="no-sender"),
        pytest.param(
            HELD_BACK, [NO_SENDER, Finding(OK, "quiet hours", "22:00-07:00, now; 2 held back")], id="quiet-now"
        ),
        pytest.param(
            HELD_BACK._replace(quiet_now=False, held=0),
            [NO_SENDER, Finding(OK, "quiet hours", "22:00-07:00; 0 held back")],
            id="quiet-later",
        ),
        pytest.param(
            HELD_BACK._replace(quiet="", quiet_now=False, held=1),
            [NO_SENDER, Finding(OK, "quiet hours", "none; 1 held back")],
            id="held-of-earlier-hours",
        ),
        pytest.param(
            HELD_BACK._replace(held=None),
            [NO_SENDER, Finding(WARN, "quiet hours", "what is held back cannot be read", "sot-tui info")],
            id="unreadable",
        ),
    ],
)
def test_notifier_when_pushes_stand_so_then_this(found: Notifier, expected: list[Finding]) -> None:
    assert list(doctor.of_notifier(found)) == expected


KEEPS = "; it keeps what it was started with"
ANOTHER = "sends to another topic, or with another token, than this environment names"
BY_HAND = Unlike(7, "daemon", managed=False, sends=True, same=False, settings="")


@pytest.mark.parametrize(
    ("found", "here", "level", "fact", "step"),
    [
        pytest.param(BY_HAND, True, WARN, f"the daemon of pid 7 {ANOTHER}{KEEPS}", "kill 7 && sot-tui", id="another"),
        pytest.param(
            BY_HAND,
            False,
            OK,
            f"the daemon of pid 7 has a sender, and this environment names none{KEEPS}",
            "",
            id="only-there",
        ),
        pytest.param(
            BY_HAND._replace(what="notifyd", sends=False),
            True,
            WARN,
            f"the notifyd of pid 7 has no sender, and this environment names one{KEEPS}",
            "kill 7 && sot-tui notifyd",
            id="only-here",
        ),
        pytest.param(
            BY_HAND._replace(what="dashboard", same=True, settings="/o.toml"),
            False,
            WARN,
            f"the dashboard of pid 7 reads its quiet hours in /o.toml{KEEPS}, until you close it (q) and open it anew",
            "sot-tui",
            id="other-settings",
        ),
        pytest.param(
            BY_HAND._replace(managed=True, settings="/o.toml"),
            True,
            WARN,
            f"the daemon of pid 7 {ANOTHER} and reads its quiet hours in /o.toml{KEEPS}",
            "sot-tui service install && systemctl --user daemon-reload && systemctl --user restart sotd.service",
            id="both-of-a-service",
        ),
    ],
)
def test_process_when_it_began_with_another_environment_then_what_differs_and_how_it_begins_anew(
    found: Unlike, *, here: bool, level: Level, fact: str, step: str
) -> None:
    assert doctor.of_unlike(found, here=here) == Finding(level, "pushes", fact, step)


# -- the agents -------------------------------------------------------------------------------------------------------

HOOKS = Hooks("claude", "/h/.claude/settings.json", here=True, total=6)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(HOOKS, (OK, ""), id="all"),
        pytest.param(HOOKS._replace(missing=6), (WARN, "sot-tui hooks install --agent claude"), id="none"),
        pytest.param(HOOKS._replace(missing=1), (WARN, "sot-tui hooks install --agent claude"), id="some"),
        pytest.param(HOOKS._replace(fault="x"), (FAULT, "${EDITOR:-vi} /h/.claude/settings.json"), id="unreadable"),
        pytest.param(HOOKS._replace(here=False, missing=6), (OK, ""), id="no-such-agent-here"),
    ],
)
def test_hooks_when_they_stand_so_then_this(found: Hooks, expected: tuple[Level, str]) -> None:
    assert of(doctor.of_hooks(found)) == expected


@pytest.mark.parametrize(("missing", "stand"), [(6, "none of 6"), (5, "only 1 of 6"), (1, "only 5 of 6")])
def test_hooks_when_some_are_missing_then_says_how_many_stand(missing: int, stand: str) -> None:
    assert doctor.of_hooks(HOOKS._replace(missing=missing)).fact.startswith(f"{stand} stand in ")


# -- the terminal -----------------------------------------------------------------------------------------------------

GOOD = Terminal(there=True, term="xterm-256color", true_colour=True, utf8=True, size=(120, 40))


@pytest.mark.parametrize(
    ("seen", "ascii_signs", "bad"),
    [
        pytest.param(GOOD, False, {}, id="well"),
        pytest.param(Terminal(there=False), False, {}, id="none"),
        pytest.param(GOOD._replace(term="dumb"), False, {"terminal": FAULT}, id="dumb"),
        pytest.param(GOOD._replace(term=""), False, {"terminal": FAULT}, id="no-term"),
        pytest.param(GOOD._replace(utf8=False), False, {"signs": WARN}, id="no-utf8"),
        pytest.param(GOOD._replace(utf8=False), True, {}, id="no-utf8-but-ascii"),
        pytest.param(GOOD._replace(size=(49, 40)), False, {"size": WARN}, id="too-narrow"),
        pytest.param(GOOD._replace(size=(120, 15)), False, {"size": WARN}, id="too-low"),
        pytest.param(GOOD._replace(size=(50, 20)), False, {}, id="narrow"),
        pytest.param(GOOD._replace(size=None), False, {"size": WARN}, id="unknown-size"),
        pytest.param(GOOD._replace(clipboard="on"), False, {}, id="tmux-copies"),
        pytest.param(GOOD._replace(clipboard="external"), False, {"clipboard": WARN}, id="tmux-drops-copies"),
        pytest.param(GOOD._replace(clipboard="off"), False, {"clipboard": WARN}, id="tmux-copies-nothing"),
    ],
)
def test_terminal_when_it_can_do_so_much_then_this(seen: Terminal, ascii_signs: bool, bad: dict[str, Level]) -> None:
    found = doctor.of_terminal(seen, ascii_signs=ascii_signs)
    assert {one.what: one.level for one in found if one.level is not OK} == bad
    assert all(bool(one.step) is (one.level is not OK) for one in found)


@pytest.mark.parametrize(
    ("size", "level", "words"),
    [
        ((50, 15), WARN, "50x15 has too little room"),
        ((49, 16), WARN, "49x16 has too little room"),
        ((50, 16), OK, "50x16: the narrow layout"),
        ((79, 24), OK, "79x24: the narrow layout"),
        ((80, 23), OK, "80x23: the narrow layout"),
        ((80, 24), OK, "80x24"),
    ],
)
def test_size_when_just_at_or_below_a_bound_then_so_much_room(size: tuple[int, int], level: Level, words: str) -> None:
    found = doctor.of_terminal(GOOD._replace(size=size), ascii_signs=False)[-1]
    assert (found.level, found.fact.startswith(words), "layout" in found.fact) == (level, True, "layout" in words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "16 million"),
        ({"true_colour": False}, "256"),
        ({"true_colour": False, "term": "xterm"}, "16: shapes and words say the same"),
        ({"no_colour": True}, "none, as NO_COLOR asks: shapes and words say the same"),
    ],
)
def test_colours_when_the_terminal_says_so_then_so_many(changes: dict[str, object], words: str) -> None:
    found = doctor.of_terminal(GOOD._replace(**changes), ascii_signs=False)  # type: ignore[arg-type]  # names fields
    assert next(one.fact for one in found if one.what == "colours") == words
