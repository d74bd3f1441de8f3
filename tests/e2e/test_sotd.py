"""The daemon's own command, as scripts and service managers start it: real processes, pipes, signals and verbs."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.caller import hello, request
from tests.test_imports import HEAVY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.box import Box

pytestmark = pytest.mark.e2e

SOTD = str(Path(sys.executable).with_name("sotd"))
DEADLINE_S = 20.0
"""How long anything is waited for; it comes in a second."""
BOXES = """\
hub = "hub"
[host.hub]
daemon = true
[host.box]
daemon = true
frontend = true
[host.lab]
daemon = true
[host.view]
frontend = true
"""


def until(fact: Callable[[], object], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not fact():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.02)


class Daemons:
    """The daemons of one box, all of them ended with the test."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.socket = box.comm.parent / "run" / "sot" / "sessions" / "sot.sock"
        self.log = box.comm.parent / "state" / "sot" / "sotd.log"
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, **environ: str) -> subprocess.Popen[bytes]:
        one = subprocess.Popen(
            [SOTD, "run", *words],
            env={**self.box.env, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.started.append(one)
        return one

    def serve(self, *words: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start one, and wait until it serves."""
        one = self.start(*words, **environ)
        assert one.stderr is not None
        assert select.select([one.stderr], [], [], DEADLINE_S)[0], "it said nothing"
        said = one.stderr.readline().decode()
        assert said.startswith("sotd: serving "), said
        return one

    def close(self) -> None:
        for one in self.started:
            if one.poll() is None:
                one.send_signal(signal.SIGTERM)
        for one in self.started:
            try:
                one.communicate(timeout=DEADLINE_S)
            except subprocess.TimeoutExpired:
                one.kill()
                one.communicate()


@pytest.fixture
def daemons(joined: Box) -> Iterator[Daemons]:
    found = Daemons(joined)
    yield found
    found.close()


def sotd(box: Box, *words: str, body: bytes = b"", **environ: str) -> tuple[int, str, str]:
    ran = subprocess.run([SOTD, *words], env={**box.env, **environ}, input=body, capture_output=True, check=False)
    return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


def asked(path: Path, op: str, payload: object) -> dict[str, object]:
    """Ask as a script does, over a plain socket."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(DEADLINE_S)
        one.connect(str(path))
        one.sendall(hello(host="box") + request(op, payload))
        with one.makefile("rb") as lines:
            for line in lines:
                if f'"op":"{op}"'.encode() in line:
                    found: dict[str, object] = json.loads(line)["payload"]
                    return found
    raise AssertionError("it ended without an answer")


# -- run --------------------------------------------------------------------------------------------------------------


def test_run_when_it_serves_then_verbs_find_it_and_sigterm_ends_it_cleanly(daemons: Daemons) -> None:
    """The verbs find it by themselves, and the one result is the daemon's."""
    one = daemons.serve()
    box = daemons.box
    said = {"from": "alpha-box", "to": "beta-box", "text": "by the daemon", "broadcast": False}
    assert asked(daemons.socket, "comm.file", said) == {"ok": True}
    assert json.loads(box.sent.splitlines()[-1])["repo"] == "daemon"
    code, _, err = box.run("send", "@nobody-box", "x")
    assert (code, err) == (1, b"FAILED -> @nobody-box: no box knows that handle: nobody-box\n")
    assert box.run("relay", "send", "--all", "hi")[0] == 0
    one.send_signal(signal.SIGTERM)
    assert one.wait(DEADLINE_S) == 0
    assert not daemons.socket.exists()
    assert "engine it ends here" in daemons.log.read_text()
    assert daemons.log.stat().st_mode & 0o777 == 0o600


def test_run_when_another_engine_runs_then_waited_for_and_the_duties_are_taken_over(daemons: Daemons) -> None:
    first = daemons.serve()
    second = daemons.start()
    first.send_signal(signal.SIGTERM)
    assert first.wait(DEADLINE_S) == 0
    until(daemons.socket.exists, "the second one listens")
    assert asked(daemons.socket, "ping", {}) == {"ok": True}
    assert second.poll() is None


def test_run_when_its_predecessor_was_killed_then_the_dead_socket_is_made_anew(daemons: Daemons) -> None:
    first = daemons.serve()
    first.kill()
    first.wait(DEADLINE_S)
    assert daemons.socket.exists()
    daemons.serve()
    assert asked(daemons.socket, "ping", {}) == {"ok": True}


def test_run_when_a_daemon_that_is_not_ours_listens_then_nothing_is_hosted_and_its_socket_stays(
    daemons: Daemons,
) -> None:
    """Daemon wire 1.2: "another daemon is already listening on <path>; refusing to start on its socket"."""
    daemons.socket.parent.mkdir(mode=0o700, parents=True)
    daemons.socket.parent.parent.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(daemons.socket))
        other.listen(5)
        one = daemons.start()
        _, err = one.communicate(timeout=DEADLINE_S)
        assert one.returncode == 1
        assert err.decode() == (
            f"sotd: another daemon is already listening on {daemons.socket}; refusing to start on its socket (stop "
            "that daemon first, or pass a different --socket)\n"
        )
        assert daemons.socket.exists()


def test_run_when_another_process_holds_the_state_root_then_it_gives_up_and_says_so(daemons: Daemons) -> None:
    root = daemons.log.parent
    root.mkdir(mode=0o700)
    with (root / "daemon.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        one = daemons.start()
        _, err = one.communicate(timeout=DEADLINE_S + 10)
    assert one.returncode == 1
    assert err.decode().startswith(f"sotd: {root}: another dashboard hosts")
    assert not daemons.socket.exists()


def test_run_when_its_state_root_is_gone_then_it_ends_before_there_are_two(daemons: Daemons) -> None:
    """A lock belongs to the open file: whoever makes the folder anew could host beside it."""
    one = daemons.serve()
    daemons.log.parent.rename(daemons.log.parent.with_name("moved"))
    _, err = one.communicate(timeout=DEADLINE_S)
    assert one.returncode == 1
    lock = daemons.log.with_name("daemon.lock")
    assert err.decode() == f"sotd: {lock} is gone, or another's: this daemon ends, before there are two\n"
    daemons.serve()


def test_run_when_its_folder_is_not_private_then_it_does_not_start(daemons: Daemons) -> None:
    """Daemon wire 1.2: "a failed test stops the start"."""
    folder = daemons.socket.parent.parent
    folder.mkdir()
    folder.chmod(0o755)
    one = daemons.start()
    _, err = one.communicate(timeout=DEADLINE_S)
    assert one.returncode == 1
    assert err.decode() == (
        f"sotd: {folder} is not a folder that only this account can open; refusing to listen there\n"
    )


def test_run_when_told_where_then_it_listens_there(daemons: Daemons) -> None:
    folder = daemons.box.comm.parent / "own"
    folder.mkdir(mode=0o700)
    daemons.serve("--socket", str(folder / "s"))
    assert asked(folder / "s", "ping", {}) == {"ok": True}
    assert not daemons.socket.exists()
    assert sotd(daemons.box, "run", "--socket", "s")[0] == 2


def test_run_when_a_service_manager_listens_then_told_and_no_row_inherits_it(daemons: Daemons) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        address = daemons.box.comm.parent / "notify"
        manager.bind(str(address))
        manager.settimeout(DEADLINE_S)
        one = daemons.serve(NOTIFY_SOCKET=str(address), WATCHDOG_USEC="100000")
        heard = [manager.recv(100) for _ in range(4)]
        assert heard == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        environ = daemons.box.env
        made = asked(daemons.socket, "workspace.create", {"label": "R.x Y", "project_root": str(daemons.box.work)})
        assert made["slug"] == "r_x-y", "the slug is derived from the label by the daemon"
        row = Path(environ["XDG_STATE_HOME"], "sot", "workspaces", str(made["workspace_id"]))
        capsule = next(each for each in _processes() if str(row) in each[1])
        assert b"NOTIFY_SOCKET" not in Path(f"/proc/{capsule[0]}/environ").read_bytes()
        one.send_signal(signal.SIGTERM)
        while (said := manager.recv(100)) == b"WATCHDOG=1":
            pass
        assert said == b"STOPPING=1"
        assert one.wait(DEADLINE_S) == 0
        os.kill(capsule[0], 0)  # a row outlives its daemon
        daemons.serve()
        assert asked(daemons.socket, "workspace.destroy", {"workspace_id": "r_x-y"})["slug"] == "r_x-y"


def _processes() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if words[0].endswith("sot-capsule"):
                yield int(entry.name), " ".join(words)


def test_sigterm_when_a_filing_waits_for_a_held_inbox_then_it_is_answered_first(daemons: Daemons) -> None:
    one = daemons.serve()
    lock = daemons.box.comm / "inbox" / "beta-box.lock"
    with lock.open("a+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with socket.socket(socket.AF_UNIX) as asker:
            asker.settimeout(DEADLINE_S)
            asker.connect(str(daemons.socket))
            said = {"from": "a", "to": "beta-box", "text": "hi"}
            asker.sendall(hello(host="box") + request("comm.file", said))
            with asker.makefile("rb") as lines:
                assert b'"op":"hello"' in lines.readline()
                one.send_signal(signal.SIGTERM)
                until(lambda: not daemons.socket.exists(), "the drain")
                fcntl.flock(held, fcntl.LOCK_UN)
                assert b'"op":"comm.file","payload":{"ok":true}' in b"".join(lines)
    assert one.wait(DEADLINE_S) == 0
    assert b'"msg":"hi"' in daemons.box.sent


def test_verbs_when_a_row_is_spawned_and_despawned_then_the_daemon_ran_it(daemons: Daemons) -> None:
    """spawn, relay, probe and despawn of a session, against a daemon that runs rows."""
    daemons.serve()
    box = daemons.box
    code, out, err = box.run("probe", "p1", "echo probed-$((6 * 7))")
    assert code == 0, err
    listed = asked(daemons.socket, "workspace.list", {})["workspaces"]
    assert isinstance(listed, list)
    (row,) = listed
    assert (row["phase"], row["agent"]) == ("ready", "none")

    def shown() -> object:
        return asked(daemons.socket, "pty.screen", {"workspace_id": row["workspace_id"]})["lines"]

    until(lambda: "probed-42" in str(shown()), "the line was typed, and Enter")
    code, out, err = box.run("despawn", row["slug"])
    assert code == 0, (out, err)
    assert asked(daemons.socket, "workspace.list", {}) == {"workspaces": []}


def test_client_when_on_another_comm_home_then_told_which_one_is_served(daemons: Daemons) -> None:
    daemons.serve()
    box = daemons.box
    mine = box.comm
    box.env["SOT_COMM_HOME"] = str(box.comm.parent / "other")
    assert box.run("join")[0] == 0
    code, _, err = box.run("send", "@beta-box", "x")
    assert code == 1
    assert err.decode().startswith(
        f"FAILED -> @beta-box: hello refused: this daemon serves the comm home {mine}, and you are on "
        f"{box.env['SOT_COMM_HOME']}: set SOT_COMM_HOME to the same folder on both sides, or "
    )


# -- the light commands -----------------------------------------------------------------------------------------------


def test_session_socket_path_when_asked_then_the_path_and_no_state_touched(box: Box) -> None:
    run = box.env["XDG_RUNTIME_DIR"]
    assert sotd(box, "session-socket-path", "My Label") == (0, f"{run}/sot/sessions/my-label.sock\n", "")
    assert sotd(box, "session-socket-path") == (0, f"{run}/sot/sessions/sot.sock\n", "")
    assert not list(Path(run).iterdir())
    deep = Path(run, "d" * 80)
    deep.mkdir(mode=0o700)
    code, out, err = sotd(box, "session-socket-path", "sot", XDG_RUNTIME_DIR=str(deep))
    assert (code, err) == (0, "")
    assert out.startswith(f"/tmp/sot-{os.geteuid()}/sessions/")
    assert len(out) <= 100


def test_version_when_asked_then_one_line(box: Box) -> None:
    code, out, err = sotd(box, "--version")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert out.startswith("sotd ")


def test_relay_endpoint_when_each_kind_of_box_asks_then_its_own(box: Box) -> None:
    """Daemon wire 1.7 and 10.7."""
    run = box.env["XDG_RUNTIME_DIR"]
    own = f"unix:{run}/sot/sessions/sot.sock\n"
    assert sotd(box, "topology", "relay-endpoint") == (0, own, "")
    file = Path(box.env["XDG_CONFIG_HOME"], "sot", "hosts.toml")
    file.parent.mkdir()
    file.write_text(BOXES)
    for host, endpoint in (
        ("hub", own),
        ("box", "ssh:hub\n"),
        ("lab", f"unix:/run/user/{os.geteuid()}/sot-relay.sock\n"),
    ):
        assert sotd(box, "topology", "relay-endpoint", SOT_SELF_HOST=host) == (0, endpoint, "")
    assert sotd(box, "topology", "relay-endpoint", SOT_SELF_HOST="hub", SOT_SOCKET="/r/s") == (0, "unix:/r/s\n", "")
    code, out, err = sotd(box, "topology", "relay-endpoint", SOT_SELF_HOST="far")
    assert (code, out, err) == (1, "", "sotd: `far` is not a listed host\n")
    file.write_text("hub = 3\n")
    code, out, err = sotd(box, "topology", "relay-endpoint")
    assert (code, out, err.count("\n")) == (1, "", 1)


def test_plan_when_asked_then_a_line_for_each_thing_a_box_has_to_know(box: Box) -> None:
    """Daemon wire 1.5."""
    assert sotd(box, "topology", "plan", "--self", "hub") == (1, "", "sotd: there is no hosts.toml, so no plan\n")
    file = Path(box.env["XDG_CONFIG_HOME"], "sot", "hosts.toml")
    file.parent.mkdir()
    file.write_text(BOXES)
    assert sotd(box, "topology", "plan", "--self", "box")[1].splitlines() == [
        "self box",
        "hub hub",
        "relay-endpoint ssh:hub",
        "dial hub ssh:hub",
        "dial lab ssh:hub/lab",
    ]
    run = f"/run/user/{os.geteuid()}"
    assert sotd(box, "topology", "plan", "--self=hub")[1].splitlines() == [
        "self hub",
        "hub hub",
        f"relay-endpoint unix:{box.env['XDG_RUNTIME_DIR']}/sot/sessions/sot.sock",
        f"dial box unix:{run}/sot-host-box.sock",
        "dial lab ssh:lab",
    ]
    assert sotd(box, "topology", "plan", "--self", "far") == (1, "", "sotd: `far` is not a listed host\n")


@pytest.mark.parametrize("words", [[], ["no"], ["topology"], ["topology", "plan"], ["stdio-bridge", "x"]])
def test_words_when_not_understood_then_usage_status(box: Box, words: list[str]) -> None:
    assert sotd(box, *words)[0] == 2


@pytest.mark.parametrize(
    "words", [["session-socket-path", "sot"], ["--version"], ["topology", "relay-endpoint"], ["stdio-bridge"]]
)
def test_light_command_when_run_then_nothing_heavy_is_loaded(box: Box, words: list[str]) -> None:
    code = "import sys; from sot_tui.sotd import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code, *words],
        env=box.env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in ran.stderr
    names = [line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")]
    ours = names[names.index("sot_tui") :]
    heavy = HEAVY - {"logging"} if words == ["--version"] else HEAVY
    assert not [name for name in ours if any((name + ".").startswith(f"{each}.") for each in heavy)]
    assert not [name for name in ours if name.startswith("sot_tui.engine")]


# -- the bridge -------------------------------------------------------------------------------------------------------


def bridge(box: Box, *words: str) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([SOTD, "stdio-bridge", *words], env=box.env, bufsize=0, **pipes)  # type: ignore[call-overload, no-any-return]  # the pipes are the same each time


def heard(one: subprocess.Popen[bytes], op: str) -> bytes:
    """Return the line of an op, as a script finds it."""
    assert one.stdout is not None
    data = b""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        for line in data.split(b"\n")[:-1]:
            if f'"op":"{op}"'.encode() in line:
                return line
        assert select.select([one.stdout], [], [], DEADLINE_S)[0]
        part = os.read(one.stdout.fileno(), 65536)
        assert part, data
        data += part
    raise AssertionError(data)


def test_bridge_when_a_script_speaks_through_it_then_each_answer_comes_and_its_end_is_clean(daemons: Daemons) -> None:
    daemons.serve()
    for words in ([], ["--endpoint", f"unix:{daemons.socket}"]):
        one = bridge(daemons.box, *words)
        assert one.stdin is not None
        one.stdin.write(hello(host="box") + request("ping", {}))
        assert heard(one, "ping") == b'{"v":1,"id":1,"kind":"res","op":"ping","payload":{"ok":true}}'
        text = "x" * 700_000
        one.stdin.write(request("agent.send", {"from": "a", "to": "", "text": text}))
        assert text.encode() in heard(one, "agent.message")
        one.stdin.close()
        assert one.wait(DEADLINE_S) == 0
        assert one.stderr is not None
        assert one.stderr.read() == b""
        one.stdout.close()  # type: ignore[union-attr]  # it is a pipe
        one.stderr.close()


SCRIPT = """\
# One exchange as the scripts have it (daemon wire 2.4): a fresh bridge, two lines in one burst, stdin kept open by a
# sleep, the output looked through every 100 ms for the text of the op, and the bridge killed.
out=$(mktemp)
( printf '%s\\n%s\\n' "$HELLO" "$REQUEST"; exec sleep 5 ) | "$SOTD_BIN" stdio-bridge --endpoint "$ENDPOINT" >"$out" &
bridge=$!
tries=0
while [ $tries -lt 100 ]; do
  if answer=$(grep -F -m 1 "\\"op\\":\\"$OP\\"" "$out"); then break; fi
  tries=$((tries + 1)); sleep 0.1
done
kill "$bridge"
rm -f "$out"
printf '%s\\n' "$answer"
"""


def test_bridge_when_a_shell_script_has_its_one_exchange_then_the_answer_is_found_by_its_text(
    daemons: Daemons,
) -> None:
    daemons.serve()
    said = {"from": "alpha-box", "to": "beta-box", "text": 'it\'s\n"here" €', "broadcast": False}
    environ = {
        "HELLO": hello(host="box").decode().rstrip("\n"),
        "REQUEST": request("comm.file", said).decode().rstrip("\n"),
        "SOTD_BIN": SOTD,
        "ENDPOINT": f"unix:{daemons.socket}",
        "OP": "comm.file",
    }
    ran = subprocess.run(
        ["/bin/sh", "-c", SCRIPT],
        env={**daemons.box.env, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=30,
    )
    assert ran.stdout == b'{"v":1,"id":1,"kind":"res","op":"comm.file","payload":{"ok":true}}\n'
    assert json.loads(daemons.box.sent.splitlines()[-1])["msg"] == said["text"]


def test_socket_when_the_runtime_folder_is_too_deep_then_both_sides_use_the_same_short_name(daemons: Daemons) -> None:
    """Dependencies, 9: a socket's path has 107 bytes at most."""
    deep = daemons.box.comm.parent / "run" / ("d" * 100)
    deep.mkdir(mode=0o700)
    daemons.box.env["XDG_RUNTIME_DIR"] = str(deep)
    one = daemons.serve()
    path = Path(sotd(daemons.box, "session-socket-path", "sot")[1].rstrip("\n"))
    assert asked(path, "ping", {}) == {"ok": True}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert daemons.box.run("relay", "send", "--all", "hi")[0] == 0, "a verb finds it by itself"
    one.send_signal(signal.SIGTERM)
    assert one.wait(DEADLINE_S) == 0
    assert not path.exists()


def test_bridge_when_the_daemon_ends_then_so_does_the_bridge(daemons: Daemons) -> None:
    server = daemons.serve()
    one = bridge(daemons.box)
    assert one.stdin is not None
    one.stdin.write(hello(host="box") + request("ping", {}))
    heard(one, "ping")
    server.send_signal(signal.SIGTERM)
    assert one.wait(DEADLINE_S) == 0
    assert one.communicate() == (b"", b"")


def test_bridge_when_nobody_listens_then_one_line_and_status_1(box: Box) -> None:
    path = Path(box.env["XDG_RUNTIME_DIR"], "sot", "sessions", "sot.sock")
    assert sotd(box, "stdio-bridge") == (1, "", f"{path}: No such file or directory\n")
    assert sotd(box, "stdio-bridge", "--endpoint", "unix:/nowhere") == (1, "", "/nowhere: No such file or directory\n")
    assert sotd(box, "stdio-bridge", "--host", "lab")[2].startswith(f"/run/user/{os.geteuid()}/sot-host-lab.sock: ")
    for words in (["--endpoint", "ssh:hub"], ["--endpoint", "tcp:1"], ["--host", "../x"]):
        code, out, err = sotd(box, "stdio-bridge", *words)
        assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="another account can only be acted by root")
def test_bridge_when_another_account_listens_then_not_a_byte_is_sent(box: Box) -> None:
    """Daemon wire 1.5: "<path>: not connecting: another OS account listens on this socket"."""
    folder = box.comm.parent / "theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    for each in (folder, folder.parent):
        each.chmod(0o777)
    program = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "one = socket.socket(socket.AF_UNIX); one.bind(sys.argv[1]); one.listen(1); print('up', flush=True)\n"
        "took, _ = one.accept(); took.settimeout(10); print(took.recv(100))\n"
    )
    path = folder / "s"
    words = [sys.executable, "-I", "-c", program, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"up\n"
        said = sotd(box, "stdio-bridge", "--endpoint", f"unix:{path}", body=hello())
        assert said == (1, "", f"{path}: not connecting: another OS account listens on this socket\n")
        assert other.stdout.read() == b"b''\n"


def test_bridge_when_its_output_is_gone_then_it_ends(daemons: Daemons) -> None:
    daemons.serve()
    one = bridge(daemons.box)
    assert one.stdin is not None
    assert one.stdout is not None
    one.stdout.close()
    one.stdin.write(hello(host="box"))
    assert one.wait(DEADLINE_S) == 1
    one.stdin.close()
    assert one.stderr is not None
    assert one.stderr.read().count(b"\n") == 1
    one.stderr.close()


@pytest.mark.parametrize(
    "words",
    [["run"], ["session-socket-path"], ["stdio-bridge"], ["topology"], ["topology", "plan"]],
    ids=" ".join,
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_command_when_asked_for_its_usage_then_says_it_and_does_nothing(
    words: list[str], option: str, box: Box
) -> None:
    code, out, err = sotd(box, *words, option)
    assert (code, err) == (0, "")
    assert f"Usage: sotd {words[0]}" in out
