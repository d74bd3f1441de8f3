"""The bridge between two descriptors and a real listener: every byte in both directions, and whose end is whose."""

from __future__ import annotations

import os
import socket
import threading
import warnings
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import bridge
from sot_tui.comm.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.timeout(30)
MUCH = bytes(range(256)) * 8192
"""Two megabytes: more than a pipe and a socket hold together."""


class Bridged:
    """A bridge that runs, with a test at each of its ends."""

    def __init__(self, folder: Path) -> None:
        path = str(folder / "s")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            source, self.input = os.pipe()
            self.output, target = os.pipe()
            self.said: list[str] = []
            self._theirs = (source, target)
            self.thread = threading.Thread(target=self._run, args=(path,), daemon=True)
            self.thread.start()
            self.daemon = listener.accept()[0]
        self._ours = {self.input, self.output}

    def _run(self, path: str) -> None:
        source, target = self._theirs
        self.said.append(bridge.run(Home("/nowhere"), path, source, target))
        os.close(source)
        os.close(target)

    def end(self, descriptor: int) -> None:
        self._ours.discard(descriptor)
        os.close(descriptor)

    def come(self) -> bytes:
        """Return all that comes out until its end."""
        parts = []
        while part := os.read(self.output, 1 << 16):
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        for descriptor in list(self._ours):
            self.end(descriptor)
        self.daemon.close()
        self.thread.join(20)
        assert not self.thread.is_alive()


@pytest.fixture
def bridged(comm_home: Path) -> Iterator[Bridged]:
    one = Bridged(comm_home.parent)
    yield one
    one.close()


def received(daemon: socket.socket) -> bytes:
    """Return all that a daemon gets until the other side's end."""
    parts = []
    while part := daemon.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def test_bytes_when_they_come_in_then_the_daemon_has_them_at_once_and_its_answer_comes_out(bridged: Bridged) -> None:
    for word in (b"one\n", b"two\n"):
        os.write(bridged.input, word)
        assert bridged.daemon.recv(64) == word
        bridged.daemon.sendall(b"to " + word)
        assert os.read(bridged.output, 64) == b"to " + word


def test_input_when_it_ends_then_what_came_before_is_with_the_daemon_and_its_side_is_closed(bridged: Bridged) -> None:
    os.write(bridged.input, b"last")
    bridged.end(bridged.input)
    assert received(bridged.daemon) == b"last"
    bridged.thread.join(20)
    assert bridged.said == [""]


def test_daemon_when_it_ends_then_all_it_said_comes_out_first(bridged: Bridged) -> None:
    def speak() -> None:
        bridged.daemon.sendall(MUCH)
        bridged.daemon.close()

    speaker = threading.Thread(target=speak)
    speaker.start()
    assert bridged.come() == MUCH
    speaker.join(20)
    assert bridged.said == [""]


def test_bytes_when_both_sides_send_much_before_they_take_any_then_neither_waits_for_the_other(
    bridged: Bridged,
) -> None:
    """Nothing here waits for one side with bytes of the other in hand."""
    taken: list[bytes] = []

    def feed() -> None:
        view = memoryview(MUCH)
        while view:
            view = view[os.write(bridged.input, view) :]

    def take() -> None:
        parts = b""
        while len(parts) < len(MUCH):
            parts += os.read(bridged.output, 1 << 16)
        taken.append(parts)

    threads = [threading.Thread(target=act, daemon=True) for act in (feed, take)]
    for thread in threads:
        thread.start()
    bridged.daemon.sendall(MUCH)  # only then it takes what it is sent
    got = b""
    while len(got) < len(MUCH):
        got += bridged.daemon.recv(1 << 16)
    for thread in threads:
        thread.join(20)
    assert (got, taken) == (MUCH, [MUCH])
    bridged.end(bridged.input)
    assert received(bridged.daemon) == b""


def test_bridge_when_it_is_over_then_its_connection_was_closed_and_not_left_to_be_found(comm_home: Path) -> None:
    path = str(comm_home.parent / "s")
    with socket.socket(socket.AF_UNIX) as listener, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        listener.bind(path)
        listener.listen()
        source, feed = os.pipe()
        os.close(feed)
        assert bridge.run(Home("/nowhere"), path, source, source) == ""
        os.close(source)
        with listener.accept()[0] as daemon:
            assert daemon.recv(1) == b""
    assert [str(one.message) for one in warned if "socket" in str(one.message)] == []


def test_bridge_when_nobody_listens_or_a_side_breaks_then_says_so(comm_home: Path) -> None:
    path = str(comm_home.parent / "s")
    assert bridge.run(Home("/nowhere"), path) == f"{path}: No such file or directory"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        source, feed = os.pipe()
        broken, closed = os.pipe()
        os.close(broken)

        def speak() -> None:
            with listener.accept()[0] as daemon:
                daemon.sendall(b"x")
                daemon.recv(1)

        speaker = threading.Thread(target=speak)
        speaker.start()
        assert bridge.run(Home("/nowhere"), path, source, closed) == f"{path}: Broken pipe"
        speaker.join(20)
        for descriptor in (source, feed, closed):
            os.close(descriptor)
