"""Which handle is a row's: asked of the daemon before a session outside takes one, told to it when a row's has joined.

Contract, "A handle a row holds is read and taken only from inside that row". The daemon rules whatever the registry
says; where it gives no ruling, the registry's binding does. Its answer comes before the registry lock, so the write is
held to what was cleared: an entry that came to another row in between, or lies on another computer, is held. No answer
is ever taken for a yes.
"""

from __future__ import annotations

from sot_tui.comm import endpoints, identity, registry, wire
from sot_tui.comm.identity import Binding
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context
    from sot_tui.comm.registry import Registry, Unread

_NO_ID = "unknown"
"""What stands for a row that the daemon holds a handle for and does not name."""


class Ruling(NamedTuple):
    """What the daemon said of a handle."""

    held: bool
    row: str
    """The row that holds it, as the daemon named it."""
    seen: tuple[object, ...] | None
    """What the registry said of its row just before the daemon was asked; None when it could not be read."""


class Clearance(NamedTuple):
    """What the daemon ruled; a handle that is not among them has no ruling."""

    rulings: Mapping[str, Ruling]
    notes: tuple[str, ...] = ()
    """Lines for stderr."""


NOT_ASKED = Clearance({})
"""Nobody was asked."""


def asked(home: Home, environ: Mapping[str, str], here: Context, handles: Iterable[str]) -> Clearance:
    """Ask this box's daemon about each handle; after one question without an answer no other is asked."""
    found = endpoints.of_this_box(home, environ)
    if not found.endpoint:
        return Clearance({}, found.notes)
    asker = wire.caller(environ, here.host, here.name, home.path)
    book = registry.read(home)
    rulings: dict[str, Ruling] = {}
    for handle in dict.fromkeys(handles):
        request = {"workspace_id": "", "handle": handle}
        answer = wire.ask(home.clock, found.endpoint, asker, "agent.join", request, wire.window(environ))
        if isinstance(answer, wire.NoAnswer):
            break
        if answer.code == "held_by_row":
            rulings[handle] = Ruling(held=True, row=_row_in(answer), seen=None)
        elif answer.payload.get("ok") is True and not answer.error:
            rulings[handle] = Ruling(held=False, row="", seen=_binding_of(book, handle))
    return Clearance(rulings, found.notes)


def holder(book: Registry, handle: str, here: Context, cleared: Clearance) -> str:
    """Return the row that keeps this process from a handle, "" when none does, in the registry as it stands now."""
    ruling = cleared.rulings.get(handle)
    binding, row = identity.row_binding(book, handle, here.row)
    if ruling is not None and ruling.held:
        return ruling.row or row or _NO_ID
    if binding is not Binding.OTHER:
        return ""
    if (
        ruling is None
        or ruling.seen != _binding_of(book, handle)
        or not registry.is_of_host(book.entry(handle) or {}, here.host)
    ):
        return row
    return ""


def declared(home: Home, environ: Mapping[str, str], here: Context, handle: str) -> str:
    """Tell the daemon the handle of the row this process runs in; return a WARNING when it does not know it now."""
    warning = f"comm-join.sh: WARNING — this shell's identity names row '{here.row}' but "
    until = f"the daemon won't learn '@{handle}' until the next comm-session-start."
    found = endpoints.of_this_box(home, environ)
    if not found.endpoint:
        return "\n".join((*found.notes, f"{warning}no daemon endpoint could be resolved; {until}"))
    asker = wire.caller(environ, here.host, handle, home.path)
    request = {"workspace_id": here.row, "handle": handle}
    answer = wire.ask(home.clock, found.endpoint, asker, "agent.join", request, wire.window(environ))
    if isinstance(answer, wire.NoAnswer):
        return f"{warning}{answer.why}; {until}"
    if answer.error or answer.payload.get("ok") is not True:
        return f"{warning}the daemon did not take it: {answer.error or wire.shown(answer.payload)}; {until}"
    return ""


def _row_in(answer: wire.Answer) -> str:
    """Return the row a refusal names, under whichever of its keys."""
    for key in ("held_by_row", "row", "workspace_id"):
        said = answer.payload.get(key)
        if isinstance(said, str) and said:
            return said
    return ""


def _binding_of(book: Registry | Unread, handle: str) -> tuple[object, ...] | None:
    """Return what tells one binding of a handle from a later one: the row, its box, and when it joined."""
    if isinstance(book, registry.Unread):
        return None
    entry = book.entry(handle) or {}
    return tuple(entry.get(key) for key in ("workspace_id", "host", "joined"))
