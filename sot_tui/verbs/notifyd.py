"""`sot-tui notifyd`: take events from hooks, and push each once (contract, notify control protocol).

It serves until it is told to stop, then brings what it accepted to its end, within a bound. Without a topic to send to
it does not start: an event that is accepted and goes nowhere would be worse than none.
"""

from __future__ import annotations

import os

from sot_tui.comm.errors import Exit
from sot_tui.comm.home import Home, home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.notify import settings
from sot_tui.verbs._session import ask, misused, say, tell
from sot_tui.verbs.notify import options_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from sot_tui.notify.decide import Notice
    from sot_tui.notify.held import Gate
    from sot_tui.notify.settings import Target

USAGE = """\
Examples:
  sot-tui notifyd              serve the hooks of this box until told to stop
  sot-tui notifyd --dry-run    only print what would be sent

Usage: sot-tui notifyd [--dry-run] [--state-base FOLDER]

The topic is configured as for `sot-tui notify`. The socket is $XDG_RUNTIME_DIR/steward/notifyd.sock, or one that a
service manager passes on. $STEWARD_HELPER_BIN names a program that puts a finished turn into one sentence, if there is
one (docs/notify.md).
"""


def main(argv: list[str]) -> int:
    """Serve; the exit code is 0 when told to stop, 1 for what could not be served, 2 for words not understood."""
    if ask(argv, USAGE):
        return Exit.OK
    options = options_of(argv, takes_harness=False)
    if isinstance(options, str) or options.others:
        return misused(USAGE, f"sot-tui notifyd: {options if isinstance(options, str) else 'unknown argument'}")
    home = home_here()
    target = None if options.dry_run else settings.target(home, os.environ)
    if target is None and not options.dry_run:
        tell("steward notifyd: no ntfy URL configured")
        return Exit.FAILED
    return _serve(home, options.base or settings.state_base(os.environ), target)


def _serve(home: Home, base: str, target: Target | None) -> int:
    import signal  # noqa: PLC0415  (only what serves needs these)
    from threading import Event as Flag, Thread  # noqa: PLC0415

    from sot_tui.notify import delivery, held, server, serving as records  # noqa: PLC0415
    from sot_tui.notify.sender import Sender  # noqa: PLC0415

    host = settings.host(home)
    send = None if target is None else Sender(target, host, home.clock).delivers
    gate = held.gate_of(home, os.environ, base)
    served = delivery.served(home, os.environ, base, host, send, gate, say=say, warn=tell)
    serving = server.Server(served.channel, tell, cancel=served.cancel)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: serving.stop())
    try:
        listening = server.listen(home, os.environ, settings.socket_path(os.environ))
    except server.CannotListen as error:
        tell(f"steward notifyd: {error.sentence}")
        return Exit.FAILED
    records.note_notifyd(home, os.environ, base, target)
    over = Flag()
    if send is not None:
        Thread(target=_release, args=(gate, host, send, over), daemon=True, name="digest").start()
    try:
        fault = serving.serve(listening.listener)
    finally:
        over.set()
        server.close(home, listening)
    if fault:
        tell(f"steward notifyd: {fault}")
        return Exit.FAILED
    return Exit.OK


def _release(gate: Gate, host: str, send: Callable[[Notice], bool], over: Event) -> None:
    """Send the digest of what quiet hours held back, each time they are over, until this daemon is."""
    from sot_tui.notify import held, own  # noqa: PLC0415  (as above)

    pause, refused = 0.0, 0
    while not over.wait(pause):
        pause = held.RELEASE_SECS
        try:
            released = gate.release(host, send)
        except OSError:
            tell("steward notifyd: what quiet hours held back could not be read")
            continue
        if released is None or released.delivered:
            refused = 0
        else:
            pause, refused = own.pause(refused), refused + 1
