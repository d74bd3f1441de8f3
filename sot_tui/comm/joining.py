"""Taking a handle and giving it back: which one, whether it is free to take, the entry, the self file, the inbox.

Contract, Mail and address-book verbs (join), Naming, and "A handle a row holds is read and taken only from inside that
row". The choice is made under the registry lock, from the registry as it stands there, so two joins at once never take
one name for two projects; nothing is written before it is made, and a join that fails leaves no self file and no inbox.
"""

from __future__ import annotations

import os

from sot_tui.comm import facts, identity, names, registry, row_claims, scratch, turns
from sot_tui.comm.clock import stamp
from sot_tui.comm.errors import Exit
from sot_tui.comm.facts import Verb
from sot_tui.comm.home import PROTOCOL_VERSION
from sot_tui.comm.identity import Binding, Context
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.registry import NotWritten, Registry
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.row_claims import NOT_ASKED, Clearance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Pin


class Wish(NamedTuple):
    """What a join asks for."""

    name: str = ""
    """A handle to take as it is; empty: the self file's, else a derived one."""
    expertise: Sequence[str] = ()
    repin: bool = False
    """Whether a slot claimed for a different project may be written over."""


def expertise_in(text: str) -> list[str]:
    """Return what a session says it knows, from a list with commas."""
    return [said for item in text.split(",") if (said := item.strip())]


class Joined(NamedTuple):
    """The handle is taken."""

    handle: str
    context: Context
    inbox: str
    others: tuple[str, ...]
    """The other handles of the registry, in its order."""
    notes: tuple[str, ...]
    """Lines for stderr, in order."""
    stranded: bool = False
    """Whether another handle, which may have been this session's own, is still live and was stepped past."""

    def lines(self) -> tuple[str, ...]:
        """Return what a join says on stdout."""
        here = self.context
        return (
            f"Joined sot-comm as @{self.handle}  ({here.project.repo} on {here.host}).",
            f"  inbox: {self.inbox}",
            f"Others registered: {','.join(self.others) or 'none'}",
        )


class NotJoined(NamedTuple):
    """Nothing was taken; the last of `notes` says why."""

    notes: tuple[str, ...]
    code: Exit


class _Choice(NamedTuple):
    """What a look at the registry says about the handle to take: `handle`, or why there is none."""

    handle: str
    notes: tuple[str, ...] = ()
    stranded: bool = False


def join(home: Home, environ: Mapping[str, str], cwd: str, wish: Wish, pin: Pin | None = None) -> Joined | NotJoined:
    """Join as `wish` says, by the same rules for a session, a row and the operator at the dashboard.

    Raises what `identity.who_am_i` raises.
    """
    here = identity.who_am_i(home, environ, cwd, pin)
    if here.refusal:
        return NotJoined((f"comm-join.sh: REFUSING to bind: {here.refusal}",), Exit.FAILED)
    # The last note says that a row holds the self file's name; the join has its own words for that.
    said = here.notes[:-1] if here.held_by else here.notes
    refused = _refused_before(here, wish)
    if refused:
        return refused._replace(notes=(*said, *refused.notes))
    choice = _Choice("")
    cleared = NOT_ASKED

    def take(book: Registry) -> bool:
        nonlocal choice
        choice = _choose(book, here, wish, home.clock.now(), cleared)
        if not choice.handle:
            return False
        entry = _entry(here, wish, stamp(home.clock.now()))
        turn = turns.running(home, here.self_file, scratch.session_key(environ))
        if turn:  # its prompt came when there was no entry to say so, or one that this join replaces
            entry = facts.apply(entry, Verb.PROMPT, None, turn.origin, entry["joined"])
        book.agents[choice.handle] = entry
        return True

    if not wish.name and not here.name and isinstance(registry.read(home), registry.Unread):
        line = "comm: the registry could not be read, so no handle was derived; nothing was written"
        return NotJoined((*said, line), Exit.FAILED)
    if not here.row:  # before the lock: nobody waits for a daemon while holding it
        cleared = row_claims.asked(home, environ, here, _candidates(here, wish))
        said = (*said, *cleared.notes)
    written = registry.replace(home, take, Wait.RULED)
    if isinstance(written, NotWritten):
        return NotJoined((*said, written.sentence), Exit.FAILED)
    notes = (*said, *choice.notes)
    if not choice.handle:
        return NotJoined(notes, Exit.FAILED)
    joined = _settle_in(home, here, choice.handle, written.registry, notes)
    if isinstance(joined, NotJoined):
        return joined
    untold = row_claims.declared(home, environ, here, choice.handle) if here.row else ""
    return joined._replace(stranded=choice.stranded, notes=(*joined.notes, *untold.splitlines()))


def _refused_before(here: Context, wish: Wish) -> NotJoined | None:
    """Return the refusals that need no registry."""
    if wish.name and not names.is_file_safe(wish.name):
        return NotJoined((f"comm-join.sh: {names.not_a_handle(wish.name)}",), Exit.USAGE)
    if "\n" in here.project.root or "\n" in here.project.repo:
        line = "comm-join.sh: this project's path holds a line break, which no self file can carry; nothing was written"
        return NotJoined((line,), Exit.FAILED)
    slot = here.self_file
    if slot.shared or wish.repin or not slot.is_of_another(here.project):
        return None
    keyed = (
        f"it is keyed by this shell's $SOT_WORKSPACE_ID ('{slot.row}')"
        if not slot.pinned
        else "it is the one this shell's $SOT_COMM_SELF_FILE names"
    )
    claimed = f"the identity slot '{slot.path}' already names @{slot.handle}, claimed for {slot.claim()}"
    refusal = (
        f"comm-join.sh: REFUSING to put a '{here.project.repo}' identity in that slot — {keyed}, and a row that comes "
        "to name another project's session reads that session's mail. Either run this from inside the row it belongs "
        f"to, or, if this row really is '{here.project.repo}' now, re-run with --repin."
    )
    return NotJoined((claimed, refusal), Exit.REFUSED)


# -- which handle -------------------------------------------------------------------------------------------------


def _candidates(here: Context, wish: Wish) -> tuple[str, ...]:
    """Return every handle that this join may come to."""
    if wish.name:
        return (wish.name,)
    tiers = (names.derived(here.project.folder, here.handle_host, tier) for tier in names.TIERS)
    own = here.name or (here.self_file.handle if here.held_by else "")
    return (own, *tiers) if own else tuple(tiers)


def _choose(book: Registry, here: Context, wish: Wish, now: float, cleared: Clearance) -> _Choice:
    """Return the handle to take from this registry."""
    if wish.name:
        row = _held(book, wish.name, here, cleared)
        return _Choice("", (_refusal(wish.name, row),)) if row else _Choice(wish.name)
    own = here.name or (here.self_file.handle if here.held_by else "")
    if not own:
        return _derive(book, here, now, cleared)
    # A name that only the self file gave is not a pin: it is stepped past like a derived one.
    if _held(book, own, here, cleared):
        step = _Step(f"comm: @{own} (named by this session's self file) is held by a row; {_FROM_OUTSIDE}")
    elif _is_anothers(book, own, here):
        step = _collision(book, own, now)
    else:
        return _Choice(own)
    derived = _derive(book, here, now, cleared)
    return step.choice(derived.handle) if derived.handle else derived


def _derive(book: Registry, here: Context, now: float, cleared: Clearance) -> _Choice:
    """Return the first of the three derived handles that this project may take, and why not an earlier one.

    A row's handle is stepped past from outside; one that another project's root holds is stepped past by anybody.
    """
    handle = row = ""
    first: _Step | None = None
    for tier in names.TIERS:
        handle = names.derived(here.project.folder, here.handle_host, tier)
        row = _held(book, handle, here, cleared)
        if row:
            first = first or _Step(f"comm: @{handle} is held by a row; {_FROM_OUTSIDE}")
        elif _is_anothers(book, handle, here, rootless=True):
            first = first or _collision(book, handle, now)
        else:
            return first.choice(handle) if first else _Choice(handle)
    if row:
        return _Choice("", (_refusal(handle, row),))
    return _Choice("", (f"comm: every derived handle is held by another project, @{handle} too; give one with --name",))


_FROM_OUTSIDE = "a session outside any row joins as @"


class _Step(NamedTuple):
    """A step past a handle, as the line that says it: the texts around the handle that is taken instead."""

    before: str
    after: str = ""
    live: str = ""
    """The handle that was stepped past, when it is live: it may be this session's own earlier one."""

    def choice(self, handle: str) -> _Choice:
        line = f"{self.before}{handle}{self.after}"
        return _Choice(handle, (line, _stranding(self.live, handle)), True) if self.live else _Choice(handle, (line,))


def _collision(book: Registry, handle: str, now: float) -> _Step:
    holder = identity.root_of(book, handle) or "an unknown project"
    live = handle if registry.is_live(book.entry(handle), now) else ""
    return _Step(f"comm: '@{handle}' is already held by {holder} — joining as '@", "' instead", live)


def _stranding(live: str, taken: str) -> str:
    return (
        f"comm-join.sh: WARNING — @{live} is live, so what is sent to it does not come here. If it was this session's "
        f"own and nobody else's, take it back: comm-leave.sh --name {taken}, then comm-join.sh --name {live}"
    )


def _is_anothers(book: Registry, handle: str, here: Context, *, rootless: bool = False) -> bool:
    """Tell whether another project holds a handle; `rootless` says whether an entry that names no root is another's."""
    if book.entry(handle) is None:
        return False
    root = identity.root_of(book, handle)
    return root != here.project.root if root else rootless


def _held(book: Registry, handle: str, here: Context, cleared: Clearance) -> str:
    """Return the row that keeps this process from taking a handle, or nothing.

    A join that carries a row id takes it back from any row.
    """
    return "" if here.row else row_claims.holder(book, handle, here, cleared)


def _refusal(handle: str, row: str) -> str:
    return (
        f"comm-join.sh: REFUSING to join: @{handle} is held by a row (row {row}); "
        "a session outside any row cannot join as it"
    )


# -- what is written ----------------------------------------------------------------------------------------------


def _entry(here: Context, wish: Wish, now: str) -> dict[str, Any]:
    """Return a whole new entry: what an earlier session under the handle left in it is gone."""
    return {
        "host": here.host,
        "workspace_id": here.row,
        "repo": here.project.repo,
        "root": here.project.root,
        "expertise": list(wish.expertise),
        "status": "idle",
        "joined": now,
        "last_seen": now,
    }


def _settle_in(home: Home, here: Context, handle: str, book: Registry, notes: tuple[str, ...]) -> Joined | NotJoined:
    """Make the inbox and the self file of a handle that is taken."""
    slot, inbox = here.self_file, home.inbox(handle)
    try:
        home.disk.close(home.disk.open(inbox, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        identity.write_self_file(home, slot.path, handle, here.project)
        if slot.older:
            identity.remove_self_file(home, slot.older)
    except OSError as error:
        line = (
            f"FAILED: @{handle} stands in the registry, but its inbox or self file could not be written "
            f"({error.strerror}: {error.filename}); join again"
        )
        return NotJoined((*notes, line), Exit.FAILED)
    if book.version != PROTOCOL_VERSION:
        notes = (*notes, _other_version(book.version))
    others = tuple(name for name in book.agents if name != handle)
    return Joined(handle, here._replace(name=handle), inbox, others, notes)


def _other_version(version: object) -> str:
    said = "null" if version is None else version
    return (
        f"WARNING: registry protocol v{said} != client v{PROTOCOL_VERSION} — "
        "run ShipTools.update_comm() on all machines"
    )


# -- giving it back -----------------------------------------------------------------------------------------------


class Left(NamedTuple):
    """What was to be removed is gone, or was not there."""

    sentence: str
    notes: tuple[str, ...] = ()
    """Lines for stderr."""


class NotLeft(NamedTuple):
    """Nothing was removed."""

    sentence: str
    notes: tuple[str, ...] = ()
    """As in Left."""


def leave(home: Home, here: Context) -> Left | NotLeft:
    """Remove this session's own entry, and then its self file; the inbox and the cursor stay.

    An entry that has come to another project or row meanwhile is not this session's any more, and stays.
    """
    if not here.name:
        return Left("Not joined — nothing to do.")
    if isinstance(here.book, registry.Unread):
        return NotLeft(_NOTHING_REMOVED)

    def drop(book: Registry) -> bool:
        other_row = identity.row_binding(book, here.name, here.row)[0] is Binding.OTHER
        if other_row or _is_anothers(book, here.name, here):
            return False
        return book.agents.pop(here.name, None) is not None

    written = registry.replace(home, drop, Wait.RULED)
    if isinstance(written, NotWritten):
        return NotLeft(written.sentence)
    try:
        identity.remove_self_file(home, here.self_file.path)
        if here.self_file.older:
            identity.remove_self_file(home, here.self_file.older)
    except OSError as error:
        return NotLeft(f"FAILED: @{here.name} left the registry, but {error.filename} stays: {error.strerror}")
    return Left(f"Left sot-comm (@{here.name} removed).")


def remove(home: Home, here: Context, handle: str, environ: Mapping[str, str] = os.environ) -> Left | NotLeft:
    """Remove another handle's entry, and nothing else; a row's handle stays where no daemon rules that it is free."""
    row = ""
    cleared = NOT_ASKED
    found = False

    def drop(book: Registry) -> bool:
        nonlocal row, found
        row = row_claims.holder(book, handle, here, cleared)
        found = handle in book.agents
        return not row and book.agents.pop(handle, None) is not None

    book = registry.read(home)
    if isinstance(book, registry.Unread):
        return NotLeft(_NOTHING_REMOVED)
    if identity.row_binding(book, handle, here.row)[0] is Binding.OTHER:
        cleared = row_claims.asked(home, environ, here, (handle,))
    written = registry.replace(home, drop, Wait.RULED)
    if isinstance(written, NotWritten):
        return NotLeft(written.sentence, cleared.notes)
    if row:
        return NotLeft(f"comm-leave.sh: REFUSING to remove @{handle}: it is held by a row (row {row})", cleared.notes)
    if not found:
        return Left(f"@{handle} not in registry — nothing to do.", cleared.notes)
    return Left(f"Removed @{handle} from the registry (row only; comm-despawn.sh does full teardown).", cleared.notes)


_NOTHING_REMOVED = "FAILED: the registry could not be read; nothing was removed"
