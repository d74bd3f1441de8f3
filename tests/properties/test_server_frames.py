"""Whatever a client writes, the daemon answers the next one: any bytes, any cuts, frames that are almost right."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.caller import DEADLINE_S, hello, request
from tests.daemons import Daemon, daemon
from tests.mailbox import mail_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPS = (
    "comm.file", "agent.send", "agent.join", "workspace.list", "workspace.create", "workspace.destroy",
    "workspace.activate", "pty.input", "pty.screen", "ping", "version.query", "accounts.list", "fe.command.send",
    "fe.presence", "fe.sessions", "tui.fleet", "tui.do", "tui.state", "tui.window", "tui.more", "hello", "nothing",
)  # fmt: skip
KEYS = (
    "workspace_id", "handle", "from", "to", "text", "broadcast", "forwarded", "label", "project_root", "agent",
    "data_b64", "enter", "origin", "cmd", "args", "target", "sessions", "command", "fields", "read", "blob", "id",
    "json", "ticket",
)  # fmt: skip

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["ws-web-1", "h"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
payloads = st.dictionaries(st.sampled_from(KEYS), values, max_size=6) | values


def frame(op: str, payload: object, number: object, kind: str) -> bytes:
    said = {"v": 1, "id": number, "kind": kind, "op": op, "payload": payload}
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


frames = st.builds(
    frame,
    st.sampled_from(OPS) | st.text(max_size=8),
    payloads,
    st.integers(-1, 1 << 65) | st.none(),
    st.sampled_from(["req", "req", "req", "res", "evt", "x"]),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Serve from a thread of its own, for every example."""
    folder: Path = tmp_path_factory.mktemp("d")
    path = f"/tmp/sot-fuzz-{os.getpid()}/s"
    os.mkdir(os.path.dirname(path), 0o700)
    home = mail_home(folder / "comm")
    (folder / "comm" / "registry.json").write_text('{"agents":{"h":{"host":"atlas","last_seen":"x"}}}')
    found: list[Daemon] = []
    begun, ended = threading.Event(), threading.Event()

    async def serve() -> None:
        environ = {"HOME": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        async with daemon(home, path=path, environ=environ) as one:
            one.rows.add("web")
            found.append(one)
            begun.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert begun.wait(DEADLINE_S)
    yield found[0]
    ended.set()
    thread.join(DEADLINE_S)
    os.rmdir(os.path.dirname(path))
    assert not thread.is_alive()


def write(path: str, parts: list[bytes]) -> None:
    """Write parts on one connection; a daemon that ends it has every right to."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(DEADLINE_S)
        one.connect(path)
        try:
            for part in parts:
                one.sendall(part)
            one.shutdown(socket.SHUT_WR)
            while one.recv(1 << 20):
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass


def pings(path: str) -> Any:
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(DEADLINE_S)
        one.connect(path)
        one.sendall(hello() + request("ping", {}))
        with one.makefile("rb") as lines:
            return next(json.loads(line)["payload"] for line in lines if b'"op":"ping"' in line)


FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)


@FUZZ
@given(st.lists(st.binary(max_size=200), max_size=6), st.booleans())
def test_bytes_when_they_are_anything_then_the_next_client_is_served(
    served: Daemon, parts: list[bytes], greets: bool
) -> None:
    write(served.path, [*([hello()] if greets else []), *parts])
    assert pings(served.path) == {"ok": True}


@FUZZ
@given(st.lists(frames, max_size=8))
def test_frames_when_they_are_almost_right_then_each_is_answered_or_the_connection_ends(
    served: Daemon, said: list[bytes]
) -> None:
    write(served.path, [hello(), *said])
    assert pings(served.path) == {"ok": True}
    faults = [words for words, good in served.log if not good and "Error" in words]
    assert not faults, "an op met something it does not expect"
