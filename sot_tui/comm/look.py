"""A look at the comm home: what its registry, its inboxes and its registry lock say, as values of the fleet.

The dashboard's engine looks again and again and a verb looks once; both make their fleet of these functions, so that
`sot-tui list --json` and the nav cannot disagree. A look moves no cursor, takes no registry lock and writes nothing; a
count shares the inbox lock of a mailbox for as long as it reads (contract, Delivery: the two guards of a reader).
"""

from __future__ import annotations

from types import MappingProxyType

from sot_tui.comm import fleet as rules, inbox, names, paths, registry, registry_lock, set_aside, waiting, wakes
from sot_tui.comm.errors import Refused
from sot_tui.comm.fleet import WEDGED_SECS, Agent, Fleet, LockPhase, LockState, Mail, MailCount, Reading, RegistryState
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry import Registry, Unread
from sot_tui.comm.registry_lock import LockIs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.config import Config
    from sot_tui.comm.home import Home

COUNT_WAIT_SECS = 0.2
"""Seconds that a count waits for an inbox that is being written; who looks again soon counts it then."""
SECOND_LOOK_SECS = 0.1
"""Seconds between the two looks that show whether a held lock is more than a write of a moment."""

_PHASES = {
    LockIs.FREE: LockPhase.FREE,
    LockIs.HELD: LockPhase.HELD,
    LockIs.OLDER_VERSION: LockPhase.OLDER_VERSION,
    LockIs.UNPARSABLE: LockPhase.UNPARSABLE,
    LockIs.UNREADABLE: LockPhase.UNREADABLE,
}


class Named(NamedTuple):
    """The agents that a registry names, and the text of the entry that each was made of."""

    agents: Mapping[str, Agent] = MappingProxyType({})
    """By handle, in the order of their handles."""
    texts: Mapping[str, str] = MappingProxyType({})


_NOBODY = Named()


def agents_in(book: Registry, before: Named = _NOBODY) -> Named:
    """Return the agents that a registry names; an entry that stands as it stood `before` is not taken apart again."""
    texts, known = book.as_read(), before.texts
    agents = {
        handle: before.agents[handle]
        if handle in texts and known.get(handle) == texts[handle]
        else rules.agent(handle, book.agents[handle])
        for handle in sorted(book.agents)
    }
    return Named(MappingProxyType(agents), texts)


def lock(home: Home) -> LockState:
    """Look at the registry lock."""
    return lock_state(home, registry_lock.look(home))


def lock_state(home: Home, found: registry_lock.LockLook) -> LockState:
    """Return a look at the registry lock as the fleet holds it."""
    record = found.record
    return LockState(
        _PHASES[found.state],
        record=record.line.rstrip("\n") if record else "",
        holder=f"{record.name} pid {record.pid} start {record.start}" if record else "",
        age_s=found.age_s,
        dead=found.provable,
        verdict=found.verdict,
        recovery=found.recovery,
        looked_at=home.clock.now(),
    )


def mail(home: Home, handle: str, *, locked: bool = True) -> Mail:
    """Count the unread mail of a handle; what could not be counted says so, and is never 0.

    Without the lock, which makes a file where there is none, a line that a writer then cuts back may be counted once.
    """
    found = inbox.unread(home, handle, None if locked else "", COUNT_WAIT_SECS)
    if isinstance(found, inbox.Count):
        return Mail(MailCount.COUNTED, found.unread, found.oldest, total=found.total)
    if isinstance(found, inbox.Busy):
        return Mail(MailCount.BUSY, words=found.sentence)
    return Mail(MailCount.FAULT, words=found.why)


def fleet(home: Home, environ: Mapping[str, str], settings: Config) -> Fleet | Unread:
    """Read the whole fleet once, as the dashboard would show it; a registry without a good read is no fleet.

    Raises Misuse when a variable makes no sense, Refused when the machine has no name.
    """
    host = names.declared_host(environ, home.procs)
    live_secs = registry.live_secs()
    book = registry.read(home)
    if isinstance(book, Unread):
        return book
    agents = agents_in(book).agents
    kept = waiting.read(home, paths.own_state(environ))
    return Fleet(
        home=home.path,
        host=host,
        operator=operator(host, settings),
        agents=agents,
        mail=MappingProxyType(
            {
                handle: waiting.counted(mail(home, handle), kept.get(handle, ()))
                for handle in agents
                if names.is_file_safe(handle)
            }
        ),
        registry=RegistryState(Reading.PRESENT, home.clock.now(), version=book.version),
        lock=_lock_seen_twice(home),
        live_secs=live_secs,
        doubt_secs=settings.seconds("doubt_secs"),
        aside=set_aside.read(home, environ).by_handle,
        unwoken=MappingProxyType(wakes.read(home, environ)),
    )


def operator(host: str, settings: Config) -> str:
    """Return the person's own handle on this box; empty when the settings name something that is no handle."""
    try:
        return names.operator_handle(host, settings.of("operator"))
    except Refused:
        return ""


def _lock_seen_twice(home: Home) -> LockState:
    """Look at the lock, and once more when it seems to be wedged: one look alone may meet a write of a moment."""
    seen = rules.looked(LockState(), lock(home), home.clock.monotonic())
    if seen.phase is LockPhase.FREE or seen.age_s < WEDGED_SECS:
        return seen
    home.clock.sleep(SECOND_LOOK_SECS)
    return rules.looked(seen, lock(home), home.clock.monotonic())
