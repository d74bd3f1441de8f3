"""Boxes that are linked: real daemons, real commands of sessions, and a script in the place of ssh between them.

The script runs the command that it is given in the other box's environment: its own home, comm home and runtime folder.
Contract, Delivery, route 2.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from sot_tui.comm.mounts import lock_identity
from tests.caller import hello, request
from tests.e2e.test_sotd import SOTD, heard, until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

COMMAND = str(Path(sys.executable).with_name("sot-tui"))
BOXES = """\
hub = "hub"
[host.hub]
daemon = true
[host.lab]
daemon = true
frontend = true
"""
SSH = """#!{python} -I
import json, os, sys
if "-G" in sys.argv:
    sys.exit(255)
target, command = sys.argv[sys.argv.index("--") + 1 :]
fault = "{folder}/" + target + ".fault"
if os.path.exists(fault):
    sys.exit(open(fault).read())
os.execve("/bin/sh", ["sh", "-c", command], json.load(open("{folder}/" + target + ".json")))
"""


class There:
    """A box: folders and an environment of its own, and the commands of the session on it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.own = name, folder / name
        self.comm = self.own / "comm"
        self.env = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "SOT_COMM_HOME": str(self.comm),
            "SOT_SELF_HOST": name,
            "SOT_COMM_TEST_HOST": name,
        }
        for key, below in (
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_RUNTIME_DIR", "run"),
        ):
            (self.own / below).mkdir(mode=0o700, parents=True)
            self.env[key] = str(self.own / below)
        (self.own / "config" / "sot").mkdir()
        (self.own / "config" / "sot" / "hosts.toml").write_text(BOXES)
        self.work = self.own / "work" / "api"
        self.work.mkdir(parents=True)
        self.env["PWD"] = str(self.work)
        (folder / "bin" / f"{name}.json").write_text(json.dumps(self.env))
        self.fault = folder / "bin" / f"{name}.fault"
        self.daemon: subprocess.Popen[bytes] | None = None

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [COMMAND, *words],
            env=self.env,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, err = process.communicate(timeout=50)
        assert "Traceback" not in err, err
        return process.returncode, out, err

    def send(self, to: str, words: str) -> str:
        """Send, and return the one result."""
        code, out, err = self.run("send", f"@{to}", words)
        said = (out + err).strip()
        assert (code == 0) == said.startswith("filed -> "), said
        return said

    def join(self) -> None:
        code, _, err = self.run("join")
        assert code == 0, err
        # As its hub's daemon would write it, were the folder known to lie on a disk of its own.
        home = Home(str(self.comm))
        (self.comm / "inbox-lock-manager").write_text(f"{lock_identity(home)}\n{home.procs.machine_id()}\n")

    def serve(self) -> subprocess.Popen[bytes]:
        one = subprocess.Popen(
            [SOTD, "run"], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.daemon = one
        assert one.stderr is not None
        assert select.select([one.stderr], [], [], 30)[0], "it said nothing"
        said = one.stderr.readline().decode()
        assert said.startswith("sotd: serving "), said
        return one

    def end(self) -> None:
        one, self.daemon = self.daemon, None
        if one is None or one.poll() is not None:
            return
        one.send_signal(signal.SIGCONT)
        one.send_signal(signal.SIGTERM)
        try:
            one.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            one.kill()
            one.communicate()

    def inbox(self, handle: str) -> list[str]:
        try:
            lines = (self.comm / "inbox" / f"{handle}.jsonl").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line)["msg"] for line in lines]

    def list_there(self, **agents: dict[str, object]) -> None:
        path = self.comm / "registry.json"
        book = json.loads(path.read_text())
        book["agents"].update(agents)
        draft = path.with_name("draft")
        draft.write_text(json.dumps(book))
        draft.rename(path)

    def log(self) -> str:
        path = self.own / "state" / "sot" / "sotd.log"
        return path.read_text() if path.exists() else ""

    def doctor(self, what: str) -> list[dict[str, Any]]:
        found = json.loads(self.run("doctor", "--json")[1])["findings"]
        return [one for one in found if one["what"] == what]


def live(host: str) -> dict[str, object]:
    return {"host": host, "last_seen": stamp(time.time()), "root": "/elsewhere"}


class Two:
    """A hub and a lab that is linked to it; a session, api, on each."""

    def __init__(self, folder: Path) -> None:
        (folder / "bin").mkdir()
        ssh = folder / "bin" / "ssh"
        ssh.write_text(SSH.format(python=sys.executable, folder=folder / "bin"))
        ssh.chmod(0o700)
        self.hub, self.lab = There(folder, "hub"), There(folder, "lab")
        for box in (self.hub, self.lab):
            box.join()

    def serve(self) -> None:
        self.hub.serve()
        self.lab.serve()
        self.until_linked()

    def until_linked(self) -> None:
        until(lambda: "; not linked: " not in self.hub.send("nobody-moon", "are you there?"), "the lab is linked")


@pytest.fixture
def boxes(comm_home: Path) -> Iterator[Two]:
    found = Two(comm_home.parent)
    yield found
    found.lab.end()
    found.hub.end()


def test_send_when_the_boxes_are_linked_then_each_reaches_the_other_and_the_line_is_there_once(boxes: Two) -> None:
    """DEL-02: "a box with its own comm folder ... holds its own link to the hub, and its daemon files for that folder
    the requests the hub offers it over the link"."""
    boxes.serve()
    assert boxes.hub.send("api-lab", "there: ‘two\nlines’") == "filed -> @api-lab"
    assert boxes.lab.inbox("api-lab") == ["there: ‘two\nlines’"]
    assert boxes.lab.send("api-hub", "and back") == "filed -> @api-hub"
    assert boxes.hub.inbox("api-hub") == ["and back"]
    assert not boxes.hub.inbox("api-lab")
    assert not boxes.lab.inbox("api-hub")
    code, out, _ = boxes.lab.run("poll")
    assert code == 0
    assert "there: ‘two" in out
    assert "the link to hub stands" in boxes.lab.log()
    assert "the box lab is linked" in boxes.hub.log()


def test_request_when_the_scripts_bytes_come_through_a_real_bridge_then_the_hub_files_it_or_a_link_does(
    boxes: Two,
) -> None:
    """The bytes of the scripts' one exchange (daemon wire 2.4): hello and request in one burst, both with id 1."""
    boxes.serve()
    for to, box in (("api-hub", boxes.hub), ("api-lab", boxes.lab)):
        mail = {"from": "web-desk", "to": to, "text": "build is green", "broadcast": False}
        with subprocess.Popen(
            [SOTD, "stdio-bridge"], env=boxes.hub.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as bridge:
            assert bridge.stdin is not None
            bridge.stdin.write(hello(host="desk") + request("comm.file", mail))
            bridge.stdin.flush()
            answer = b'{"v":1,"id":1,"kind":"res","op":"comm.file","payload":{"ok":true}}'
            try:
                assert heard(bridge, "comm.file") == answer
            finally:
                bridge.stdin.close()
            assert bridge.wait(20) == 0
        assert box.inbox(to) == ["build is green"]


def test_send_when_no_box_lists_the_handle_under_its_own_name_then_nobody_knows_it(boxes: Two) -> None:
    """DEL-08: "A box whose daemon runs no rows holds no addresses." RT2-06: listed under another box is not here."""
    boxes.lab.list_there(**{"web-moon": live("moon"), "old-lab": {**live("lab"), "last_seen": "2026-01-01T00:00:00Z"}})
    boxes.serve()
    for box in (boxes.hub, boxes.lab):
        assert box.send("ghost-lab", "hi") == "FAILED -> @ghost-lab: no box knows that handle: ghost-lab"
    assert boxes.hub.send("web-moon", "hi") == "FAILED -> @web-moon: no box knows that handle: web-moon"
    assert boxes.hub.send("old-lab", "hi") == "FAILED -> @old-lab: no live session holds @old-lab"
    (boxes.lab.comm / "registry.json").write_text('{"protocol_version": 1, "agents": {}}')
    assert boxes.hub.send("api-lab", "hi") == "FAILED -> @api-lab: no box knows that handle: api-lab"
    assert not boxes.lab.inbox("api-lab")


def test_send_when_the_inbox_over_there_is_held_then_its_words_and_no_other_answer_waits(boxes: Two) -> None:
    """RT2-07: "It files each offer as it comes, so one held lock delays no other answer." """
    boxes.lab.list_there(**{"free-lab": live("lab")})
    boxes.serve()
    lock = os.open(boxes.lab.comm / "inbox" / "api-lab.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    held = boxes.hub.start("send", "@api-lab", "held")
    assert boxes.hub.send("free-lab", "passes") == "filed -> @free-lab"
    out, err = held.communicate(timeout=30)
    os.close(lock)
    words = "FAILED -> @api-lab: the inbox lock for @api-lab was held for 2s — nothing was appended"
    assert (out + err).strip() == words
    assert not boxes.lab.inbox("api-lab")
    assert boxes.lab.inbox("free-lab") == ["passes"]


def test_send_when_the_linked_daemon_stands_still_then_it_may_still_be_filed_and_is_there_at_most_once(
    boxes: Two,
) -> None:
    """RT2-04: "the daemon on <host> did not answer within <n>s; @<h> may still be filed": the one exception."""
    boxes.serve()
    assert boxes.lab.daemon is not None
    boxes.lab.daemon.send_signal(signal.SIGSTOP)
    words = "FAILED -> @api-lab: the daemon on lab did not answer within 3s; @api-lab may still be filed"
    assert boxes.hub.send("api-lab", "late") == words
    assert not boxes.lab.inbox("api-lab")
    assert boxes.lab.send("api-hub", "still") == "filed -> @api-hub", "what goes to the hub needs no link"
    boxes.lab.daemon.send_signal(signal.SIGCONT)
    until(lambda: boxes.hub.send("api-lab", "after") == "filed -> @api-lab", "it is linked again")
    assert boxes.lab.inbox("api-lab").count("late") <= 1
    assert boxes.lab.inbox("api-lab").count("after") == 1


def test_send_when_the_link_is_lost_then_the_box_is_named_and_it_comes_back(boxes: Two) -> None:
    """RT2-05: "no linked box knows that handle: <h>; not linked: <boxes>"."""
    boxes.serve()
    boxes.lab.end()
    nobody = "FAILED -> @api-lab: no linked box knows that handle: api-lab; not linked: lab"
    until(lambda: boxes.hub.send("api-lab", "lost") == nobody, "the lab is not linked any more")
    assert boxes.lab.send("ghost-moon", "hi").endswith("; not linked: lab")
    assert not boxes.lab.inbox("api-lab")
    boxes.lab.serve()
    boxes.until_linked()
    assert boxes.hub.send("api-lab", "back") == "filed -> @api-lab"
    assert boxes.lab.inbox("api-lab") == ["back"]


def test_link_when_the_hub_is_killed_and_comes_again_then_so_does_the_link(boxes: Two) -> None:
    boxes.serve()
    assert boxes.hub.daemon is not None
    boxes.hub.daemon.kill()
    boxes.hub.daemon.communicate()
    until(lambda: "the link to hub failed: " in boxes.lab.log(), "the lab knows")
    assert boxes.lab.send("ghost-moon", "hi").startswith("FAILED -> @ghost-moon: the daemon did not answer at ssh:hub")
    boxes.hub.serve()
    boxes.until_linked()
    assert boxes.hub.send("api-lab", "back") == "filed -> @api-lab"
    assert "link: it works again" in boxes.lab.log()


def test_link_when_ssh_fails_then_its_last_words_are_in_the_log_and_it_is_tried_until_it_stands(boxes: Two) -> None:
    boxes.hub.fault.write_text("a warning\nme@hub: Permission denied (publickey).")
    boxes.hub.serve()
    boxes.lab.serve()
    until(lambda: "the link to hub failed: me@hub: Permission denied (publickey)." in boxes.lab.log(), "it says why")
    boxes.hub.fault.unlink()
    boxes.until_linked()


def test_doctor_when_the_link_stands_or_not_then_both_boxes_say_so_and_what_to_do(boxes: Two) -> None:
    def told(box: There, what: str, level: str) -> dict[str, Any]:
        (found,) = box.doctor(what)
        assert found["level"] == level, found
        return found

    for box, what in ((boxes.hub, "links"), (boxes.lab, "link")):
        assert told(box, what, "warn")["step"] == "sotd run"
        assert json.loads(box.run("info", "--json")[1])["links"]["standing"] is None
    boxes.serve()
    assert told(boxes.hub, "links", "ok")["fact"] == "linked: lab"
    assert told(boxes.lab, "link", "ok")["fact"].startswith("it leads to hub, and stands for ")
    said = json.loads(boxes.lab.run("info", "--json")[1])["links"]
    assert (said["to"], said["from"], said["fault"]) == ("hub", [], None)
    assert (said["standing"]["up"], said["standing"]["why"]) == (True, "")
    said = json.loads(boxes.hub.run("info", "--json")[1])["links"]
    assert (said["to"], said["from"], said["standing"]["linked"]) == (None, ["lab"], ["lab"])
    assert "\nlink                      to hub, which stands for " in boxes.lab.run("info")[1]
    assert "\nlinks                     linked: lab\n" in boxes.hub.run("info")[1]
    boxes.hub.fault.write_text("me@hub: Permission denied (publickey).")
    boxes.hub.end()
    boxes.hub.serve()
    until(lambda: "Permission denied" in boxes.lab.doctor("link")[0]["fact"], "the lab knows why")
    found = told(boxes.lab, "link", "FAULT")
    assert found["step"].startswith("ssh -o BatchMode=yes -- hub 'PATH=")
    assert found["step"].endswith("; sotd stdio-bridge </dev/null'")
    found = told(boxes.hub, "links", "warn")
    assert (found["fact"], found["step"]) == ("not linked: lab; linked: nobody", "ssh -- lab sot-tui doctor")
    assert "which does not stand for " in boxes.lab.run("info")[1]


def test_daemon_when_it_ends_then_its_ssh_does_too(boxes: Two) -> None:
    boxes.serve()
    assert boxes.lab.daemon is not None
    pid = boxes.lab.daemon.pid
    bridges = _children(pid)
    assert len(bridges) == 1
    boxes.lab.end()
    assert not Path(f"/proc/{bridges[0]}").exists()
    boxes.lab.serve()
    boxes.until_linked()
    assert boxes.lab.daemon is not None
    bridges = _children(boxes.lab.daemon.pid)
    boxes.lab.daemon.kill()
    boxes.lab.daemon.communicate()
    until(lambda: not Path(f"/proc/{bridges[0]}").exists(), "the bridge of a killed daemon has ended")


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
    return found
