"""Who a process is: its project, its self file, and the handle it may act as."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import identity, names
from sot_tui.comm.errors import Misuse, Refused, Unreadable
from sot_tui.comm.identity import Binding, Pin
from tests.sessions import Above, Session

if TYPE_CHECKING:
    from collections.abc import Callable


STALE = "2026-01-02T02:00:00Z"
"""A stamp over an hour before the time of a made-up session."""


@pytest.fixture
def session(comm_home: Path) -> Session:
    return Session(comm_home.parent)


# -- the project ------------------------------------------------------------------------------------------------------


def project(session: Session, cwd: Path, said: Path | str = "") -> tuple[str, str]:
    found = identity.project_of(session.home, {"PWD": str(said)}, str(cwd))
    return found.root, found.repo


def git(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def test_project_when_in_a_work_tree_then_its_top_folder(session: Session) -> None:
    top = git(session.folder / "repo")
    (top / "sub" / "deep").mkdir(parents=True)
    assert project(session, top / "sub" / "deep") == (str(top), "repo")


def test_project_when_in_an_added_work_tree_then_the_file_that_stands_for_git_counts(session: Session) -> None:
    top = session.folder / "repo-wt-x"
    (top / "sub").mkdir(parents=True)
    (top / ".git").write_text("gitdir: /elsewhere/.git/worktrees/x\n")
    assert project(session, top / "sub") == (str(top), "repo-wt-x")


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.mkdir(),
        lambda path: path.write_text("not what git writes\n"),
        lambda path: path.symlink_to("/nowhere"),
        os.mkfifo,
    ],
    ids=["empty folder", "other file", "dead link", "pipe"],
)
def test_project_when_git_did_not_make_what_is_called_git_then_it_is_passed_over(
    session: Session, make: Callable[[Path], object]
) -> None:
    top = git(session.folder / "repo")
    below = top / "sub"
    below.mkdir()
    make(below / ".git")
    assert project(session, below) == (str(top), "repo")


def test_project_when_in_no_work_tree_then_the_folder_itself(session: Session) -> None:
    assert project(session, session.cwd) == (str(session.cwd), "alpha")


def test_project_when_reached_by_a_link_then_only_the_name_is_the_links(session: Session) -> None:
    link = session.folder / "link"
    link.symlink_to(session.cwd)
    assert project(session, link, link) == (str(session.cwd), "link")
    assert project(session, link, f"{link}/") == (str(session.cwd), "link")
    assert project(session, link) == (str(session.cwd), "alpha")


@pytest.mark.parametrize("said", ["relative", "/", "/nowhere/at/all", "\n"])
def test_project_when_the_shell_says_another_folder_then_it_is_not_believed(session: Session, said: str) -> None:
    assert project(session, session.cwd, said) == (str(session.cwd), "alpha")


def test_project_when_its_path_is_no_utf8_then_text_stands_for_it(session: Session) -> None:
    odd = os.fsdecode(os.fsencode(session.folder) + b"/odd\xff")
    os.mkdir(odd)
    found = identity.project_of(session.home, {}, odd)
    assert found.folder == odd
    assert (found.root, found.repo) == (f"{session.folder}/odd\ufffd", "odd\ufffd")


def test_project_when_it_is_the_top_folder_then_it_has_a_name(session: Session) -> None:
    assert project(session, Path("/"))[0] == "/"
    assert identity.make_project("/").repo == "/"


# -- the self file ----------------------------------------------------------------------------------------------------


def test_self_file_when_none_is_there_then_no_handle_and_the_home_is_made(session: Session) -> None:
    here = session.who_am_i()
    assert (here.name, here.notes, here.self_file.present) == ("", (), False)
    assert here.self_file.path == str(session.slot)
    assert stat.S_IMODE(os.stat(session.home.path).st_mode) == 0o700
    assert sorted(os.listdir(session.home.path)) == ["inbox", "read", "registry.json", "self"]


def test_self_file_when_it_names_this_project_then_its_handle_holds(session: Session) -> None:
    session.claims("h\nrepo=alpha\nroot={root}\n").book({"h": None})
    assert session.who_am_i().name == "h"


@pytest.mark.parametrize("handle", ["../x", "..", ".", "a b", "x" * 65, "a\x1b[2J", "h\r"])
def test_self_file_when_its_handle_is_none_then_it_is_discarded_and_named(session: Session, handle: str) -> None:
    session.claims(f"{handle}\nrepo=alpha\nroot={{root}}\n").book({})
    here = session.who_am_i()
    assert here.name == ""
    assert "names no valid handle" in here.notes[0]


def test_self_file_when_a_later_line_says_otherwise_then_the_first_counts(session: Session) -> None:
    session.claims("h\nrepo=alpha\nroot={root}\nroot=/elsewhere\nrepo=x\n").book({"h": None})
    assert session.who_am_i().name == "h"


@pytest.mark.parametrize("kind", ["folder", "pipe", "link to itself"])
def test_self_file_when_it_cannot_be_read_then_it_is_not_taken_for_absent(session: Session, kind: str) -> None:
    session.slot.parent.mkdir(parents=True)
    if kind == "folder":
        session.slot.mkdir()
    elif kind == "pipe":
        os.mkfifo(session.slot)
    else:
        session.slot.symlink_to(session.slot)
    with pytest.raises(Unreadable, match="could not be read, so this session's identity is unknown"):
        session.who_am_i()


def test_self_file_when_an_older_version_named_it_by_the_raw_host_then_it_is_read_if_it_names_this_project(
    session: Session,
) -> None:
    """Contract: "Raw host text is a derived-handle component and validated legacy-slot input only"."""
    older = Path(session.home.selves) / "Box-A__nopane.txt"
    session.claims("h\nrepo=alpha\nroot={root}\n", older).book({"h": None})
    here = session.who_am_i()
    assert (here.name, here.self_file.path, here.self_file.older) == ("h", str(session.slot), str(older))
    session.claims("h\nrepo=alpha\nroot=/elsewhere\n", older)
    assert (session.who_am_i().name, session.who_am_i().notes) == ("", ())
    session.claims("h\nrepo=alpha\n", older)
    assert session.who_am_i().name == ""


def test_self_file_when_read_from_an_older_slot_then_a_join_moves_it(session: Session) -> None:
    older = Path(session.home.selves) / "Box-A__nopane.txt"
    session.claims("h\nrepo=alpha\nroot={root}\n", older).book({"h": None})
    assert session.joined().handle == "h"
    assert session.slot.exists()
    assert not older.exists()


@pytest.mark.parametrize("row", ["a/b", "..", "a b", "\n"])
def test_row_when_the_variable_is_no_row_id_then_it_is_misuse(session: Session, row: str) -> None:
    session.environ["SOT_WORKSPACE_ID"] = row
    with pytest.raises(Misuse, match="SOT_WORKSPACE_ID"):
        session.who_am_i()
    assert not Path(session.home.path).exists()


@pytest.mark.parametrize(
    ("file", "row"),
    [
        ("mine.txt", ""),
        ("box-a__nopane.txt", ""),
        ("box-a__ws-1.txt", "ws-1"),
        ("other__ws-1.txt", "ws-1"),
        ("box-a__ws-a__b-1.txt", "ws-a__b-1"),
        ("box-a__ws-1", ""),
    ],
)
def test_row_when_a_self_file_is_pinned_then_its_name_alone_says_which(session: Session, file: str, row: str) -> None:
    """Contract: an id exported over a private self file names no row."""
    session.in_row(row or "ws-9").environ["SOT_COMM_SELF_FILE"] = str(session.folder / file)
    here = session.who_am_i()
    assert (here.row, here.refusal) == (row, None)


def test_self_file_when_pinned_by_a_relative_path_then_it_lies_below_the_working_folder(session: Session) -> None:
    session.environ["SOT_COMM_SELF_FILE"] = "mine.txt"
    assert session.who_am_i().self_file.path == f"{session.cwd}/mine.txt"


def test_self_file_when_written_then_it_is_private_and_leaves_nothing_beside_it(session: Session) -> None:
    session.who_am_i()
    identity.write_self_file(session.home, str(session.slot), "h", identity.make_project("/p/alpha"))
    assert session.slot.read_text() == "h\nrepo=alpha\nroot=/p/alpha\n"
    assert stat.S_IMODE(session.slot.stat().st_mode) == 0o600
    assert os.listdir(session.home.selves) == [session.slot.name]


def test_self_file_when_a_dead_process_left_a_temp_file_of_the_same_name_then_it_is_no_hindrance(
    session: Session,
) -> None:
    session.who_am_i()
    taken = session.home.procs.serial() + 1
    left = Path(f"{session.slot}.tmp.{session.home.procs.pid()}.{taken}")
    left.write_text("x")
    identity.write_self_file(session.home, str(session.slot), "h", identity.make_project("/p/alpha"))
    assert session.slot.read_text().startswith("h\n")
    assert not left.exists()


@pytest.mark.parametrize("step", ["write", "flush", "rename"])
def test_self_file_when_a_step_of_its_writing_fails_then_the_old_one_stands_alone(session: Session, step: str) -> None:
    class Failing(Above):
        def __getattribute__(self, name: str) -> object:
            if name == step:
                raise OSError(28, "No space left on device")
            return super().__getattribute__(name)

    session.claims("old\n").who_am_i()
    home = session.home._replace(disk=Failing())
    with pytest.raises(OSError, match="No space left"):
        identity.write_self_file(home, str(session.slot), "h", identity.make_project("/p/alpha"))
    assert session.slot.read_text() == "old\n"
    assert os.listdir(session.home.selves) == [session.slot.name]


# -- the handle and the rows ------------------------------------------------------------------------------------------


def test_binding_when_asked_then_one_of_four_answers(session: Session) -> None:
    session.book({"h": session.entry(workspace_id="ws-1"), "free": None, "odd": session.entry(workspace_id=7), "x": 3})
    book = session.claims("x\nrepo=alpha\nroot={root}\n").who_am_i().book
    assert identity.row_binding(book, "h", "ws-1") == (Binding.OWNER, "ws-1")
    assert identity.row_binding(book, "h", "ws-2") == (Binding.OTHER, "ws-1")
    assert identity.row_binding(book, "h", "") == (Binding.OTHER, "ws-1")
    for handle in ("free", "odd", "x", "nobody"):
        assert identity.row_binding(book, handle, "") == (Binding.UNBOUND, "")
    unread = session.registry("broken").who_am_i().book
    assert identity.row_binding(unread, "h", "ws-1") == (Binding.UNREADABLE, "")


def test_handle_when_its_own_row_holds_it_then_it_holds(session: Session) -> None:
    session.in_row("ws-1").claims("h\nrepo=alpha\nroot={root}\n").book({"h": session.entry(workspace_id="ws-1")})
    here = session.who_am_i()
    assert (here.name, here.row, here.notes) == ("h", "ws-1", ())


def test_handle_when_the_registry_is_unreadable_then_it_is_kept_unverified(session: Session) -> None:
    session.claims("h\nrepo=alpha\nroot={root}\n").registry("")
    here = session.who_am_i()
    assert here.name == "h"
    assert "is unverified; nothing was sent" in (identity.sender_fault(here) or "")


def test_process_when_refused_then_nothing_is_made(session: Session) -> None:
    here = session.under(["codex"], ["bash"], ["claude"]).who_am_i()
    assert here.refusal
    assert not Path(session.home.path).exists()


def test_pin_when_the_program_states_its_own_identity_then_variables_do_not_count(session: Session) -> None:
    session.environ.update(SOT_COMM_SELF_FILE="/nowhere/box-a__ws-1.txt", SOT_WORKSPACE_ID="ws-1")
    pin = Pin(f"{session.home.selves}/operator-my__box.txt", identity.make_project(session.home.path))
    outcome = session.joined("operator-box-a", pin=pin)
    assert outcome.handle == "operator-box-a"
    assert session.agents()["operator-box-a"]["workspace_id"] == ""
    assert session.agents()["operator-box-a"]["root"] == session.home.path
    assert session.who_am_i(pin).name == "operator-box-a"


def test_home_when_it_cannot_be_made_then_one_sentence_says_so(session: Session) -> None:
    Path(session.home.path).write_text("a file")
    with pytest.raises(Unreadable, match=r"the comm home .* cannot be used: Not a directory"):
        session.who_am_i()
    assert Path(session.home.path).read_text() == "a file"


def test_working_folder_when_it_is_gone_then_it_is_refused(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = session.folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(Refused, match="the working folder is gone"):
        identity.working_folder()


# -- joining ----------------------------------------------------------------------------------------------------------


def test_join_when_nothing_is_there_then_entry_self_file_and_inbox(session: Session) -> None:
    outcome = session.joined()
    assert (outcome.handle, outcome.others, outcome.notes) == ("alpha-Box-A", (), ())
    assert session.agents() == {"alpha-Box-A": session.entry()}
    assert session.slot.read_text() == f"alpha-Box-A\nrepo=alpha\nroot={session.cwd}\n"
    assert Path(outcome.inbox).read_bytes() == b""
    assert stat.S_IMODE(Path(outcome.inbox).stat().st_mode) == 0o600


def test_join_when_an_inbox_is_there_then_its_lines_stay(session: Session) -> None:
    session.who_am_i()
    Path(session.home.inbox("alpha-Box-A")).write_text("{}\n")
    assert Path(session.joined().inbox).read_text() == "{}\n"


def test_join_when_the_self_files_handle_has_come_to_another_project_then_it_is_stepped_past(session: Session) -> None:
    session.claims("h\nrepo=alpha\nroot={root}\n").book({"h": session.entry(root="/elsewhere", last_seen=STALE)})
    outcome = session.joined()
    assert outcome.handle == "alpha-Box-A"
    assert not outcome.stranded
    assert outcome.notes == ("comm: '@h' is already held by /elsewhere — joining as '@alpha-Box-A' instead",)


def test_join_when_two_tiers_are_anothers_then_the_third_is_taken_and_the_first_named(session: Session) -> None:
    other = session.entry(root="/elsewhere {x}", last_seen=STALE)
    session.book({"alpha-Box-A": other, "alpha-work-Box-A": other})
    outcome = session.joined()
    third = names.derived(str(session.cwd), "Box-A", 3)
    assert outcome.handle == third
    assert outcome.notes == (
        f"comm: '@alpha-Box-A' is already held by /elsewhere {{x}} — joining as '@{third}' instead",
    )


@pytest.mark.parametrize("root", ["/elsewhere", ""])
def test_join_when_what_it_steps_past_is_live_then_it_warns_how_to_take_it_back(session: Session, root: str) -> None:
    """A live handle that only looks like another project's may be this session's own, and its mail would go there."""
    session.book({"alpha-Box-A": session.entry(root=root)})
    outcome = session.joined()
    assert outcome.handle == "alpha-work-Box-A"
    assert outcome.stranded
    assert outcome.notes[1] == (
        "comm-join.sh: WARNING — @alpha-Box-A is live, so what is sent to it does not come here. If it was this "
        "session's own and nobody else's, take it back: comm-leave.sh --name alpha-work-Box-A, then comm-join.sh "
        "--name alpha-Box-A"
    )


def test_join_when_it_steps_past_a_rows_handle_then_there_is_no_stranding_warning(session: Session) -> None:
    """Contract: it "steps past a held tier to the session's own, with one line, ..., no stranding warning and no
    MISMATCH".
    """
    session.book({"alpha-Box-A": session.entry(workspace_id="ws-1"), "alpha-work-Box-A": session.entry(root="/x")})
    outcome = session.joined()
    assert not outcome.stranded
    assert len(outcome.notes) == 1


def test_join_when_every_tier_is_anothers_then_it_fails_and_takes_none(session: Session) -> None:
    tiers = [names.derived(str(session.cwd), "Box-A", tier) for tier in (1, 2, 3)]
    session.book({tier: session.entry(root="/elsewhere") for tier in tiers})
    assert "give one with --name" in session.refused().notes[-1]
    assert not session.slot.exists()


def test_join_when_a_row_then_it_takes_its_handle_back_from_another_row(session: Session) -> None:
    """Contract: a respawned row, or one that a newer row's join displaced, takes the handle back."""
    session.in_row("ws-2").claims("h\nrepo=alpha\nroot={root}\n").book({"h": session.entry(workspace_id="ws-1")})
    assert session.who_am_i().name == ""
    outcome = session.joined()
    assert outcome.handle == "h"
    assert session.agents()["h"]["workspace_id"] == "ws-2"


@pytest.mark.parametrize("name", ["a b", "..", "x" * 65, "é", "a/b", "-\n"])
def test_join_when_the_handle_is_none_then_it_is_a_wrong_word_and_nothing_is_written(
    session: Session, name: str
) -> None:
    outcome = session.refused(name)
    assert outcome.code == 2
    assert "not a handle: " in outcome.notes[-1]
    assert not session.slot.exists()


def test_join_when_the_projects_path_holds_a_line_break_then_it_is_refused(comm_home: Path) -> None:
    session = Session(comm_home.parent, "work/alpha\nroot=/elsewhere")
    outcome = session.refused()
    assert "holds a line break" in outcome.notes[-1]
    assert session.agents() == {}


def test_join_when_the_self_file_cannot_be_written_then_it_says_what_stands(session: Session) -> None:
    session.environ["SOT_COMM_SELF_FILE"] = "/nowhere/at/all.txt"
    outcome = session.join()
    assert outcome.notes[-1].startswith("FAILED: @alpha-Box-A stands in the registry, but its inbox or self file")


def test_join_when_the_registry_names_no_version_then_the_mismatch_is_loud(session: Session) -> None:
    session.registry('{"agents":{}}')
    assert session.joined().notes == (
        "WARNING: registry protocol vnull != client v1 — run ShipTools.update_comm() on all machines",
    )


# -- self files of older forms ----------------------------------------------------------------------------------------


def test_older_self_file_when_the_registry_has_this_root_then_it_is_completed_and_says_so(session: Session) -> None:
    session.claims("h\nrepo=alpha\n").book({"h": None})
    here = session.who_am_i()
    assert (here.name, here.self_file.root) == ("h", str(session.cwd))
    assert here.notes[-1].startswith("comm-context: self-healed legacy self-file for 'h' ")
    assert session.slot.read_text() == f"h\nrepo=alpha\nroot={session.cwd}\n"
    assert session.who_am_i().notes == ()


@pytest.mark.parametrize(
    ("claim", "root", "why"),
    [
        ("h\nrepo=alpha\n", "/elsewhere", "the registry's own root for it ('/elsewhere') doesn't match"),
        ("h\nrepo=beta\n", None, "was claimed for repo 'beta' but this is 'alpha'"),
        ("h\n", "", "is the ancient one-line format"),
        ("h\nrepo=alpha\n", "", "is in the SHARED nopane slot"),
    ],
)
def test_older_self_file_when_nothing_else_shows_whose_it_is_then_it_is_discarded(
    session: Session, claim: str, root: str | None, why: str
) -> None:
    session.claims(claim).book({"h": session.entry(**({} if root is None else {"root": root}))})
    here = session.who_am_i()
    assert (here.name, why in here.notes[-1]) == ("", True)
    assert session.slot.read_text() == claim


def test_older_self_file_when_the_registry_cannot_be_read_then_it_is_discarded(session: Session) -> None:
    session.claims("h\nrepo=alpha\n").registry("no registry")
    here = session.who_am_i()
    assert (here.name, "could not read/parse the sot-comm registry" in here.notes[-1]) == ("", True)


def test_older_self_file_when_it_is_the_sessions_own_then_its_repo_is_believed(session: Session) -> None:
    session.in_row("ws-1").claims("h\nrepo=alpha\n").book({"h": session.entry(root="", workspace_id="ws-1")})
    assert session.who_am_i().name == "h"
    assert session.slot.read_text() == f"h\nrepo=alpha\nroot={session.cwd}\n"


def test_older_self_file_when_the_root_holds_a_line_break_then_it_is_believed_and_left_as_it_is(
    comm_home: Path,
) -> None:
    """A root of two lines would be another root when it is read again."""
    session = Session(comm_home.parent, "wo\nrk/alpha")
    session.claims("h\nrepo=alpha\n").book({"h": None})
    here = session.who_am_i()
    assert (here.name, here.notes) == ("h", ())
    assert session.slot.read_text() == "h\nrepo=alpha\n"


@pytest.mark.parametrize(
    ("handle", "repo", "root", "another"),
    [
        ("", "beta", "/b", False),
        ("h", "alpha", "/a", False),
        ("h", "beta", "/a", False),
        ("h", "alpha", "/b", True),
        ("h", "alpha", "", False),
        ("h", "beta", "", True),
        ("h", "", "", False),
    ],
)
def test_slot_when_it_names_a_root_then_that_decides_whose_it_is_and_its_repo_otherwise(
    handle: str, repo: str, root: str, *, another: bool
) -> None:
    slot = identity.SelfFile("/s", "", shared=False, pinned=False, present=True, handle=handle, repo=repo, root=root)
    assert slot.is_of_another(identity.Project("/a", "/a", "alpha")) is another


@pytest.mark.parametrize("named", [True, False])
def test_self_file_when_it_cannot_be_read_then_the_systems_word_and_the_file_if_it_names_one(
    session: Session, *, named: bool
) -> None:
    class Broken(Above):
        def open(self, path: str, flags: int) -> int:
            if path == str(session.slot):
                raise OSError(5, "Input/output error", path) if named else OSError(5, "Input/output error")
            return super().open(path, flags)

    session.home = session.home._replace(disk=Broken())
    with pytest.raises(Unreadable) as caught:
        session.who_am_i()
    assert str(caught.value).endswith(f": Input/output error{f' ({session.slot})' if named else ''}")
