"""`sot-tui relay send`: a message by way of the hub (contract, Delivery, route 2), or a notice to every screen.

A handle that this box's registry names is filed here, as `send` does; either verb reaches either kind of peer. A notice
is not mail: it is published once to whoever is connected, and nothing is kept (contract, The one result).
"""

from __future__ import annotations

import os

from sot_tui.comm import endpoints, names, routes, wire
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.verbs._session import answer, ask, tell, who_am_i
from sot_tui.verbs.send import deliver

if TYPE_CHECKING:
    from sot_tui.comm.home import Home

USAGE = """\
Examples:
  sot-tui relay send @Docs-laptop 'the schema is on main'
  sot-tui relay send --all 'the build is green'    a notice on every screen; nobody's mail

Usage: sot-tui relay send @HANDLE|--all MESSAGE...
"""
_SHORT = 'usage: comm-relay.sh send @to "msg" | --all "msg"'


def main(argv: list[str]) -> int:
    """Send by way of the hub; the exit code is 0 or 1."""
    if ask(argv, USAGE):
        return Exit.OK
    target, words = (argv[1] if len(argv) > 1 else ""), argv[2:]
    if argv[:1] != ["send"] or target == "--all":
        return _with_daemon(argv[:1] == ["send"], " ".join(words))
    if not target.startswith("@"):
        tell(f"{_SHORT}  (no recipient)")
        return Exit.FAILED
    if not any(words):
        tell(f"{_SHORT}  (empty message)")
        return Exit.FAILED
    return deliver(target, " ".join(words))


def _with_daemon(known: bool, text: str) -> Exit:
    """Publish a notice; the daemon is looked for first, as the reference client does, whatever the words are."""
    home = home_here()
    host = names.declared_host(os.environ, home.procs)
    found = endpoints.of_the_hub(home, os.environ, host)
    tell(*found.notes)
    if not found.endpoint:
        tell(f"ERROR: {routes.NO_DAEMON}")
        return Exit.FAILED
    if not (known and text):
        tell(f"{_SHORT}  (empty message)" if known else _SHORT)
        return Exit.FAILED
    return _publish(home, host, found.endpoint, text)


def _publish(home: Home, host: str, endpoint: str, text: str) -> Exit:
    here = who_am_i(home)
    if here.refusal:
        tell(f"ERROR: {here.refusal}")
        return Exit.FAILED
    request = {"from": here.name, "to": "", "text": text}
    asker = wire.caller(os.environ, host, here.name, home.path)
    said = wire.ask(home.clock, endpoint, asker, "agent.send", request, wire.window(os.environ))
    why = said.why if isinstance(said, wire.NoAnswer) else said.error
    if isinstance(said, wire.Answer) and not why and said.payload.get("ok") is not True:
        why = f"the daemon answered neither ok nor a refusal: {wire.shown(said.payload)}"
    if isinstance(said, wire.NoAnswer) or why:
        tell(f"ERROR: {why}")
        return Exit.FAILED
    receivers = said.payload.get("receivers")
    seen = [str(name) for name in receivers] if isinstance(receivers, list) else []
    answer(f"sent -> {', '.join(seen) or 'nobody is connected'}")
    return Exit.OK
