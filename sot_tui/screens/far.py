"""The terminal of a row on another box, as its own daemon tells it: to be looked at, never typed into.

Product, The nav over boxes: viewing another box's row asks that box, and says so when it does not answer. It is asked
again while one looks, one question at a time, so a slow box costs its own picture and nothing else.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import work

from sot_tui.comm.clock import age_text
from sot_tui.comm.fleet import Stance
from sot_tui.engine.client import FarScreen, LookElsewhere
from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.place import Place
from sot_tui.screens.widgets.bars import KeyLine, LockBanner, MessageLine
from sot_tui.screens.widgets.reader import Reader

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.screens.desk import Desk

AGAIN_SECS = 2.0
"""Between an answer and the next question."""


class FarPlace(Place[None]):
    """What one row of another box shows."""

    WHERE = Where.FAR
    AUTO_FOCUS = "#far-text"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.FAR)]

    def __init__(self, desk: Desk, handle: str) -> None:
        super().__init__(desk)
        self.handle = handle
        self._found: FarScreen | None = None
        self._at = 0.0

    def compose(self) -> ComposeResult:
        """Lay out the frame's line, the text, and the two lines at the foot."""
        yield show.Words(id="far-head")
        yield LockBanner(self.desk)
        yield Reader(id="far-text")
        yield MessageLine(self.desk)
        yield KeyLine(Where.FAR)

    def on_mount(self) -> None:
        """Ask, and go on asking."""
        self._show()
        self._look()

    @work(group="far", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        viewed = self.desk.fleet.stance is Stance.HOST
        while True:
            found = await self.desk.client.do(LookElsewhere(self.handle, viewed))
            if not self.is_open:
                return
            viewed = viewed and bool(found.fault)  # a person moves the view here once
            if found.fault and self._found is not None and self._found.lines:
                found = FarScreen(self._found.lines, found.fault)  # the last picture stays, and is said to be old
            else:
                self._at = self.desk.now()
            self._found = found
            self.piece("far-text", Reader).read("\n".join(found.lines), note=found.fault)
            self.time_passed()
            await asyncio.sleep(AGAIN_SECS)

    def time_passed(self) -> None:
        """Show how old the picture is."""
        if self.is_open:
            self._show()

    def _show(self) -> None:
        one, found = self.desk.fleet.agents.get(self.handle), self._found
        host = one.host if one is not None else ""
        if found is None:
            told = "asking it what the row shows"
        elif found.fault:
            told = f"as of {age_text(self.desk.now() - self._at)} ago" if found.lines else "nothing to show"
        else:
            told = "only looked at: no key goes there"
        title = show.ours(
            " [b]@$handle[/] on [b]$host[/]  [$foreground 60%]$told[/]", handle=self.handle, host=host, told=told
        )
        self.piece("far-head", show.Words).say(title)

    def action_open_mail(self) -> None:
        """Read the mail of the handle."""
        self.app.push_screen(MailScreen(self.desk, self.handle))

    def action_back(self) -> None:
        """Go back to the nav."""
        self.dismiss()
