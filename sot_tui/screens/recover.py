"""The recover dialog: the registry lock's record, the proof of death in words, and what will happen.

Contract, The registry lock: no timeout proves anything, so only a holder that this box proves dead is cleared, by the
contract's reclaim path, and never by a bare removal. For any other lock there is nothing to press: the dialog says who
can do what, word for word as the FAILED line does. Every writer reclaims by itself, so the dialog also says when
another one was first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button

from sot_tui.comm.clock import age_text
from sot_tui.comm.fleet import LockPhase, LockState, Stance
from sot_tui.engine.client import ANOTHER_WRITER, LookAtLock, Outcome, Recover, Recovery, RestWrites
from sot_tui.screens import show
from sot_tui.screens.actions import Where, bindings
from sot_tui.screens.place import MEDIUM_FROM, Dialog
from sot_tui.screens.widgets.bars import KeyLine

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from sot_tui.screens.desk import Desk

_LABEL_CELLS = 8
_FIELD_LINES = 4
_MOST_CELLS = 92
_FRAME_CELLS = 4


class RecoverDialog(Dialog[None]):
    """One lock as it was found, until it is cleared, or somebody else has cleared it."""

    WHERE = Where.RECOVER
    AUTO_FOCUS = "#recover-cancel"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(Where.RECOVER)]

    def __init__(self, desk: Desk, lock: LockState) -> None:
        super().__init__(desk)
        self._lock = lock
        self._busy = False
        self._over = ""
        """How it ended, in one line; empty while the lock is still the one that was looked at."""

    def compose(self) -> ComposeResult:
        """Lay out the record, the proof, what will happen, and the buttons, Cancel first."""
        with Vertical(id="recover"):
            yield show.Words(id="recover-title")
            yield show.Words(id="recover-record")
            yield show.Words(id="recover-what")
            with Horizontal(id="recover-buttons"):
                yield Button(Content("Cancel"), id="recover-cancel", compact=True)
                yield Button(Content("Recover"), id="recover-go", variant="error", compact=True)
            yield KeyLine(Where.RECOVER)

    def on_mount(self) -> None:
        """Let our own writes rest, look at the lock once more, and show it."""
        self._show()
        self._rest(rest=True)
        self._look()

    def on_unmount(self) -> None:
        """Let our own writes go on, however the dialog ended."""
        self.app.run_worker(self.desk.client.do(RestWrites(rest=False)), group="rest", exit_on_error=False)

    @work(group="rest", exit_on_error=False)
    async def _rest(self, *, rest: bool) -> None:
        await self.desk.client.do(RestWrites(rest=rest))

    def fleet_changed(self) -> None:
        """Say it when the lock is another one, or free: somebody else was first."""
        self._seen(self.desk.fleet.lock)

    def time_passed(self) -> None:
        """Show the age of now."""
        if self.is_open:
            self._show()

    @work(group="look", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        self._seen(await self.desk.client.do(LookAtLock()))

    def _seen(self, lock: LockState) -> None:
        if self._over or self._busy or not self.is_open or lock.phase is LockPhase.UNKNOWN:
            return
        if lock.phase is LockPhase.FREE:
            self._end(f"{ANOTHER_WRITER}: the registry lock is free")
        elif (lock.phase, lock.record) == (self._lock.phase, self._lock.record):
            self._lock = lock
            self._show()
        else:
            self._end(f"{ANOTHER_WRITER}: it is held by {lock.holder or 'someone else'} now")

    def _end(self, sentence: str) -> None:
        self._over = sentence
        self._show()
        self.piece("recover-cancel", Button).focus()

    # -- showing -----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        lock = self._lock
        can = self._can()
        title = "Recover the registry lock?" if can else "The registry lock"
        self.piece("recover-title", show.Words).say(Content.styled(title, "b"))
        told = [
            ("holder", lock.holder or lock.phase.value),
            ("proof", lock.verdict or "nothing is known"),
            ("age", f"{lock.grip} for {age_text(lock.held_s(self.desk.now()))}"),
            ("record", lock.record or "none that could be read"),
        ]
        room = self._room()
        lines = [show.hang(label, said, room, _LABEL_CELLS, _FIELD_LINES) for label, said in told]
        self.piece("recover-record", show.Words).say(Content("\n").join(lines))
        self.piece("recover-what", show.Words).say(self._what())
        go, cancel = self.piece("recover-go", Button), self.piece("recover-cancel", Button)
        go.display = can
        go.disabled = self._busy
        cancel.label = Content("Cancel" if can else "Close")
        self.piece("keys", KeyLine).leave_out(frozenset() if can else frozenset({"recover"}))

    def _room(self) -> int:
        """Return the cells of a line in the dialog, as its style sheet has it."""
        width = self.app.size.width
        return (width if width < MEDIUM_FROM else min(_MOST_CELLS, width * 9 // 10)) - _FRAME_CELLS

    def _what(self) -> Content:
        if self._over:
            return show.words(self._over, "b $state-done")
        if self._busy:
            return Content.styled("proving it again, then settling for a second …", "$state-working")
        if self._can():
            return Content(
                "Recover proves the death once more, marks the lock as ours, waits one second, and removes it if it "
                "still names this holder. No data is touched. The next write by anyone clears it too."
            )
        return Content("\n").join([Content.styled("It cannot be cleared from here:", "b"), show.words(self._step())])

    def _can(self) -> bool:
        """Tell whether there is something to press but Close."""
        return self._lock.dead and not self._over and self.desk.fleet.stance is Stance.HOST

    def _step(self) -> str:
        if self._lock.dead:
            return self.desk.fleet.stance_why
        return self._lock.recovery or "look again"

    # -- what a person does --------------------------------------------------------------------------------------------

    @on(Button.Pressed, "#recover-cancel")
    def _cancel_pressed(self) -> None:
        self.action_back()

    @on(Button.Pressed, "#recover-go")
    def _recover_pressed(self) -> None:
        self.action_recover()

    def action_back(self) -> None:
        """Close; what was asked for goes on, nothing else is changed."""
        self.dismiss()

    def action_recover(self) -> None:
        """Have the engine prove it again and clear the lock. Nothing at all when no death is proved."""
        if self._can() and not self._busy:
            self._busy = True
            self._show()
            self.app.run_worker(self._recover(), group="recover", exit_on_error=False)

    async def _recover(self) -> None:
        try:
            answer = await self.desk.client.do(Recover(self._lock.record))
        finally:
            self._busy = False
        self.desk.say(Outcome(good=answer.what is not Recovery.REFUSED, sentence=answer.sentence))
        if not self.is_open:
            return
        if answer.what is Recovery.CLEARED:
            self.dismiss()
        elif answer.what is Recovery.ANOTHER:
            self._end(answer.sentence)
        else:
            # Its proof did not hold a second time: the lock is shown anew, with the reason in place of the button.
            self._lock = self._lock._replace(dead=False, recovery=answer.sentence)
            self._show()
            self.piece("recover-cancel", Button).focus()
