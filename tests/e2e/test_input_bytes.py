"""What a keyboard, a paste or a broken line may send: no byte of it ends the dashboard."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pexpect
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"\xe9 ",
        b"\xc3",
        b"\xf0\x9f",
        b"\x1b[200~\xff\xfe\x00\x80 pasted\x1b[201~",
        b"\x1b[<0;\xff;3M",
        b"\x1b[97;1:3u",
        b"\x1b[1114112u",
        b"\x1b[99999999999999999999u",
    ],
    ids=[
        "no utf-8", "latin-1", "cut short", "cut emoji", "binary paste", "broken mouse report", "a key's release",
        "a key beyond unicode", "a key beyond numbers",
    ],
)  # fmt: skip
def test_dashboard_when_the_terminal_sends_what_is_no_key_then_it_goes_on(comm_home: Path, data: bytes) -> None:
    """One Latin-1 letter ended the dashboard once, and took the draft with it."""
    child = pexpect.spawn(sys.executable, ["-m", "sot_tui"], dimensions=(30, 100), timeout=20, echo=False)
    try:
        child.expect(b"No session has joined yet")
        child.send(data)
        # What was cut short may take the next key with it, as in any terminal; the one after is a key again.
        for _ in range(5):
            child.send(b"?")
            if child.expect([b"Keys in", pexpect.TIMEOUT], timeout=4) == 0:
                break
        else:
            pytest.fail("no key is heard any more")
        child.kill(signal.SIGTERM)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
    finally:
        child.close(force=True)
    assert comm_home.is_dir()


def test_dashboard_when_stderr_goes_elsewhere_then_is_drawn_on_the_terminal_all_the_same(tmp_path: Path) -> None:
    """`sot-tui 2>log` drew every frame into the log, and the person saw nothing."""
    log = tmp_path / "log"
    command = f"exec {sys.executable} -m sot_tui 2>{log}"
    child = pexpect.spawn("sh", ["-c", command], dimensions=(30, 100), timeout=20, echo=False)
    try:
        child.expect(b"No session has joined yet")
        child.kill(signal.SIGTERM)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
        assert log.read_bytes() == b""
    finally:
        child.close(force=True)
