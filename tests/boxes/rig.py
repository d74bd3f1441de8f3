"""Boxes that are truly apart, on one machine: each a set of namespaces with its own network, name, processes and ids.

A box has its own comm home, host name, machine id, boot id, runtime folder and a real `sshd`; the boxes reach each
other over virtual cables and in no other way. Nothing of the machine is written to: what a box sees of its own in
/etc, /run and /proc is mounted over them inside the box. When the first process of a box ends, so does all that runs in
it. Making one needs root and a kernel that allows it; who may not is told in the kernel's own words.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sot_tui.comm.clock import stamp
from tests.caller import DEADLINE_S

if TYPE_CHECKING:
    from collections.abc import Callable

_BIN = os.path.dirname(sys.executable)
_NET = "10.77.0"
_APART = ("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child")

_INSIDE = r"""
set -e
mount --make-rprivate /
mount -t proc proc /proc
hostname "$NAME"
mount --bind "$OWN/machine-id" /etc/machine-id
mount --bind "$OWN/boot-id" /proc/sys/kernel/random/boot_id
mount --bind "$OWN/hosts" /etc/hosts
mount --bind "$OWN/ssh" /etc/ssh
mount -t tmpfs -o mode=755 tmpfs /run
[ -z "$SHARED" ] || mount -t tmpfs -o mode=700 tmpfs "$SHARED"
mkdir -p -m 755 /run/sshd /run/user
mkdir -p -m 700 "/run/user/$(id -u)"
ip link set lo up
echo made
while read -r word; do [ "$word" = go ] && break; done
/usr/sbin/sshd -f /etc/ssh/sshd_config
echo up
exec sleep infinity
"""


def refusal() -> str:
    """Return why boxes cannot be made here, in the words of who refuses; "" when they can."""
    for words in (("/usr/sbin/sshd", "-?"), ("ip", "-V"), ("ssh", "-V"), ("nsenter", "-V")):
        try:
            subprocess.run(words, capture_output=True, check=False)
        except OSError as error:
            return f"{words[0]}: {error.strerror}"
    shell = "mount --make-rprivate / && mount -t tmpfs tmpfs /run && ip link add sotx type veth peer name soty"
    tried = subprocess.run([*_APART, "sh", "-c", shell], capture_output=True, text=True, check=False)
    return tried.stderr.strip() or f"unshare ended with {tried.returncode}" if tried.returncode else ""


class Box:
    """One box of a rig."""

    def __init__(self, rig: Rig, name: str, number: int) -> None:
        """`number` is its place on the network."""
        self.rig, self.name, self.address = rig, name, f"{_NET}.{number}"
        self.own = rig.folder / name
        self.comm = self.own / "comm"
        self.env = {
            "HOME": str(self.own / "home"),
            "SOT_COMM_HOME": str(self.comm),
            "XDG_CONFIG_HOME": str(self.own / "config"),
            "XDG_STATE_HOME": str(self.own / "state"),
            "XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}",
            "PATH": f"{_BIN}:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
        }
        for folder in ("home", "config/sot", "state", "ssh", "work"):
            (self.own / folder).mkdir(mode=0o700, parents=True)
        self.project = self.own / "work"
        """Where its commands are run: the project that joined last."""
        self.first: subprocess.Popen[str] | None = None
        self.started: list[subprocess.Popen[bytes]] = []

    # -- made and ended ----------------------------------------------------------------------------------------------

    def make(self, hosts: str, beside: Box | None = None, shared: Path | None = None) -> None:
        """Make the namespaces, and all that is mounted in them; the network and sshd come with `go`.

        The mounts are those of the box `beside`, where there is one; a file system that both have is made at `shared`.
        """
        (self.own / "machine-id").write_text(f"{uuid.uuid4().hex}\n", encoding="ascii")
        (self.own / "boot-id").write_text(f"{uuid.uuid4()}\n", encoding="ascii")
        (self.own / "hosts").write_text(hosts, encoding="ascii")
        ssh = self.own / "ssh"
        _ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", str(ssh / "host"))
        known = [f"{box.name} {(box.own / 'ssh/host.pub').read_text()}" for box in self.rig.boxes if box.is_keyed]
        for box in self.rig.boxes:
            if box.is_keyed:
                (box.own / "ssh/known").write_text("".join(known), encoding="ascii")
        variables = " ".join(f'{name}="{value}"' for name, value in self.env.items())
        (ssh / "sshd_config").write_text(
            f"HostKey {ssh}/host\nAuthorizedKeysFile {self.rig.key}.pub\nStrictModes no\nPidFile none\n"
            f"PermitRootLogin yes\nPasswordAuthentication no\nUsePAM no\nUseDNS no\nSetEnv {variables}\n",
            encoding="ascii",
        )
        (ssh / "ssh_config").write_text(
            f"IdentityFile {self.rig.key}\nIdentitiesOnly yes\nUserKnownHostsFile {ssh}/known\n"
            "StrictHostKeyChecking yes\n",
            encoding="ascii",
        )
        self.first = subprocess.Popen(
            [*(["nsenter", "-t", str(beside.pid), "-m", "--"] if beside else []), *_APART, "sh", "-c", _INSIDE],
            env={**os.environ, "NAME": self.name, "OWN": str(self.own), "SHARED": str(shared or "")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._hear("made")

    @property
    def is_keyed(self) -> bool:
        return (self.own / "ssh/host.pub").exists()

    @property
    def pid(self) -> int:
        """The first process inside, as the machine counts it."""
        assert self.first is not None
        return _child_of(self.first)

    def go(self) -> None:
        """Let sshd be started: the network stands."""
        assert self.first is not None
        assert self.first.stdin is not None
        self.first.stdin.write("go\n")
        self.first.stdin.flush()
        self._hear("up")

    def _hear(self, word: str) -> None:
        assert self.first is not None
        assert self.first.stdout is not None
        assert self.first.stderr is not None
        said = self.first.stdout.readline().strip()
        assert said == word, f"{self.name}: {said} {self.first.stderr.read()}"

    def end(self) -> None:
        """End all that runs in it."""
        if self.first is None:
            return
        self.first.kill()
        self.first.wait()
        for process in self.started:
            process.kill()
            process.wait()
        for stream in (self.first.stdin, self.first.stdout, self.first.stderr):
            if stream is not None:
                stream.close()

    # -- what a person does there ------------------------------------------------------------------------------------

    def inside(self, *words: str) -> list[str]:
        """Return the command that runs these words in the box."""
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-m", "-p", "--", *words]

    def cabled(self, *words: str) -> list[str]:
        """Return the `ip` command that works on its network; it sees the processes of the machine."""
        return ["nsenter", "-t", str(self.pid), "-n", "--", "ip", *words]

    def start(self, *words: str, **more: Any) -> subprocess.Popen[bytes]:
        """Start a command there."""
        told = {"env": {**self.env, "PWD": str(self.project)}, "stdin": subprocess.DEVNULL, **more}
        process = subprocess.Popen(self.inside("env", "-C", str(self.project), *words), **told)
        self.started.append(process)
        return process

    def run(self, *words: str, **more: Any) -> tuple[int, str, str]:
        """Run a command there; return its exit code, and what it said."""
        process = self.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        out, err = process.communicate(timeout=50)
        assert b"Traceback" not in out + err, out + err
        return process.returncode, out.decode(), err.decode()

    def ask(self, op: str, **payload: object) -> dict[str, Any]:
        """Ask this box's own daemon, over its bridge; return what it answers."""
        hello = {"client_id": "test", "protocol": 3, "host": self.name, "os_user": f"uid:{os.geteuid()}", "role": "cli"}
        frames = [
            {"v": 1, "id": n, "kind": "req", "op": o, "payload": p}
            for n, o, p in ((1, "hello", hello), (2, op, payload))
        ]
        bridge = self.start("sotd", "stdio-bridge", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        bridge.stdin.write("".join(json.dumps(frame, separators=(",", ":")) + "\n" for frame in frames).encode())
        bridge.stdin.flush()
        answer: dict[str, Any] = next(
            said["payload"] for said in map(json.loads, iter(bridge.stdout.readline, b"")) if said["id"] == 2
        )
        bridge.stdin.close()
        bridge.wait(timeout=30)
        bridge.stdout.close()
        return answer

    def row(self, project: str) -> str:
        """Start a row with a shell in it, whose session joins; return the row's id."""
        root = self.own / "work" / project
        root.mkdir(exist_ok=True)
        row = str(
            self.ask("workspace.create", label=project, project_root=str(root), agent="none", autostart_claude=False)[
                "workspace_id"
            ]
        )
        until(lambda: self.phase(row) == "ready", "the row is ready")
        self.type(row, "sot-tui join")
        until(lambda: f"{project}-{self.name}" in self.book()["agents"], "its session has joined")
        return row

    def phase(self, row: str) -> str:
        """Return where a row's run stands."""
        rows = self.ask("workspace.list")["workspaces"]
        return next(str(one["phase"]) for one in rows if one["workspace_id"] == row)

    def type(self, row: str, words: str) -> None:
        """Type a line into a row, and Enter."""
        data = base64.b64encode(words.encode()).decode()
        assert self.ask("pty.input", workspace_id=row, data_b64=data, enter=True)["enter"] == "sent"

    def send(self, to: str, words: str) -> str:
        """Send a message as the session of `join`; return the one result, without the indent of a script's own."""
        _, out, err = self.run("sot-tui", "send", f"@{to}", words)
        return (out.strip() or err.strip()).splitlines()[-1]

    def daemon(self) -> subprocess.Popen[bytes]:
        """Start the daemon, and wait until it serves."""
        log = self.own / "sotd.out"
        with log.open("wb") as out:
            started = self.start("sotd", "run", stdout=out, stderr=out)
        serves = b"sotd: serving "
        until(lambda: serves in log.read_bytes() or started.poll() is not None, f"{self.name}'s daemon serves", 60)
        assert serves in log.read_bytes(), log.read_bytes()
        return started

    def signal(self, started: subprocess.Popen[bytes], number: int) -> None:
        """Send a signal to the command itself, and not to what took it into the box."""
        os.kill(_child_of(started), number)

    def join(self, project: str) -> str:
        """Let a session of this project join; return its handle."""
        self.project = self.own / "work" / project
        self.project.mkdir(exist_ok=True)
        code, out, err = self.run("sot-tui", "join")
        assert code == 0, out + err
        return f"{project}-{self.name}"

    def topology(self, text: str) -> None:
        (self.own / "config/sot/hosts.toml").write_text(text, encoding="utf-8")

    # -- what lies there ---------------------------------------------------------------------------------------------

    def path(self, path: Path | str) -> Path:
        """Return where the machine finds a file that the box has at this path."""
        return Path(f"/proc/{self.pid}/root{path}")

    def inbox(self, handle: str) -> list[dict[str, Any]]:
        """Return the messages that lie in an inbox, read by nothing of the product."""
        try:
            data = self.path(self.comm / "inbox" / f"{handle}.jsonl").read_bytes()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in data.splitlines()]

    def book(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path(self.comm / "registry.json").read_bytes())
        return found

    def list_there(self, handle: str, host: str) -> None:
        """Write an entry of another host into the registry, as a join over there has done it."""
        agents = self.book()["agents"]
        like = next(iter(agents.values()))
        entry = {**like, "host": host, "root": "/elsewhere", "last_seen": stamp(time.time())}
        self.write_agents({**agents, handle: entry})

    def write_agents(self, agents: dict[str, Any]) -> None:
        """Put these entries into the registry, whole at once."""
        draft = self.path(self.comm / "draft")
        draft.write_text(json.dumps({**self.book(), "agents": agents}), encoding="utf-8")
        draft.chmod(0o600)
        draft.rename(self.path(self.comm / "registry.json"))


class Rig:
    """Boxes, and the cables between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder / "key"
        self.boxes: list[Box] = []
        _ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "person", "-f", str(self.key))

    def make(self, *names: str, sharing: tuple[str, ...] = ()) -> list[Box]:
        """Make boxes with these names, each on one cable to the first; those `sharing` have its comm home, too.

        What they share is a file system of which nobody knows the lock, so the hub alone writes there by itself.
        """
        self.boxes = [Box(self, name, number) for number, name in enumerate(names, 1)]
        shared = self.folder / "shared" if sharing else None
        if shared:
            shared.mkdir()
            for box in self.boxes:
                if box.name in (names[0], *sharing):
                    box.comm = shared / "comm"
                    box.env["SOT_COMM_HOME"] = str(box.comm)
        hosts = "127.0.0.1 localhost\n" + "".join(f"{box.address} {box.name}\n" for box in self.boxes)
        first, *others = self.boxes
        first.make(hosts, shared=shared)
        for box in others:
            box.make(hosts, beside=first if box.name in sharing else None)
        _ran(*first.cabled("link", "add", "bridge0", "type", "bridge"))
        _ran(*first.cabled("address", "add", f"{first.address}/24", "dev", "bridge0"))
        _ran(*first.cabled("link", "set", "bridge0", "up"))
        for box in others:
            cable = f"to-{box.name}"
            _ran(*first.cabled("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(box.pid)))
            _ran(*first.cabled("link", "set", cable, "master", "bridge0", "up"))
            _ran(*box.cabled("address", "add", f"{box.address}/24", "dev", "eth0"))
            _ran(*box.cabled("link", "set", "eth0", "up"))
        for box in self.boxes:
            box.go()
        return self.boxes

    def cut(self, box: Box) -> None:
        """Pull the cable of a box: nothing goes through, and neither end is told."""
        _ran(*self.boxes[0].cabled("link", "set", f"to-{box.name}", "down"))

    def mend(self, box: Box) -> None:
        """Put the cable back."""
        _ran(*self.boxes[0].cabled("link", "set", f"to-{box.name}", "up"))

    def end(self) -> None:
        """End all that runs in the boxes."""
        for box in self.boxes:
            with suppress(OSError):
                box.end()


def until(fact: Callable[[], object], what: str, seconds: float = DEADLINE_S) -> None:
    """Wait for a fact."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)


def _child_of(process: subprocess.Popen[Any]) -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    return int(children[0])


def _ran(*words: str) -> None:
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(words)}: {ran.stderr}"
