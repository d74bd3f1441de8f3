"""Sessions in real rows of a real daemon: each declares its handle, keeps it through the daemon's death, and loses it.

Contract, Words and Cases: "the daemon keeps it through restarts, compactions and clears, gives each handle to one row
only, and a newer declaration moves it"; "A handle a row holds is read and taken only from inside that row."
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.test_sotd import Daemons, asked, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.box import Box

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

COMMAND = str(Path(sys.executable).with_name("sot-tui"))
AGENT = f"""\
#!/bin/sh
# Stands for Claude Code: it starts as a session does, does what it is told through a file, and ends with its input.
{COMMAND} session-start >>"$HOME/said-$SOT_WORKSPACE" 2>&1
echo ready
while read -r line; do
  sh -c "$line" >>"$HOME/said-$SOT_WORKSPACE" 2>&1
  echo "done: $line"
done
"""


@pytest.fixture
def daemons(joined: Box) -> Iterator[Daemons]:
    """Return the daemons of a box on which `claude` is a program that starts a session."""
    bin_folder = joined.comm.parent / "home" / ".local" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "claude").write_text(AGENT)
    (bin_folder / "claude").chmod(0o755)
    found = Daemons(joined)
    yield found
    try:
        if found.started and found.started[-1].poll() is None:
            for row in rows(found):
                asked(found.socket, "workspace.destroy", {"workspace_id": row["workspace_id"]})
    finally:
        found.close()


def rows(daemons: Daemons) -> list[dict[str, Any]]:
    found = asked(daemons.socket, "workspace.list", {})["workspaces"]
    assert isinstance(found, list)
    return found


def said(daemons: Daemons, slug: str) -> str:
    file = daemons.box.comm.parent / "home" / f"said-{slug}"
    return file.read_text() if file.exists() else ""


def project(daemons: Daemons, name: str) -> Path:
    folder = daemons.box.comm.parent / "work" / name
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def spawned(daemons: Daemons, name: str) -> str:
    """Start a row by the verb, and wait until its session has declared its handle; return the row's id."""
    code, out, err = daemons.box.run("spawn", str(project(daemons, name)), "--agent", "claude")
    assert code == 0, (out, err)
    until(lambda: any(row["agent_handle"] == f"{name}-box" for row in rows(daemons)), f"@{name}-box is declared")
    return next(str(row["workspace_id"]) for row in rows(daemons) if row["agent_handle"] == f"{name}-box")


def types(daemons: Daemons, row: str, line: str) -> None:
    """Type a line into a row, as a script does."""
    import base64

    data = base64.b64encode(line.encode()).decode()
    answer = asked(daemons.socket, "pty.input", {"workspace_id": row, "data_b64": data, "enter": True})
    assert answer == {"ok": True, "runtime": "capsule", "bytes": len(line), "enter": "sent"}


def test_session_when_its_row_is_spawned_then_it_alone_has_its_handle_until_it_is_despawned(daemons: Daemons) -> None:
    daemons.serve()
    box = daemons.box
    row = spawned(daemons, "docs")
    assert box.book()["agents"]["docs-box"]["workspace_id"] == row
    # From outside it can be written to, and neither taken nor removed.
    assert box.run("send", "@docs-box", "hi") == (0, b"  filed -> @docs-box\n", b"")
    code, _, err = box.run("join", "--name", "docs-box")
    assert code == 1
    assert err.decode() == (
        f"comm-join.sh: REFUSING to join: @docs-box is held by a row (row {row}); a session outside any row cannot "
        "join as it\n"
    )
    assert box.run("leave", "--name", "docs-box")[0] == 1
    # From inside it reads and sends.
    types(daemons, row, f"{COMMAND} poll; {COMMAND} send @alpha-box 'from inside'")
    until(lambda: "filed -> @alpha-box" in said(daemons, "docs"), "the session sends")
    assert "] hi" in said(daemons, "docs")
    assert b"from inside" in (box.comm / "inbox" / "alpha-box.jsonl").read_bytes()
    lines = asked(daemons.socket, "pty.screen", {"workspace_id": row})["lines"]
    assert isinstance(lines, list)
    assert "ready" in lines
    assert box.run("despawn", "docs")[0] == 0
    assert "docs-box" not in box.book()["agents"]
    assert rows(daemons) == []


def test_handle_when_the_daemon_was_killed_then_the_row_has_it_still_and_a_newer_declaration_moves_it(
    daemons: Daemons,
) -> None:
    first = daemons.serve()
    box = daemons.box
    docs, web = spawned(daemons, "docs"), spawned(daemons, "web")
    first.send_signal(signal.SIGKILL)
    first.wait()
    daemons.serve()
    assert {row["workspace_id"]: row["agent_handle"] for row in rows(daemons)} == {docs: "docs-box", web: "web-box"}
    until(lambda: {row["phase"] for row in rows(daemons)} == {"ready"}, "both rows are adopted")
    held = asked(daemons.socket, "agent.join", {"workspace_id": "", "handle": "docs-box"})
    assert (held["code"], held["held_by_row"]) == ("held_by_row", docs)
    # The other row's session takes the handle over.
    types(daemons, web, f"{COMMAND} join --name docs-box")
    until(
        lambda: {row["workspace_id"]: row["agent_handle"] for row in rows(daemons)} == {docs: "", web: "docs-box"},
        "the handle is the other row's",
    )
    held = asked(daemons.socket, "agent.join", {"workspace_id": "", "handle": "docs-box"})
    assert held["held_by_row"] == web
    # What a row declared outlives the daemon's own end, too.
    daemons.started[-1].send_signal(signal.SIGTERM)
    assert daemons.started[-1].wait(20) == 0
    daemons.serve()
    assert {row["workspace_id"]: row["agent_handle"] for row in rows(daemons)} == {docs: "", web: "docs-box"}
    assert json.loads((box.comm / "registry.json").read_text())["agents"]["docs-box"]["workspace_id"] == web


def test_done_when_a_person_views_the_row_then_it_is_cleared_and_a_mere_look_leaves_it(daemons: Daemons) -> None:
    """Daemon wire 3.10."""
    daemons.serve()
    box = daemons.box
    row = spawned(daemons, "docs")
    types(daemons, row, f"{COMMAND} status done 'all built'")
    until(lambda: box.book()["agents"]["docs-box"].get("done"), "it is done")
    (listed,) = rows(daemons)
    assert (listed["agent_state"], listed["agent_summary"]) == ("done", "all built")
    assert asked(daemons.socket, "workspace.activate", {"workspace_id": "docs"}) == {"workspace_id": row}
    assert box.book()["agents"]["docs-box"]["done"] is True
    assert asked(daemons.socket, "workspace.activate", {"workspace_id": "docs", "read": True}) == {"workspace_id": row}
    entry = box.book()["agents"]["docs-box"]
    assert ("done" in entry, entry["state"], entry["summary"]) == (False, "idle", "all built")


def test_person_s_command_when_a_row_s_session_asks_for_it_then_it_is_refused(daemons: Daemons) -> None:
    """Our own op `tui.do` is a person's: a process in a row is shown to be none, whatever it says."""
    daemons.serve()
    row = spawned(daemons, "docs")
    program = daemons.box.comm.parent / "ask.py"
    program.write_text(
        "import os, socket\n"
        "from tests.caller import hello, request\n"
        "one = socket.socket(socket.AF_UNIX); one.connect(os.environ['SOT_SOCKET'])\n"
        "ask = request('tui.do', {'command': 'clear_done', 'fields': {'handle': 'docs-box'}})\n"
        "one.sendall(hello(host='box') + ask); one.settimeout(10)\n"
        "data = b''\n"
        "while b'tui.do' not in data: data += one.recv(65536)\n"
        "print(data.decode())\n"
    )
    root = Path(__file__).parents[2]
    types(daemons, row, f"PYTHONPATH={root} {sys.executable} {program}")
    until(lambda: "tui.do" in said(daemons, "docs"), "it is answered")
    assert '"code":"not_a_person"' in said(daemons, "docs")
    assert "it runs inside a row" in said(daemons, "docs")


@pytest.mark.skipif(os.geteuid() != 0, reason="another account can only be acted by root")
def test_files_when_a_daemon_and_its_rows_run_then_each_has_its_mode_and_another_account_reaches_none(
    daemons: Daemons,
) -> None:
    """Contract, Layout: "0700 (a folder) or 0600 (a file), created so by every writer"; here with a umask that hides
    nothing."""
    was = os.umask(0)
    try:
        daemons.serve()
        row = spawned(daemons, "docs")
        asked(daemons.socket, "comm.file", {"from": "a", "to": "docs-box", "text": "hi"})
    finally:
        os.umask(was)
    base = daemons.box.comm.parent
    ours = [base / "comm", base / "state" / "sot", base / "run" / "sot", base / "config" / "sot"]
    paths = [path for top in ours for path in (top, *top.rglob("*"))]
    assert any(row in path.name for path in paths)
    open_to_others = [
        f"{path.relative_to(base)} {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in paths
        if path.lstat().st_mode & 0o077 and path.relative_to(base).parts[:2] != ("comm", "bin")
    ]
    assert not open_to_others
    for path in (base, *(base / name for name in ("comm", "state", "run"))):
        path.chmod(0o755)  # only what is ours keeps another account out
    program = (
        "import os, socket, sys\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "for path in sys.stdin.read().split('\\0'):\n"
        "    for what in ('rb', 'r+b', 'list', 'connect'):\n"
        "        try:\n"
        "            if what == 'list': os.listdir(path)\n"
        "            elif what == 'connect': socket.socket(socket.AF_UNIX).connect(path)\n"
        "            else: open(path, what)\n"
        "            print(what, path)\n"
        "        except OSError: pass\n"
    )
    told = "\0".join(str(path) for path in paths if path != base / "comm")
    ran = subprocess.run([sys.executable, "-I", "-c", program], input=told.encode(), capture_output=True, check=False)
    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_daemon_s_environment_when_it_starts_a_row_then_only_what_a_row_is_told(daemons: Daemons) -> None:
    """Daemon wire 4.2."""
    daemons.serve(NOTIFY_SOCKET="/nowhere", STEWARD_KEY="secret", LISTEN_FDS="3", SOT_RELAY_ENDPOINT="ssh:hub")
    row = spawned(daemons, "docs")
    types(daemons, row, "env")
    until(lambda: "SOT_WORKSPACE_ID" in said(daemons, "docs"), "it says its environment")
    environ = dict(line.partition("=")[::2] for line in said(daemons, "docs").splitlines())
    assert environ["SOT_SOCKET"] == str(daemons.socket)
    assert environ["SOT_WORKSPACE_ID"] == row
    assert environ["SOT_COMM_HOME"] == str(daemons.box.comm)
    assert os.path.basename(environ["SOTD_BIN"]) == "sotd"
    assert not {"NOTIFY_SOCKET", "STEWARD_KEY", "LISTEN_FDS"} & environ.keys()
