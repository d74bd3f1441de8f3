"""Spawning, despawning, probing and notices: what is asked of the daemon, and what is refused before it is asked.

Contract, Naming, Cases and registry.json, against a scripted peer.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui import cli
from sot_tui.comm import probing, spawning
from sot_tui.comm.errors import Misuse
from sot_tui.comm.spawning import Done, Failed, Wish
from tests.peer import Peer
from tests.seams import JumpingClock
from tests.sessions import NOW, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = {"daemon": {"app_version": "0.6.6", "protocol": 3, "host": "box-a"}, "clients": [], "disconnected": []}
GONE = "FAILED: the registry could not be read; nothing was "


class Daemon(Peer):
    """A daemon that keeps rows: one that is made is starting at the next look, then ready."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.rows: list[dict[str, Any]] = []
        self.phases = ["starting", "ready"]
        self.answers = {
            "version.query": VERSION,
            "workspace.list": self._list,
            "workspace.create": self._create,
            "workspace.destroy": self._destroy,
            "pty.input": {"ok": True, "runtime": "capsule", "bytes": 2, "enter": "sent"},
        }

    def has(self, root: object, **more: object) -> dict[str, Any]:
        row = {"workspace_id": "ws-a-1", "slug": "a", "label": "A", "project_root": str(root), "phase": "ready", **more}
        self.rows.append(row)
        return row

    def asks(self, op: str) -> list[Any]:
        return [said for asked, said in self.asked if asked == op]

    def _list(self, said: object) -> object:
        del said
        answer = json.loads(json.dumps({"workspaces": self.rows}))
        for row in self.rows:
            row["phase"] = self.phases.pop(0) if self.phases and row["phase"] != "ready" else row["phase"]
        return answer

    def _create(self, said: Any) -> object:
        self.has(said["project_root"], label=said["label"], agent_name=said["agent_name"], phase=self.phases.pop(0))
        return {"workspace_id": "ws-a-1", "slug": "a", "label": said["label"], "project_root": said["project_root"]}

    def _destroy(self, said: Any) -> object:
        return {"workspace_id": said["workspace_id"], "slug": "a", "label": "A", "toml_removed": True}


@pytest.fixture
def session(_away_from_home: Path) -> Session:
    """Have a session that is joined as @me."""
    found = Session(_away_from_home / "s").claims("me\nrepo=alpha\nroot={root}\n")
    found.home = found.home._replace(clock=JumpingClock(NOW))
    return found.book({"me": None})


@pytest.fixture
def daemon(session: Session) -> Iterator[Daemon]:
    with Daemon(session.folder / "d.sock") as found:
        session.environ["SOT_SOCKET"] = str(found.path)
        yield found


@pytest.fixture
def docs(session: Session) -> Path:
    """Have another project, to make rows for."""
    folder = session.folder / "src" / "Docs"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").touch()
    return folder


def spawn(session: Session, folder: Path, **wish: Any) -> Done | Failed:
    return spawning.spawn(session.home, session.environ, session.who_am_i(), Wish(str(folder), **wish))


def despawn(session: Session, target: str) -> Done | Failed:
    return spawning.despawn(session.home, session.environ, session.who_am_i(), target)


def probe(session: Session, name: str, line: str = "") -> Done | Failed:
    return probing.probe(session.home, session.environ, session.who_am_i(), name, line)


# -- spawn ------------------------------------------------------------------------------------------------------------


def test_spawn_when_all_is_well_then_the_row_is_made_waited_for_and_written_down(
    session: Session, daemon: Daemon, docs: Path
) -> None:
    """ "Workspace label: repo basename"; `status` is the lifecycle, idle or spawning."""
    outcome = spawn(session, docs, task="the API pages", account="work")
    assert outcome == Done(f"Spawned @Docs-Box-A (row ws-a-1, 'Docs') at {docs}.")
    assert list(daemon.asks("workspace.create")[-1].items()) == [
        ("label", "Docs"),
        ("project_root", str(docs)),
        ("autostart_claude", True),
        ("agent", "claude"),
        ("agent_name", "Docs-Box-A"),
        ("task", "the API pages"),
        ("account", "work"),
        ("boot", True),
    ]
    assert session.agents()["Docs-Box-A"] == {
        "host": "box-a",
        "workspace_id": "ws-a-1",
        "repo": "Docs",
        "root": str(docs),
        "expertise": [],
        "status": "spawning",
        "joined": "2026-01-02T03:04:05Z",
        "last_seen": "",
    }
    assert daemon.ops() == ["version.query", "workspace.list", "workspace.create", *["workspace.list"] * 2]
    assert isinstance(session.home.clock, JumpingClock)
    assert session.home.clock.slept == [1.0]


def held_by_another_box(session: Session) -> None:
    """Let a process that nobody here can prove dead hold the registry lock."""
    Path(session.home.lock).write_text("far:m2:b2:1:77:88\n")


def waited(session: Session) -> float:
    assert isinstance(session.home.clock, JumpingClock)
    return sum(session.home.clock.slept)


def test_spawn_when_it_is_done_then_the_spawner_is_seen(session: Session, daemon: Daemon, docs: Path) -> None:
    """The best-effort last_seen touch of a spawn."""
    session.book({"me": session.entry(last_seen="2020-01-01T00:00:00Z")})
    daemon.phases = ["ready"]
    assert isinstance(spawn(session, docs), Done)
    assert session.agents()["me"]["last_seen"] == "2026-01-02T03:04:05Z"


def test_rows_when_the_registry_lock_is_held_then_ten_seconds_and_one_for_the_touch(
    session: Session, daemon: Daemon, docs: Path
) -> None:
    """ "10 s for join, leave, spawn, despawn, status ...; about 1 s for the best-effort last_seen touches of send, poll
    and spawn"."""
    daemon.phases = ["ready"]
    held_by_another_box(session)
    spawned = spawn(session, docs)
    assert isinstance(spawned, Done)
    assert len(spawned.notes) == 1
    assert spawned.notes[0].startswith("ERROR: registry lock ")
    assert waited(session) == pytest.approx(11.0, abs=0.2)
    ended = despawn(session, "@Docs-Box-A")
    assert isinstance(ended, Failed)
    assert ended.sentence.startswith("@Docs-Box-A (row ws-a-1) has ended, but its entry stays. ERROR: registry lock ")
    assert waited(session) == pytest.approx(21.0, abs=0.3)


def test_spawn_when_in_a_folder_below_then_the_row_is_the_project_s(
    session: Session, daemon: Daemon, docs: Path
) -> None:
    (docs / "deep").mkdir()
    assert isinstance(spawn(session, docs / "deep", agent="codex", label="docs"), Done)
    said = daemon.asks("workspace.create")[0]
    assert (said["project_root"], said["label"], said["agent"], said["autostart_claude"]) == (
        str(docs), "docs", "codex", False,
    )  # fmt: skip


@pytest.mark.parametrize("label", ["fix-login", "Docs-fix-login", "docs2", "-"])
def test_spawn_when_the_label_is_a_task_s_then_refused(
    session: Session, daemon: Daemon, docs: Path, label: str
) -> None:
    """ "comm-spawn.sh refuses a task-named workspace label."."""
    assert spawn(session, docs, label=label) == Failed(
        f"comm-spawn.sh: REFUSING the label '{label}': a row is named after its repository ('Docs'), never after its "
        "task; say the task with --task"
    )
    assert not daemon.asked


@pytest.mark.parametrize("link", [False, True])
def test_spawn_when_the_root_has_a_workspace_then_refused(
    session: Session, daemon: Daemon, docs: Path, link: bool
) -> None:
    """ "comm-spawn.sh refuses a root that already has a workspace": the second session works in a worktree."""
    other = session.folder / "link"
    other.symlink_to(docs)
    daemon.has(other if link else docs, label="Docs", agent_handle="Docs-Box-A")
    assert spawn(session, docs) == Failed(
        f"comm-spawn.sh: REFUSING: {docs} already has the workspace 'Docs' (row ws-a-1, @Docs-Box-A); a second session "
        "on one repository works in a worktree: comm-worktree-new.sh"
    )
    assert not daemon.asks("workspace.create")


def test_spawn_when_the_handle_has_a_registry_row_then_it_is_never_reused(
    session: Session, daemon: Daemon, docs: Path
) -> None:
    """ "Never reuse a handle that has a registry row, even a stale-looking one"."""
    session.book({"me": None, "Docs-Box-A": session.entry(root=str(docs), last_seen="")})
    for name, wanted in (("Docs-Box-A", ""), ("me", "me")):
        assert spawn(session, docs, name=wanted) == Failed(
            f"comm-spawn.sh: REFUSING: @{name} has a registry row, and its owner may be alive; nothing was spawned. "
            f"If it is an orphan: comm-leave.sh --name {name}"
        )
    assert not daemon.asks("workspace.create")


def test_spawn_when_another_project_has_the_first_tier_then_the_second(
    session: Session, daemon: Daemon, docs: Path
) -> None:
    session.book({"me": None, "Docs-Box-A": session.entry(root="/elsewhere/Docs")})
    assert isinstance(spawn(session, docs), Done)
    assert daemon.asks("workspace.create")[0]["agent_name"] == "Docs-src-Box-A"


def test_spawn_when_the_daemon_runs_on_another_box_then_the_handle_and_the_entry_name_that_one(
    session: Session, daemon: Daemon, docs: Path
) -> None:
    daemon.answers["version.query"] = {"daemon": {"host": "atlas"}}
    assert isinstance(spawn(session, docs), Done)
    assert session.agents()["Docs-atlas"]["host"] == "atlas"


def test_spawn_when_no_agent_runs_in_it_then_no_entry_is_written(session: Session, daemon: Daemon, docs: Path) -> None:
    assert isinstance(spawn(session, docs, agent="none"), Done)
    assert set(session.agents()) == {"me"}
    assert daemon.asks("workspace.create")[0]["agent"] == "none"


def test_spawn_when_the_row_joined_meanwhile_then_its_entry_stays(session: Session, daemon: Daemon, docs: Path) -> None:
    def create(said: Any) -> object:
        session.book({"me": None, "Docs-Box-A": session.entry(workspace_id="ws-a-1", status="idle")})
        return daemon._create(said)

    daemon.answers["workspace.create"] = create
    assert isinstance(spawn(session, docs), Done)
    assert session.agents()["Docs-Box-A"]["status"] == "idle"


@pytest.mark.parametrize("verb", ["spawn", "despawn", "probe"])
def test_rows_when_the_process_has_no_identity_then_none_is_touched(
    session: Session, daemon: Daemon, docs: Path, verb: str
) -> None:
    """ "A refused process may neither spawn nor despawn rows"."""
    acts = {
        "spawn": lambda: spawn(session, docs),
        "despawn": lambda: despawn(session, "@x"),
        "probe": lambda: probe(session, "net"),
    }
    before = session.agents()
    session.slot.unlink()
    assert acts[verb]().sentence == (
        f"comm-{verb}.sh: your sot-comm identity did not resolve, so no row is touched. Join first: sot-tui join"
    )
    session.environ["SOT_WORKSPACE_ID"] = "ws-1"
    refused = session.who_am_i().refusal
    assert refused
    assert acts[verb]() == Failed(f"comm-{verb}.sh: {refused}")
    assert not daemon.asked
    assert session.agents() == before


@pytest.mark.parametrize("verb", ["spawn", "despawn"])
def test_rows_when_the_registry_is_unreadable_then_nothing_is_asked(
    session: Session, daemon: Daemon, docs: Path, verb: str
) -> None:
    """ "leave, list, spawn and despawn print FAILED: the registry could not be read; nothing was
    <removed|listed|spawned|despawned>"."""
    session.registry("{}")
    outcome = spawn(session, docs) if verb == "spawn" else despawn(session, "@x")
    assert outcome == Failed(f"{GONE}{verb}ed")
    assert not daemon.asked


def test_rows_when_there_is_no_daemon_then_nothing_is_done(session: Session, docs: Path) -> None:
    none = "FAILED: no sotd daemon found (`sotd run` is one, and so is an open dashboard)"
    assert spawn(session, docs) == Failed(f"{none}; nothing was spawned")
    assert despawn(session, "@x") == Failed(f"{none}; nothing was despawned")
    assert probe(session, "net") == Failed(f"{none}; nothing was typed")
    session.environ["SOT_SPAWN_ENDPOINT"] = "tcp:x"
    assert spawn(session, docs).sentence.startswith("FAILED: comm-lib: discarding an endpoint this version cannot dial")


@pytest.mark.parametrize("op", ["version.query", "workspace.list", "workspace.create"])
def test_spawn_when_the_daemon_refuses_or_is_silent_then_it_says_what_is_known(
    session: Session, daemon: Daemon, docs: Path, op: str
) -> None:
    daemon.answers[op] = {"error": "workspace 'Docs' (slug 'docs') is in use", "code": "label_in_use"}
    assert spawn(session, docs) == Failed("FAILED: workspace 'Docs' (slug 'docs') is in use; nothing was spawned")
    session.environ["SOT_SEND_TIMEOUT"] = "0.2"
    daemon.answers[op] = None
    known = "whether a row was spawned is not known" if op == "workspace.create" else "nothing was spawned"
    assert spawn(session, docs) == Failed(f"FAILED: the daemon did not answer at {daemon.endpoint}; {known}")
    session.environ["SOT_SEND_TIMEOUT"] = "10"
    daemon.answers[op] = {}
    outcome = spawn(session, docs)
    assert isinstance(outcome, Failed)
    assert set(session.agents()) == {"me"}


@pytest.mark.parametrize(
    ("phases", "why"),
    [
        (["starting", "terminal"], "it will not become ready (phase: terminal)"),
        (["ended_no_respawn"], "it will not become ready (phase: ended_no_respawn)"),
        (["starting"], "it was not ready within 5s (phase: starting)"),
        ([""], "it was not ready within 5s (phase: not said)"),
        (["unreachable"], "it was not ready within 5s (phase: unreachable)"),
    ],
)
def test_spawn_when_the_row_does_not_become_ready_then_it_says_so_and_keeps_it(
    session: Session, daemon: Daemon, docs: Path, phases: list[str], why: str
) -> None:
    session.environ["SOT_COMM_SPAWN_CAPSULE_WAIT"] = "5"
    daemon.phases = phases
    assert spawn(session, docs) == Failed(
        f"FAILED: row ws-a-1 of @Docs-Box-A was made, but {why}; it is not removed: comm-despawn.sh @Docs-Box-A does "
        "that"
    )
    assert not daemon.asks("workspace.destroy")


def test_spawn_when_the_wait_makes_no_sense_then_nothing_is_asked(session: Session, daemon: Daemon, docs: Path) -> None:
    session.environ["SOT_COMM_SPAWN_CAPSULE_WAIT"] = "long"
    with pytest.raises(Misuse):
        spawn(session, docs)
    assert not daemon.asked


def test_spawn_when_the_folder_is_none_then_nothing_is_asked(session: Session, daemon: Daemon, docs: Path) -> None:
    assert spawn(session, docs / "no").sentence.endswith("is not a folder; nothing was spawned")
    assert not daemon.asked


# -- despawn ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["@h", "h", "ws-a-1", "a", "A"])
def test_despawn_when_a_row_is_named_then_it_ends_and_its_entries_go(
    session: Session, daemon: Daemon, target: str
) -> None:
    daemon.has("/x", agent_handle="h", agent_name="old")
    daemon.has("/y", workspace_id="ws-b-2", slug="b", label="B", agent_name="other")
    kept = {"me": None, "other": session.entry(workspace_id="ws-b-2")}
    session.book({**kept, "h": session.entry(), "old": session.entry(workspace_id="ws-a-1")})
    assert despawn(session, target) == Done("Despawned @h (row ws-a-1).")
    assert daemon.asks("workspace.destroy") == [{"workspace_id": "ws-a-1"}]
    assert set(session.agents()) == set(kept)


def test_despawn_when_the_handle_came_to_another_row_then_that_entry_stays(session: Session, daemon: Daemon) -> None:
    daemon.has("/x", agent_handle="h")
    session.book({"me": None, "h": session.entry(workspace_id="ws-9")})
    assert isinstance(despawn(session, "@h"), Done)
    assert "h" in session.agents()


def test_despawn_when_no_row_or_more_than_one_is_meant_then_nothing_ends(session: Session, daemon: Daemon) -> None:
    daemon.has("/x", slug="x", label="same")
    daemon.has("/y", slug="y", label="same", workspace_id="ws-b-2")
    assert despawn(session, "@same") == Failed(
        "FAILED: no row of this daemon is @same (comm-leave.sh --name same removes an orphan's entry); "
        "nothing was despawned"
    )
    assert despawn(session, "z") == Failed("FAILED: no row of this daemon is z; nothing was despawned")
    assert despawn(session, "same") == Failed(
        "FAILED: more than one row is meant by 'same': ws-a-1, ws-b-2; nothing was despawned"
    )
    assert not daemon.asks("workspace.destroy")


def test_despawn_when_the_daemon_refuses_or_is_silent_then_the_entry_stays(session: Session, daemon: Daemon) -> None:
    session.book({"me": None, "h": session.entry(workspace_id="ws-a-1")})
    daemon.has("/x", agent_handle="h")
    sentence = "capsule workspace could not be safely deleted: busy"
    daemon.answers["workspace.destroy"] = {"error": sentence, "code": "capsule_end_not_reached"}
    assert despawn(session, "@h") == Failed(f"FAILED: {sentence}; nothing was despawned")
    session.environ["SOT_SEND_TIMEOUT"] = "0.2"
    daemon.answers["workspace.destroy"] = None
    why = f"FAILED: the daemon did not answer at {daemon.endpoint}; whether the row has ended is not known"
    assert despawn(session, "@h") == Failed(why)
    assert "h" in session.agents()


# -- probe ------------------------------------------------------------------------------------------------------------


def test_probe_when_it_is_new_then_its_root_is_a_closed_folder_of_its_own_in_the_comm_home(
    session: Session, daemon: Daemon
) -> None:
    """ "probe/<handle>/  # a probe row's project root (comm-probe.sh)"."""
    folder = Path(session.home.path, "probe", "probe-net-Box-A")
    assert probe(session, "net", "echo é") == Done(
        f"Probe row ws-a-1 (@probe-net-Box-A) at {folder}. Typed; Enter: sent."
    )
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]
    said = daemon.asks("workspace.create")[0]
    assert (said["agent"], said["agent_name"], said["project_root"]) == ("none", "probe-net-Box-A", str(folder))
    assert daemon.asks("pty.input") == [
        {
            "workspace_id": "ws-a-1",
            "data_b64": base64.b64encode("echo é".encode()).decode(),
            "enter": True,
            "origin": "comm-probe",
        }
    ]


def test_probe_when_it_is_there_then_it_is_used_again(session: Session, daemon: Daemon) -> None:
    assert isinstance(probe(session, "net"), Done)
    daemon.answers["pty.input"] = {"ok": True, "enter": "not_sent"}
    again = probe(session, "net", "x")
    assert again.sentence.endswith("Typed; Enter: not_sent.")
    assert len(daemon.asks("workspace.create")) == 1
    daemon.answers["pty.input"] = {"error": "capsule row not ready (phase: ending)", "code": "capsule_not_ready"}
    assert probe(session, "net", "x") == Failed("FAILED: capsule row not ready (phase: ending); nothing was typed")


@pytest.mark.parametrize("name", ["a/b", "x" * 64, "é"])
def test_probe_when_its_name_makes_no_handle_then_refused(session: Session, daemon: Daemon, name: str) -> None:
    assert probe(session, name).sentence.startswith("comm-probe.sh: not a handle: ")
    assert not daemon.asked


# -- the commands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def here(_away_from_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Join as @me in a project, outside any row."""
    project = _away_from_home / "alpha"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("SOT_SELF_HOST", "box-a")
    assert cli.main(["join", "--name", "me"]) == 0
    return project


def test_commands_when_a_daemon_answers_then_one_line_each(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    with Daemon(here.parent / "d.sock") as daemon:
        monkeypatch.setenv("SOT_SPAWN_ENDPOINT", daemon.endpoint)
        daemon.phases = ["ready"]
        assert cli.main(["spawn", ".", "--name", "@new", "--agent", "none"]) == 0
        assert cli.main(["despawn", "@new"]) == 0
        daemon.rows.clear()
        daemon.phases = ["ready"]
        assert cli.main(["probe", "net", "echo", "hi"]) == 0
    out, err = capfd.readouterr()
    assert err == "  to see it: Enter on its line in the dashboard, sot-tui\n"
    assert [line.partition(" (")[0] for line in out.splitlines()] == [
        "Spawned @new", "Despawned @new", "Probe row ws-a-1",
    ]  # fmt: skip


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["spawn", "a", "b"], 2),
        (["spawn", "--agent", "vim"], 2),
        (["spawn", "--name", "a/b"], 2),
        (["spawn", "--what"], 2),
        (["spawn", "nowhere"], 1),
        (["despawn"], 2),
        (["despawn", "@"], 2),
        (["despawn", "a", "b"], 2),
        (["despawn", "@x"], 1),
        (["probe"], 2),
        (["probe", "net"], 1),
        (["spawn", "--help"], 0),
        (["despawn", "--help"], 0),
        (["probe", "--help"], 0),
    ],
)
def test_commands_when_the_words_are_odd_then_one_sentence_and_its_code(
    words: list[str], code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    assert cli.main(words) == code
    out, err = capfd.readouterr()
    assert (bool(out), bool(err)) == (code == 0, code != 0)


# -- relay send --all -------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    answer = {"ok": True, "receivers": ["fe@desk", "sotd-lab"]}
    with Peer(here.parent / "hub.sock", {"agent.send": answer}) as found:
        monkeypatch.setenv("SOT_RELAY_ENDPOINT", found.endpoint)
        yield found


def test_notice_when_sent_to_all_then_it_is_published_with_an_empty_to(
    hub: Peer, capfd: pytest.CaptureFixture[str]
) -> None:
    """ "agent.send is not mail: it carries the frontend's UI notifications ... with an empty to, published to every
    connection"."""
    capfd.readouterr()
    assert cli.main(["relay", "send", "--all", "the", "build"]) == 0
    assert capfd.readouterr() == ("sent -> fe@desk, sotd-lab\n", "")
    assert hub.asked == [("agent.send", {"from": "me", "to": "", "text": "the build"})]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"error": "no", "code": "mail_requires_comm_file"}, "no"),
        ({}, "the daemon answered neither ok nor a refusal: {}"),
    ],
)
def test_notice_when_it_is_refused_then_the_daemon_s_words(
    hub: Peer, capfd: pytest.CaptureFixture[str], answer: object, why: str
) -> None:
    capfd.readouterr()
    hub.answers["agent.send"] = answer
    assert cli.main(["relay", "send", "--all", "x"]) == 1
    assert capfd.readouterr() == ("", f"ERROR: {why}\n")


@pytest.mark.parametrize(
    ("words", "why"), [(["send", "--all"], "  (empty message)"), (["what", "@x", "y"], ""), ([], "")]
)
def test_relay_when_a_daemon_is_there_and_the_words_are_odd_then_the_usage(
    hub: Peer, capfd: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    capfd.readouterr()
    assert cli.main(["relay", *words]) == 1
    assert capfd.readouterr() == ("", f'usage: comm-relay.sh send @to "msg" | --all "msg"{why}\n')
    assert not hub.asked
