"""Pictures of the locks, the events, the filter, the palette, a question, and of dashboards that only look.

Each in colour and without, at three sizes where the size makes a difference; the nav once in the terminal's own colours
and in ASCII.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.fleet import Fault, Reading, RegistryState, Stance, aside_of
from sot_tui.comm.proc_locks import InboxLocks
from sot_tui.comm.registry_lock import Markers
from sot_tui.engine.client import Locks
from sot_tui.screens.glyphs import AsciiSigns
from sot_tui.screens.widgets.lines import Lines
from tests.screens.fleets import ALIEN, DEAD, FREE, NOW, FakeClient, agents, counted, entry, fleet
from tests.screens.pictures import SIZES, THEMES, Size, check, opened

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

pytestmark = pytest.mark.usefixtures("one_time_zone")

WHY = "this dashboard was opened read-only (--readonly)"
VIEWER = "the dashboard of pid 4121 hosts; this one only looks until it ends"


def nothing_held(client: FakeClient) -> None:
    unseen = "this folder is on nfs4: a lock that another machine holds is not shown"
    client.locks = Locks(FREE, Markers(), InboxLocks(unseen=unseen))


@SIZES
@THEMES
async def test_locks(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The wedged registry lock on top, red; the reclaim that died too; two inboxes; the proof of the first in words."""
    async with opened(size, fleet(lock=DEAD), "l", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_locks_of_an_inbox(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Who reads the inbox, who waits to write it, that the kernel lets it go by itself, and what to do if it hangs."""
    async with opened(size, fleet(lock=DEAD), "l", "end", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_locks_of_another_machine(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """No recover is promised: the next step is the contract's own sentence, whole."""
    async with opened(size, fleet(lock=ALIEN), "l", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_locks_when_none_is_held(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The registry lock is free; no inbox lock is held as far as can be seen, and it says what cannot be."""
    async with opened(size, fleet(), "l", laid_out=nothing_held, theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_events(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Newest last and selected, its whole text below; what failed is marked; the file it also stands in."""
    async with opened(size, fleet(), "e", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_events_filtered(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Only what is about mail; the filter stays in sight, with how many of all are shown."""
    async with opened(size, fleet(), "e", "slash", *"kind:mail", "enter", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_filtered(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Who works, and a warning that the filter hides some who need me."""
    async with opened(size, fleet(), "slash", *"state:work", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_with_a_need_set_aside(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """One need fewer in the header; the handle stands among the others, and its detail says that I set it aside."""
    shown = fleet()
    mark = MappingProxyType({"MyRepo-box": aside_of(shown, shown.agents["MyRepo-box"])})
    async with opened(size, shown._replace(aside=mark), theme=theme) as pilot:
        lines = pilot.app.screen.query_one("#fleet", Lines)
        lines.select("MyRepo-box")
        lines.repaint()
        await pilot.pause()
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_palette(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Every action with its key and one sentence; what can do nothing now says why."""
    async with opened(size, fleet(), "ctrl+p", theme=theme) as pilot:
        await pilot.pause(0.3)
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_question_before_a_removal(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """What goes, what stays, and how it comes back; Cancel has the focus, and can be told without a colour."""
    async with opened(size, fleet(), "x", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_viewer(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """A second dashboard: who hosts, that this one only looks, and until when."""
    shown = fleet()._replace(stance=Stance.VIEWER, stance_why=VIEWER)
    async with opened(size, shown, "c", theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_read_only_without_a_comm_home(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """Nothing is made: that there is no comm home, and which command makes it; nobody is said to need me or not."""
    gone = RegistryState(Reading.UNREADABLE, None, True, "there is no comm home at /home/me/.sot-comm", no_home=True)
    shown = fleet(agents=MappingProxyType({}), mail=MappingProxyType({}), registry=gone)
    async with opened(size, shown._replace(stance=Stance.READ_ONLY, stance_why=WHY), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
async def test_nav_without_colours(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """`NO_COLOR`: shapes, words, bold and dim say all; the selected line is reversed; the banner has its bar."""
    async with opened(size, fleet(lock=DEAD), "j", theme="sot-mono") as pilot:
        check(pilot, svg, txt)


@SIZES
async def test_nav_in_the_terminals_own_colours(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Sixteen colours, on whatever ground the terminal has: none of ours is mixed into it."""
    async with opened(size, fleet(lock=DEAD), "j", theme="sot-ansi") as pilot:
        check(pilot, svg, txt)


@SIZES
async def test_nav_in_ascii(size: Size, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """Not one sign beyond ASCII; every state still has a shape of its own."""
    async with opened(size, fleet(lock=DEAD), "j", signs=AsciiSigns(every_sign=True)) as pilot:
        check(pilot, svg, txt)


# -- further states of the nav


MANY = {f"Project{number:02}-box": entry(at=60 * number, state="working", summary="at it") for number in range(60)}


@SIZES
@THEMES
async def test_nav_of_sixty(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """One screenful of sixty, the selected one in sight, a bar that says where in all of them this is."""
    shown = fleet(agents=agents(MANY), mail=MappingProxyType(dict.fromkeys(MANY, counted(0))), operator="")
    async with opened(size, shown, "G", *["k"] * 4, theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_of_another_protocol_version(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """A banner: which version the registry is of, which one this speaks, and what to do about it."""
    async with opened(size, fleet(registry=RegistryState(Reading.PRESENT, NOW, version=2)), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_when_a_duty_fails(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The message line says which duty of the engine is at fault and when it is tried again; all else goes on."""
    fault = Fault("watch", "No such file or directory; next try in 0.5 s", NOW)
    async with opened(size, fleet(faults=(fault,)), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_below_an_agent(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """It only looks, and says that it was started by an agent; every handle is shown all the same."""
    why = "an agent runs above this process (claude, pid 812), so it acts for nobody"
    async with opened(size, fleet()._replace(stance=Stance.READ_ONLY, stance_why=why), theme=theme) as pilot:
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_nav_when_the_lock_is_cleared(
    size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """Back in the nav: the banner is gone, the lock is free, and one line says what was done."""
    async with opened(size, fleet(lock=DEAD), "ctrl+r", "ctrl+r", theme=theme) as pilot:
        pilot.app.desk.client.show(fleet())  # type: ignore[attr-defined]  # the app of this test
        await pilot.pause()
        await pilot.pause()
        check(pilot, svg, txt)


@SIZES
@THEMES
async def test_palette_of_a_few_letters(size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion) -> None:
    """The handles that the letters may mean, each with its state, the letters marked."""
    async with opened(size, fleet(), "ctrl+p", *"back", theme=theme) as pilot:
        await pilot.pause(0.5)
        check(pilot, svg, txt)


@SIZES
@THEMES
@pytest.mark.parametrize("keys", [["l"], ["e"], ["u"]], ids=["locks", "events", "not sent"])
async def test_help_of_a_screen(
    keys: list[str], size: Size, theme: str, svg: SnapshotAssertion, txt: SnapshotAssertion
) -> None:
    """The keys of that screen alone, each with one sentence."""
    async with opened(size, fleet(), *keys, "question_mark", theme=theme) as pilot:
        check(pilot, svg, txt)
