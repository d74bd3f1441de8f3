"""A comm home that two boxes share: the hub's record binds it, and a guest's mail goes through the hub.

The home lies on a file system whose lock nobody knows (the contract's `none@<machine-id>`), mounted on both boxes; the
guest reaches the hub by a socket that a real ssh carries. The sentences are the contract's.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui.comm.clock import stamp
from tests.boxes.rig import until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.boxes.rig import Box, Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TOPOLOGY = """
hub = "hub"
[host.hub]
daemon = true
[host.wing]
daemon = true
[host.lab]
daemon = true
frontend = true
"""


class Sharing(NamedTuple):
    """A hub, a guest on its folder, and a box with a folder of its own."""

    hub: Box
    wing: Box
    lab: Box
    daemons: dict[str, subprocess.Popen[bytes]]

    @property
    def record(self) -> Path:
        """Where the machine finds the record of the lock manager."""
        return self.hub.path(self.hub.comm / "inbox-lock-manager")

    def tunnel(self) -> subprocess.Popen[bytes]:
        """Carry the hub's socket to where a guest looks for it."""
        there, here = f"{self.hub.env['XDG_RUNTIME_DIR']}/sot/sessions/sot.sock", _relay(self.wing)
        tunnel = self.wing.start("ssh", "-N", "-o", "BatchMode=yes", "-L", f"{here}:{there}", "hub")
        until(self.wing.path(here).exists, "the socket is carried")
        return tunnel

    def machine(self, box: Box) -> str:
        return (box.own / "machine-id").read_text(encoding="ascii").strip()


def _relay(box: Box) -> str:
    return f"{box.env['XDG_RUNTIME_DIR']}/sot-relay.sock"


@pytest.fixture
def sharing(rig: Rig) -> Sharing:
    """Return the boxes; every daemon is up, the guest's way to the hub stands."""
    hub, wing, lab = rig.make("hub", "wing", "lab", sharing=("wing",))
    daemons = {}
    for box in (hub, wing, lab):
        box.topology(TOPOLOGY)
        daemons[box.name] = box.daemon()
        box.join("api")
    boxes = Sharing(hub, wing, lab, daemons)
    boxes.tunnel()
    return boxes


def words_of(box: Box, handle: str) -> list[str]:
    return [str(line["msg"]) for line in box.inbox(handle)]


def test_record_when_the_hub_starts_then_it_is_the_hubs_own_and_a_guest_leaves_it(sharing: Sharing) -> None:
    machine = sharing.machine(sharing.hub)
    assert sharing.record.read_text(encoding="ascii") == f"none@{machine}\n{machine}\n"
    before = sharing.record.stat()
    sharing.wing.signal(sharing.daemons["wing"], signal.SIGKILL)
    sharing.wing.daemon()
    assert sharing.record.stat() == before


def test_send_when_on_the_guest_then_the_hub_files_it_once(sharing: Sharing) -> None:
    assert sharing.wing.send("api-hub", "across") == "filed -> @api-hub"
    assert sharing.wing.send("api-wing", "to oneself") == "filed -> @api-wing"
    assert sharing.hub.send("api-wing", "by itself") == "filed -> @api-wing"
    assert [(line["repo"], line["msg"]) for line in sharing.hub.inbox("api-hub")] == [("daemon", "across")]
    assert [(line["repo"], line["msg"]) for line in sharing.hub.inbox("api-wing")] == [
        ("daemon", "to oneself"),
        ("api", "by itself"),
    ]


def test_send_when_the_guest_has_no_way_to_the_hub_then_it_says_so_and_appends_nothing(sharing: Sharing) -> None:
    assert sharing.wing.run("pkill", "-9", "-x", "ssh")[0] == 0
    relay = _relay(sharing.wing)
    until(lambda: not sharing.wing.run("pgrep", "-x", "ssh")[1], "the way is gone")
    said = sharing.wing.send("api-hub", "lost?")
    assert said.startswith(f"FAILED -> @api-hub: the hub did not answer at unix:{relay}: "), said
    assert not sharing.hub.inbox("api-hub")
    sharing.wing.run("rm", "-f", relay)
    sharing.tunnel()
    assert sharing.wing.send("api-hub", "found") == "filed -> @api-hub"
    assert words_of(sharing.hub, "api-hub") == ["found"]


def test_send_when_the_guests_list_of_boxes_cannot_be_read_then_it_names_no_hub(sharing: Sharing) -> None:
    sharing.wing.topology("hub = 7\n")
    said = sharing.wing.send("api-hub", "hi")
    assert said.startswith("FAILED -> @api-hub: this box's hosts.toml cannot be read, so it names no hub: "), said
    assert not sharing.hub.inbox("api-hub")


def test_send_when_the_record_is_another_machines_then_the_hub_refuses_both_and_names_the_recovery(
    sharing: Sharing,
) -> None:
    sharing.record.write_text("none@feed\nfeed\n", encoding="ascii")
    own, record = f"none@{sharing.machine(sharing.hub)}", f"{sharing.hub.comm}/inbox-lock-manager"
    why = (
        "the inbox lock record names none@feed, written by machine feed, a different lock manager from this hub's "
        f"{own}: stop every daemon on this comm folder, delete {record}, then start the hub"
    )
    for box in (sharing.hub, sharing.wing):
        assert box.send("api-hub", "hi") == f"FAILED -> @api-hub: {why}"
    assert not sharing.hub.inbox("api-hub")
    sharing.hub.signal(sharing.daemons["hub"], signal.SIGTERM)
    sharing.daemons["hub"].wait(timeout=30)
    sharing.hub.daemon()
    assert sharing.record.read_text(encoding="ascii") == "none@feed\nfeed\n", "another machine's record is left"


def test_send_when_the_hub_is_frozen_then_the_guest_says_that_it_did_not_answer(sharing: Sharing) -> None:
    sharing.hub.signal(sharing.daemons["hub"], signal.SIGSTOP)
    begun = time.monotonic()
    said = sharing.wing.send("api-hub", "hi")
    assert said.startswith("FAILED -> @api-hub: the hub did not answer at unix:"), said
    assert time.monotonic() - begun < 20
    sharing.hub.signal(sharing.daemons["hub"], signal.SIGCONT)
    until(lambda: sharing.wing.send("api-hub", "after") == "filed -> @api-hub", "the hub is back")
    assert words_of(sharing.hub, "api-hub").count("hi") <= 1


def test_send_when_the_session_on_the_shared_home_is_stale_then_no_live_session(sharing: Sharing) -> None:
    agents = sharing.hub.book()["agents"]
    agents["api-hub"]["last_seen"] = stamp(time.time() - 700)
    sharing.hub.write_agents(agents)
    assert sharing.wing.send("api-hub", "hi") == "FAILED -> @api-hub: no live session holds @api-hub"


def test_send_when_from_a_linked_box_to_the_guests_session_then_the_hub_files_it(sharing: Sharing) -> None:
    assert sharing.lab.send("api-wing", "from afar") == "filed -> @api-wing"
    assert words_of(sharing.hub, "api-wing") == ["from afar"]


def test_send_when_from_the_guest_to_a_linked_box_then_the_hub_offers_it(sharing: Sharing) -> None:
    until(lambda: sharing.wing.send("api-lab", "to afar") == "filed -> @api-lab", "the lab is linked")
    assert words_of(sharing.lab, "api-lab") == ["to afar"]


def test_record_when_two_daemons_race_for_it_then_one_writes_it_and_the_other_refuses(rig: Rig) -> None:
    """Both take themselves for the hub: of two daemons starting at once only one writes it."""
    hub, wing = rig.make("hub", "wing", sharing=("wing",))
    for _ in range(5):
        outs = [box.start("sotd", "run", stdout=-1, stderr=-2) for box in (hub, wing)]
        record = hub.path(hub.comm / "inbox-lock-manager")
        until(record.exists, "the record is written")
        for box in (hub, wing):
            until(box.path(f"{box.env['XDG_RUNTIME_DIR']}/sot/sessions/sot.sock").exists, "it serves")
            box.join("api")
        lines = record.read_text(encoding="ascii").splitlines()
        ids = {box.name: (box.own / "machine-id").read_text(encoding="ascii").strip() for box in (hub, wing)}
        assert lines in [[f"none@{machine}", machine] for machine in ids.values()]
        winner, loser = (hub, wing) if lines[1] == ids["hub"] else (wing, hub)
        assert winner.send(f"api-{winner.name}", "hi") == f"filed -> @api-{winner.name}"
        assert loser.send(f"api-{loser.name}", "hi").startswith(
            f"FAILED -> @api-{loser.name}: the inbox lock record names {lines[0]}, written by machine {lines[1]}, a"
            " different lock manager from this hub's "
        )
        for box, process in zip((hub, wing), outs, strict=True):
            box.signal(process, signal.SIGTERM)
            process.communicate(timeout=30)
        record.unlink()
