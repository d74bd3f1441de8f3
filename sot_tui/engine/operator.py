"""The operator: the person at the dashboard, as a comm identity of their own outside any row.

Joined by the same code and held to the same rules as anybody. The self file is private and named so that it names no
row (contract, Cases: "a private identity file for a process outside any row must not be named `<host>__<id>.txt`"). The
operator's project is the comm home itself, and the entry holds no facts: a person has no work state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import identity, joining, names, registry
from sot_tui.comm.errors import Refused
from sot_tui.comm.identity import Pin
from sot_tui.engine.client import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context


class Operator(NamedTuple):
    """Who the person is here."""

    handle: str
    pin: Pin


def operator_of(home: Home, environ: Mapping[str, str], wanted: str) -> Operator:
    """Return the operator of this box: the handle that the settings name, else `operator-<host>`.

    Raises Refused when the settings name something that is no handle.
    """
    host = names.declared_host(environ, home.procs)
    piece = names.host_piece(host)
    return Operator(
        names.operator_handle(host, wanted),
        # By its real path: the same folder reached through a link is the same project.
        Pin(f"{home.selves}/operator-{piece}.txt", identity.make_project(home.disk.real_path(home.path))),
    )


def join(home: Home, environ: Mapping[str, str], person: Operator) -> str:
    """Join as the operator and return the handle; raises Refused with the join's own words."""
    # The slot is this program's own and lies in the comm home itself: one that names another root is of a time when the
    # home lay elsewhere, and is written over.
    wish = joining.Wish(name=person.handle, repin=True)
    outcome = joining.join(home, environ, home.path, wish, person.pin)
    if isinstance(outcome, joining.NotJoined):
        raise Refused(outcome.notes[-1] if outcome.notes else f"@{person.handle} could not join")
    return outcome.handle


def remove_stale(home: Home, environ: Mapping[str, str], person: Operator, handle: str) -> Outcome:
    """Remove the entry of a handle that is not live, as the leave verb does for an orphan; one that lives is left."""
    here = verified(home, environ, person)
    if here.refusal:
        return Outcome(good=False, sentence=here.refusal)
    if handle == person.handle:
        return Outcome(good=False, sentence="this is you; nothing was removed")
    book = registry.read(home)
    if not isinstance(book, registry.Unread) and registry.is_live(book.entry(handle), home.clock.now()):
        return Outcome(good=False, sentence=f"@{handle} is live again; nothing was removed")
    outcome = joining.remove(home, here, handle, environ)
    return Outcome(good=isinstance(outcome, joining.Left), sentence=outcome.sentence)


def verified(home: Home, environ: Mapping[str, str], person: Operator) -> Context:
    """Return who this process may act as, asked afresh: a send bears a handle that is verified its own."""
    return identity.who_am_i(home, environ, home.path, person.pin)
