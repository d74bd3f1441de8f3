"""Delivery between boxes, from the command of a session to the inbox on the other box, over a real ssh.

Every box is a set of namespaces (tests/boxes/rig.py). The sentences are the contract's, and after each the inbox is
read by nothing of the product: filed is there once, anything else is not.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui.comm import mounts
from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from tests.boxes.rig import until

if TYPE_CHECKING:
    from tests.boxes.rig import Box, Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TOPOLOGY = """
hub = "hub"
[host.hub]
daemon = true
[host.lab]
daemon = true
frontend = true
[host.desk]
daemon = true
frontend = true
"""


class Three(NamedTuple):
    """A hub and two boxes with comm folders of their own, each with one session; `daemons` by the box's name."""

    hub: Box
    lab: Box
    desk: Box
    daemons: dict[str, subprocess.Popen[bytes]]

    def linked(self, *names: str) -> bool:
        """Tell whether exactly these boxes are linked to the hub, as a message to nobody tells it."""
        said = self.hub.send("nobody-anywhere", "are you there?")
        missing = {"lab", "desk"} - set(names)
        told = said.partition("; not linked: ")[2]
        return {name.strip() for name in told.split(",") if name.strip()} == missing and "may still" not in said


@pytest.fixture
def three(rig: Rig) -> Three:
    """Return the three boxes, all daemons up and both links."""
    hub, lab, desk = rig.make("hub", "lab", "desk")
    if not mounts.lock_identity(Home(str(lab.comm))).startswith("local "):
        pytest.skip(f"a box files what it is offered on a disk of its own alone, and {lab.own} lies on none")
    daemons = {}
    for box in (hub, lab, desk):
        box.topology(TOPOLOGY)
        box.join("api")
        daemons[box.name] = box.daemon()
    boxes = Three(hub, lab, desk, daemons)
    until(lambda: boxes.linked("lab", "desk"), "both are linked")
    return boxes


def words_of(box: Box, handle: str) -> list[str]:
    return [str(line["msg"]) for line in box.inbox(handle)]


def test_send_when_the_other_box_is_linked_then_the_line_is_in_its_inbox_once(three: Three) -> None:
    hub, lab, desk, _ = three
    for sender, receiver in ((hub, lab), (lab, hub), (lab, desk), (desk, lab), (hub, desk), (desk, hub)):
        handle, body = f"api-{receiver.name}", f"from {sender.name}: ‘two\nlines’ \u202e"
        assert sender.send(handle, body) == f"filed -> @{handle}"
        lines = [line for line in receiver.inbox(handle) if line["msg"] == body]
        assert [(line["from"], line["to"], line["repo"]) for line in lines] == [
            (f"api-{sender.name}", handle, "daemon")
        ]
        for box in {hub, lab, desk} - {receiver}:
            assert not box.inbox(handle)


def test_send_when_no_box_has_the_handle_then_nobody_knows_it(three: Three) -> None:
    for box in three[:3]:
        assert box.send("ghost-moon", "hi") == "FAILED -> @ghost-moon: no box knows that handle: ghost-moon"
        assert box.send("a/b", "hi").startswith("FAILED -> @a/b: not a handle")


def test_send_when_a_box_that_should_be_linked_is_not_then_it_is_named(three: Three) -> None:
    three.desk.signal(three.daemons["desk"], signal.SIGKILL)
    until(lambda: three.linked("lab"), "the desk is not linked any more")
    nobody = "FAILED -> @ghost-moon: no linked box knows that handle: ghost-moon; not linked: desk"
    assert three.hub.send("ghost-moon", "hi") == nobody
    assert three.lab.send("ghost-moon", "hi") == nobody
    assert three.lab.send("api-hub", "still") == "filed -> @api-hub"
    three.desk.daemon()
    until(lambda: three.linked("lab", "desk"), "the desk is linked again", 60)
    assert three.hub.send("api-desk", "back") == "filed -> @api-desk"
    assert words_of(three.desk, "api-desk") == ["back"]


def test_send_when_its_session_over_there_is_not_live_then_that_boxs_own_words(three: Three) -> None:
    agents = three.lab.book()["agents"]
    agents["api-lab"]["last_seen"] = stamp(time.time() - 700)
    three.lab.write_agents(agents)
    assert three.hub.send("api-lab", "hi") == "FAILED -> @api-lab: no live session holds @api-lab"
    assert not three.lab.inbox("api-lab")


def test_send_when_the_linked_box_lists_the_handle_under_another_host_then_it_is_not_there(three: Three) -> None:
    """RT2-06: a linked daemon answers not_here unless its own folder lists the handle under its own box."""
    three.lab.list_there("web-moon", "moon")
    assert three.hub.send("web-moon", "hi") == "FAILED -> @web-moon: no box knows that handle: web-moon"
    assert not three.lab.inbox("web-moon")


def test_send_when_the_inbox_over_there_is_locked_then_nothing_is_appended_and_no_other_answer_waits(
    three: Three,
) -> None:
    three.lab.list_there("free-lab", "lab")
    lock = os.open(three.lab.comm / "inbox" / "api-lab.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    held = three.hub.start("sot-tui", "send", "@api-lab", "held", stdout=-1, stderr=-1)
    assert three.hub.send("free-lab", "passes") == "filed -> @free-lab"
    assert held.poll() is None, "the other answer came first"
    out, err = held.communicate(timeout=30)
    assert (out + err).decode().strip() == (
        "FAILED -> @api-lab: the inbox lock for @api-lab was held for 2s — nothing was appended"
    )
    os.close(lock)
    assert not three.lab.inbox("api-lab")
    assert words_of(three.lab, "free-lab") == ["passes"]


def test_send_when_the_linked_daemon_is_frozen_then_it_may_still_be_filed_and_is_there_at_most_once(
    three: Three,
) -> None:
    """The named exception: what was offered may lie in the inbox though its sender was told of no answer."""
    three.lab.signal(three.daemons["lab"], signal.SIGSTOP)
    begun = time.monotonic()
    said = three.hub.send("api-lab", "late")
    assert said == "FAILED -> @api-lab: the daemon on lab did not answer within 3s; @api-lab may still be filed"
    assert time.monotonic() - begun < 20, "an answer of the contract comes within seconds"
    assert three.hub.send("api-desk", "fine") == "filed -> @api-desk"
    three.lab.signal(three.daemons["lab"], signal.SIGCONT)
    until(lambda: three.hub.send("api-lab", "after").startswith("filed"), "it is linked again", 60)
    assert words_of(three.lab, "api-lab").count("after") == 1
    assert words_of(three.lab, "api-lab").count("late") <= 1


def test_send_when_the_cable_is_cut_then_it_may_still_be_filed_and_is_not(rig: Rig, three: Three) -> None:
    rig.cut(three.lab)
    said = three.hub.send("api-lab", "nobody hears this")
    assert said == "FAILED -> @api-lab: the daemon on lab did not answer within 3s; @api-lab may still be filed"
    assert not three.lab.inbox("api-lab")
    assert three.hub.send("api-desk", "fine") == "filed -> @api-desk"
    rig.mend(three.lab)
    until(lambda: three.hub.send("api-lab", "after").startswith("filed"), "it is linked again", 90)
    assert words_of(three.lab, "api-lab").count("after") == 1


def test_send_when_the_ssh_of_the_link_is_killed_then_it_comes_back_and_mail_with_it(three: Three) -> None:
    killed = three.lab.run("pkill", "-9", "-x", "ssh")
    assert killed[0] == 0
    until(lambda: three.linked("lab", "desk"), "it is linked again", 30)
    assert three.hub.send("api-lab", "after") == "filed -> @api-lab"
    assert words_of(three.lab, "api-lab") == ["after"]


def test_send_when_the_link_is_cut_in_the_middle_of_an_offer_then_it_may_still_be_filed_and_is_there_at_most_once(
    three: Three,
) -> None:
    """The offer waits for the inbox lock over there when the link ends: nobody can tell, and nothing is doubled."""
    lock = os.open(three.lab.comm / "inbox" / "api-lab.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    asked = three.hub.start("sot-tui", "send", "@api-lab", "cut off", stdout=-1, stderr=-1)
    waiter = f":{os.fstat(lock).st_ino} 0 EOF"
    until(
        lambda: any("->" in line and waiter in line for line in Path("/proc/locks").read_text().splitlines()),
        "the offer waits for the lock",
    )
    three.lab.run("pkill", "-9", "-x", "ssh")
    out, err = asked.communicate(timeout=30)
    said = (out + err).decode().strip()
    assert said == "FAILED -> @api-lab: the daemon on lab did not answer within 3s; @api-lab may still be filed"
    os.close(lock)
    until(lambda: three.hub.send("api-lab", "after").startswith("filed"), "it is linked again", 60)
    assert words_of(three.lab, "api-lab").count("after") == 1
    assert words_of(three.lab, "api-lab").count("cut off") <= 1


HELLO = (
    b'{"v":1,"id":1,"kind":"req","op":"hello","payload":{"client_id":"sot-comm","last_seen_revision":0,"protocol":3,'
    b'"app_version":"comm","host":"%s","os_user":"uid:%d","role":"cli","name":"api-%s"}}\n'
)
FILE = (
    b'{"v":1,"id":1,"kind":"req","op":"comm.file","payload":{"from":"api-%s","to":"%s","text":"by its own bytes",'
    b'"broadcast":false}}\n'
)


@pytest.mark.parametrize("receiver", ["api-hub", "api-desk", "ghost-moon"])
def test_bridge_when_the_reference_client_writes_then_its_bytes_reach_the_hub_and_the_link(
    three: Three, receiver: str
) -> None:
    """Both lines in one burst, both with id 1, the input kept open; once on the hub, once from a linked box by ssh."""
    for box, command in (
        (three.hub, ("sotd", "stdio-bridge")),
        (three.lab, ("ssh", "-T", "-o", "BatchMode=yes", "hub", "sotd stdio-bridge")),
    ):
        name = box.name.encode()
        bridge = box.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        bridge.stdin.write(HELLO % (name, os.geteuid(), name) + FILE % (name, receiver.encode()))
        bridge.stdin.flush()
        lines = iter(bridge.stdout.readline, b"")
        answer = next(line for line in lines if b'"op":"comm.file"' in line)
        if receiver == "ghost-moon":
            assert answer.endswith(b'"payload":{"error":"no box knows that handle: ghost-moon","code":"not_here"}}\n')
        else:
            assert answer == b'{"v":1,"id":1,"kind":"res","op":"comm.file","payload":{"ok":true}}\n'
        bridge.stdin.close()
        assert bridge.wait(timeout=30) == 0
        bridge.stdout.close()
    boxes = {f"api-{box.name}": box for box in three[:3]}
    if receiver in boxes:
        assert words_of(boxes[receiver], receiver) == ["by its own bytes"] * 2


def test_send_when_the_hub_is_gone_then_it_fails_and_when_it_is_back_the_links_are(three: Three) -> None:
    hub, lab, desk, daemons = three
    hub.signal(daemons["hub"], signal.SIGKILL)
    daemons["hub"].wait()
    said = lab.send("api-desk", "lost?")
    assert said.startswith("FAILED -> @api-desk: "), said
    assert not desk.inbox("api-desk")
    assert lab.send("api-lab", "at home") == "filed -> @api-lab", "what is at home needs no hub"
    hub.daemon()
    until(lambda: three.linked("lab", "desk"), "both are linked again", 60)
    assert lab.send("api-desk", "back") == "filed -> @api-desk"
    assert words_of(desk, "api-desk") == ["back"]
