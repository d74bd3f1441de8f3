"""Whether this engine writes: it hosts the duties, or it only looks, and why.

One engine per state root and box hosts (architecture, Processes); a kernel lock decides which. Another one on the same
state root only looks, with no stamp, no poll and no file of its own, until the first ends. A dashboard that was opened
read-only, or below an agent, never asks for the lock. Whatever would write is then refused with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import ancestry, daemon_lock, endpoints, names, wire
from sot_tui.comm.errors import Refused, SotError
from sot_tui.comm.fleet import Stance
from sot_tui.comm.text import visible
from sot_tui.engine import listener
from sot_tui.engine.client import (
    AnswerDialog,
    Body,
    Broadcast,
    BroadcastDone,
    ClearDone,
    CreateRow,
    DropDraft,
    EndRow,
    KeepDraft,
    LayOut,
    Leave,
    Line,
    Listed,
    MarkOpened,
    Outcome,
    ReadDialog,
    Recover,
    Recovered,
    Recovery,
    RestWrites,
    ResumeLine,
    ResumeRow,
    RowDialog,
    RowDone,
    Send,
    SetAside,
    Sheet,
    TakeUp,
)
from sot_tui.engine.fold import StanceIs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

HOST_TRY_SECS = 1.0
"""Seconds between two tries of a viewer to take the duties over; it has them within three (product)."""
ASK_SECS = 1.0
"""Seconds in which a daemon that is not ours says who it is."""
READ_ONLY = "this dashboard was opened read-only (--readonly)"
"""Why nothing is written when a person asked for it."""


def why_only_look(home: Home, *, asked: bool) -> str:
    """Return why a dashboard in this process must only look; empty when it may host.

    An agent is no person: what it would do here as the operator, nobody asked for (contract, Cases: the walk).
    """
    if asked:
        return READ_ONLY
    judged = ancestry.judge(ancestry.walk_from(home, home.procs.pid()), "")
    if judged.agents:
        return f"this dashboard was started below {judged.agents[0]}, an agent, so it only looks"
    if judged.verdict is ancestry.Verdict.UNREAD:
        return "this process's ancestors cannot be read in full, so this dashboard only looks"
    return ""


class Hosting:
    """One engine's claim on the duties that write."""

    def __init__(
        self, home: Home, environ: Mapping[str, str], only_look: str, socket: str = "", *, what: str = "dashboard"
    ) -> None:
        """`what` this is, for whoever finds that it hosts."""
        self._home = home
        self._environ = environ
        self._only_look = only_look
        self._held: daemon_lock.Held | None = None
        self.path = socket or endpoints.session_socket(home, environ, label(environ))
        """Where the engine that hosts is asked."""
        self._what = what
        self._then = "; stop it first" if what == "daemon" else "; this one only looks until it ends"
        self._foreign = ""
        self.unserved = ""
        """Why the engine that hosts lets no window of this process in; empty where that was not asked."""

    @property
    def is_served_by_another(self) -> bool:
        """Tell whether a daemon that does not hold our lock was found at the socket."""
        return bool(self._foreign)

    def settle(self) -> StanceIs:
        """Try once to host, and return how this engine stands now."""
        if self._only_look:
            return StanceIs(Stance.READ_ONLY, self._only_look)
        if self._held is None:
            got = daemon_lock.take(self._home, self._environ, self._what)
            if isinstance(got, daemon_lock.NotHere):
                only = "" if self._what == "daemon" else "this dashboard only looks: "
                return StanceIs(Stance.READ_ONLY, f"{only}{got.why}")
            if isinstance(got, daemon_lock.HeldBy):
                return StanceIs(Stance.VIEWER, self._viewer_words(got))
            foreign = self._served_by_another()
            if foreign:
                daemon_lock.release(self._home, got)
                return StanceIs(Stance.VIEWER, foreign)
            self._held = got
        return StanceIs(Stance.HOST)

    def _served_by_another(self) -> str:
        """Return who serves the socket though it has not the lock: a daemon that is not ours, or of another state root.

        It was here first and has rows of its own, so nothing is hosted beside it.
        """
        try:
            found = listener.look(self._home, self.path)
        except Refused:
            return ""  # the duty that listens there says what is wrong
        if found is not listener.Found.LIVE:
            self._foreign = ""
            return ""
        self._foreign = self._foreign or _who_serves(self._home, self._environ, self.path)
        return f"{self._foreign}{self._then}"

    def still_hosts(self) -> bool:
        """Tell whether the claim still keeps others out; one whose lock file is gone does not."""
        return self._held is not None and daemon_lock.still_counts(self._home, self._environ, self._held)

    def release(self) -> None:
        """Let another dashboard host."""
        if self._held is not None:
            daemon_lock.release(self._home, self._held)
            self._held = None

    def _viewer_words(self, by: daemon_lock.HeldBy) -> str:
        if not by.pid and (foreign := self._served_by_another()):
            return foreign  # it holds the lock, and is none of ours
        what = "daemon" if by.what == "daemon" else "dashboard"
        who = f"the {what} of pid {by.pid}" if by.pid else "another dashboard"
        what = "hosts" if by.home in {"", self._home.path} else f"hosts {by.home}"
        why = f" and serves no window here: {self.unserved}" if self.unserved else ""
        return f"{who} {what}{why}{self._then}"


def label(environ: Mapping[str, str]) -> str:
    """Return the label of a daemon of this environment (daemon wire 1.3)."""
    return environ.get("SOT_BACKEND_LABEL") or endpoints.DEFAULT_LABEL


def _who_serves(home: Home, environ: Mapping[str, str], path: str) -> str:
    """Return which daemon serves a socket, as it says itself, and how to part it from this one where that is needed."""
    try:
        asker = wire.Caller(names.declared_host(environ, home.procs), "", "cli")
    except SotError:
        return f"another daemon serves {path}"
    answer = wire.ask(home.clock, f"unix:{path}", asker, "version.query", {}, ASK_SECS)
    about = answer.payload.get("daemon") if isinstance(answer, wire.Answer) else None
    if not isinstance(about, dict):
        return f"another daemon serves {path}"
    words = f"another daemon ({about.get('program') or 'sotd'} {about.get('app_version')}) serves {path}"
    its_home = about.get("comm_home")
    if isinstance(its_home, str) and its_home != home.path:
        words += (
            f" for the comm home {its_home} (to part them, give this one an XDG_STATE_HOME and an XDG_RUNTIME_DIR of "
            "its own)"
        )
    return visible(words)


def refusal(command: object, why: str) -> object | None:
    """Return what a command that would write is answered where nothing is written; None for one that only looks."""
    match command:
        case Send(to):
            return Outcome(good=False, sentence=f"FAILED -> @{to}: {why}; nothing was sent")
        case Broadcast():
            sentence = f"FAILED -> --broadcast: {why}; nothing was sent"
            return BroadcastDone(good=False, sentence=sentence, left=command.only)
        case ClearDone() | Leave() | SetAside() | KeepDraft() | DropDraft():
            return Outcome(good=False, sentence=f"{why}; nothing was written")
        case CreateRow() | EndRow() | ResumeRow() | AnswerDialog():
            return row_refusal(command, why)
        case Recover():
            return Recovered(Recovery.REFUSED, f"{why}; the lock was left as it is")
        case LayOut() | TakeUp():
            return Sheet(fault=f"{why}; no file was made") if isinstance(command, LayOut) else Body(fault=why)
        case Listed() | MarkOpened() | RestWrites():
            return Outcome(good=True)  # nobody asked for these: they follow what a person looks at
        case _:
            return None


def row_refusal(command: object, why: str) -> Outcome | RowDone | Line | RowDialog:
    """Return what a command about a row is answered where no rows are run."""
    match command:
        case CreateRow():
            return RowDone(good=False, sentence=f"{why}; nothing was started")
        case ResumeLine():
            return Line("", why)
        case ReadDialog():
            return RowDialog(fault=why)
        case _:
            return Outcome(good=False, sentence=f"{why}; the row was left as it is")
