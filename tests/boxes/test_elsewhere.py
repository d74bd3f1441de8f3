"""The nav over boxes: a row of another box on the screen of this one, in a real terminal."""

from __future__ import annotations

import shlex
import signal
from typing import TYPE_CHECKING

import pytest

from tests.boxes.rig import until
from tests.e2e.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.boxes.rig import Box, Rig

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

TOPOLOGY = """
hub = "hub"
[host.hub]
daemon = true
[host.wing]
daemon = true
"""


@pytest.fixture
def boxes(rig: Rig) -> tuple[Box, Box]:
    """Return a hub and a guest on its comm home; the guest has no daemon yet."""
    hub, wing = rig.make("hub", "wing", sharing=("wing",))
    for box in (hub, wing):
        box.topology(TOPOLOGY)
    hub.daemon()
    hub.join("api")
    return hub, wing


@pytest.fixture
def dashboard(boxes: tuple[Box, Box]) -> Iterator[Terminal]:
    """Return the dashboard on the hub."""
    hub, _ = boxes
    variables = [f"{name}={value}" for name, value in hub.env.items()]
    inside = shlex.join(hub.inside("env", "-C", str(hub.project), *variables))
    terminal = Terminal(hub.own, 100, 30, inside=inside)
    terminal.until(lambda: terminal.says("api-hub"), "the handles are there")
    yield terminal
    terminal.close()


def state(box: Box, handle: str) -> object:
    return box.book()["agents"][handle].get("state")


def select(dashboard: Terminal, handle: str) -> None:
    """Select the line of a handle, which is the first one, by a key."""
    dashboard.press("Home")
    dashboard.until(
        lambda: f"▌ ✓ done       {handle}" in dashboard.text() or f"▌ ? no signal  {handle}" in dashboard.text(),
        f"{handle} is selected",
    )


def test_row_of_another_box_when_viewed_then_its_box_is_asked_and_clears_its_done(
    boxes: tuple[Box, Box], dashboard: Terminal
) -> None:
    hub, wing = boxes
    daemon = wing.daemon()
    row = wing.row("shop")
    wing.type(row, "sot-tui status done built; echo over there $((40 + 2))")
    until(lambda: state(hub, "shop-wing") == "done", "it is done")
    dashboard.until(lambda: dashboard.says("done, its box clears it"), "it is no need here")
    select(dashboard, "shop-wing")
    dashboard.press("Enter")
    dashboard.until(lambda: dashboard.says("@shop-wing on wing only looked at"), "it is shown")
    dashboard.until(lambda: dashboard.says("over there 42"), "what it shows is here")
    until(lambda: state(hub, "shop-wing") == "idle", "its box has cleared the done")
    wing.type(row, "echo and now $((50 + 1))")
    dashboard.until(lambda: dashboard.says("and now 51"), "the picture follows")
    dashboard.press("Escape")

    wing.type(row, "sot-tui status done again")
    until(lambda: state(hub, "shop-wing") == "done", "it is done again")
    dashboard.until(lambda: dashboard.says("done, its box clears it"), "and so it says")
    dashboard.press("d")
    dashboard.until(lambda: dashboard.says("asked wing to clear the done of @shop-wing"), "it was asked")
    until(lambda: state(hub, "shop-wing") == "idle", "and has done so")

    wing.type(row, "sot-tui status done at last")
    until(lambda: state(hub, "shop-wing") == "done", "it is done once more")
    wing.signal(daemon, signal.SIGSTOP)
    dashboard.press("Enter")
    dashboard.until(lambda: dashboard.says("the daemon on wing did not answer at ssh:wing"), "it is silent")
    dashboard.press("Escape")
    dashboard.until(lambda: dashboard.says("api-hub"), "the nav is back")
    dashboard.press("d")
    dashboard.press("c")
    dashboard.until(lambda: dashboard.says("to "), "another key is answered meanwhile")
    dashboard.press("Escape")
    dashboard.until(lambda: dashboard.says("its box clears it; the daemon on wing did not answer"), "and so is this")
    assert state(hub, "shop-wing") == "done"
    wing.signal(daemon, signal.SIGCONT)


def test_row_of_another_box_when_no_list_says_how_then_it_says_so(boxes: tuple[Box, Box], dashboard: Terminal) -> None:
    hub, wing = boxes
    wing.daemon()
    wing.row("ant")
    hub.topology("")
    (hub.own / "config/sot/hosts.toml").unlink()
    dashboard.until(lambda: dashboard.says("ant-wing"), "it is listed")
    select(dashboard, "ant-wing")
    dashboard.press("Enter")
    dashboard.until(lambda: dashboard.says("wing cannot be reached: there is no list of boxes"), "that is said")
