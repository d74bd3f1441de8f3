"""`sot-tui notify`: what an agent's hook runs to tell a person who is away (contract, notify control protocol).

The hook's words come on stdin and become one prepared event; the daemon gets it within its 250 ms, and whenever it does
not take responsibility this process delivers the same event by itself, once. A hook is never made to fail: all but a
misused command line ends in 0.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sot_tui.comm.errors import Exit
from sot_tui.comm.home import Home, home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.notify import event as events, hook, settings
from sot_tui.verbs._session import ask, misused, say, tell

if TYPE_CHECKING:
    from sot_tui.notify.frame import Frame
    from sot_tui.notify.settings import Target

USAGE = """\
Examples:
  sot-tui notify --harness claude-code < hook.json    tell a person what the hook says
  sot-tui notify --harness pi --dry-run < hook.json   only print what would be sent
  sot-tui notify test                                 send one push, and say what the server answered
  sot-tui hooks install --notify                      let Claude Code run it at the end of a turn and for a need

Usage: sot-tui notify [--harness claude-code|pi] [--dry-run] [--state-base FOLDER]
       sot-tui notify test

The push goes to the ntfy topic that $STEWARD_NTFY_URL names, or the file $STEWARD_NTFY_URL_FILE; a token comes from
$STEWARD_NTFY_TOKEN or $STEWARD_NTFY_TOKEN_FILE. STEWARD_NTFY_DISABLED=true switches pushes off.
"""

TOTAL_SECS = 80
"""The whole of a hook; the agents end theirs after 90 seconds."""
STDIN_BYTES = 16 * 1024 * 1024
"""A hook says far less; what comes after is not read."""

_NAME = "steward notify"
"""Under which name the sentences are known."""
_NOBODY = f"{_NAME}: no ntfy URL configured, skipping"


class Options:
    """The words of the command line."""

    def __init__(self) -> None:
        self.harness = ""
        self.base = ""
        self.dry_run = False
        self.others: list[str] = []


def main(argv: list[str]) -> int:
    """Deliver what stdin says; the exit code is 0, or 2 for words that were not understood."""
    if ask(argv, USAGE):
        return Exit.OK
    if argv == ["test"]:
        return _test(home_here())
    options = options_of(argv)
    if isinstance(options, str):
        return misused(USAGE, f"sot-tui notify: {options}")
    home = home_here()
    target = None if options.dry_run else settings.target(home, os.environ)
    if target is None and not options.dry_run:
        tell(_NOBODY)
    elif options.others:
        tell(f"{_NAME}: does not accept positional arguments")
    else:
        _bound()
        _run(home, options, target)
    return Exit.OK


def push(data: bytes, harness: str) -> None:
    """Deliver what a hook says that another verb has read."""
    home = home_here()
    target = settings.target(home, os.environ)
    if target is None:
        tell(_NOBODY)
        return
    options = Options()
    options.harness = harness
    _bound()
    _run(home, options, target, data)


def options_of(argv: list[str], *, takes_harness: bool = True) -> Options | str:
    """Return the options, or the sentence that says what was not understood; one dash is as good as two."""
    options = Options()
    words = list(argv)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            options.others = [word, *words]
            break
        if word == "--":
            options.others = words
            break
        name, has_value, value = word.lstrip("-").partition("=")
        if name == "dry-run":
            if has_value and value not in {"true", "false"}:
                return "--dry-run is true or false"
            options.dry_run = value != "false"
        elif name == "state-base" or (name == "harness" and takes_harness):
            if not has_value and not words:
                return f"--{name} needs a value"
            value = value if has_value else words.pop(0)
            options.base, options.harness = (value, options.harness) if name == "state-base" else (options.base, value)
        else:
            return f"unknown argument {word}"
    return options


def _run(home: Home, options: Options, target: Target | None, data: bytes | None = None) -> None:
    from sot_tui.notify.frame import Frame  # noqa: PLC0415  (nothing is sent when nobody is configured)

    try:
        harness = hook.known_harness(options.harness)
        payload = hook.parse(_stdin() if data is None else data, harness)
    except hook.Unusable as error:
        tell(f"{_NAME}: parsing hook input: {error.sentence}")
        return
    try:
        event = hook.prepare(home, payload)
        frame = Frame(event, settings.workspace(os.environ), options.dry_run)
        if not events.is_metadata(frame.workspace, events.ID_BYTES):
            frame = frame._replace(workspace="")  # a window's name is anybody's text, and no reason to lose a push
    except events.InvalidEvent:
        tell(f"{_NAME}: invalid event")
        return
    if target is not None:
        from sot_tui.notify.client import hand_over  # noqa: PLC0415  (a rehearsal asks no daemon)

        if hand_over(frame, settings.socket_path(os.environ), home.clock):
            return
    _deliver_here(home, options, target, frame)


def _deliver_here(home: Home, options: Options, target: Target | None, frame: Frame) -> None:
    """Bring the event to its end in this process, without a model and without labels."""
    # What sends is only loaded where the daemon did not take the event.
    from sot_tui.notify.delivery import Channel, deliver  # noqa: PLC0415

    host, base = settings.host(home), options.base or settings.state_base(os.environ)
    if target is None:
        deliver(Channel(home, base, host, None, say, tell), frame)
        return
    from sot_tui.notify import held  # noqa: PLC0415  (a rehearsal holds nothing back)
    from sot_tui.notify.sender import Sender  # noqa: PLC0415

    send = Sender(target, host, home.clock).delivers
    gate = held.gate_of(home, os.environ, base)
    deliver(Channel(home, base, host, send, say, tell, keep=gate.keep), frame)
    with suppress(OSError):  # what cannot be read now is told by whoever can
        gate.release(host, send)


def _test(home: Home) -> int:
    """Send one push that a person asked for, and say what came of it."""
    target = settings.target(home, os.environ)
    if target is None:
        tell("sot-tui notify: no ntfy URL configured: set STEWARD_NTFY_URL, or STEWARD_NTFY_URL_FILE to a file with it")
        return Exit.FAILED
    from sot_tui.notify import decision_log, own  # noqa: PLC0415  (a hook does not need it here)
    from sot_tui.notify.decide import INFO, Notice  # noqa: PLC0415
    from sot_tui.notify.sender import Sender  # noqa: PLC0415

    for doubt in settings.doubts(home, os.environ):
        tell(f"sot-tui notify: {doubt}")
    host = settings.host(home)
    notice = Notice(f"sot-tui · {host}", "A push for a test.", INFO)
    sent = Sender(target, host, home.clock).send(notice)
    came = "" if sent.delivered else decision_log.NOT_SENT
    if not decision_log.append_own(home, settings.state_base(os.environ), own.TEST, notice, came):
        tell("sot-tui notify: the decision log could not be written")
    if sent.delivered:
        say(f"delivered: the server answered {sent.status}\n")
        return Exit.OK
    tell(f"sot-tui notify: not delivered: {f'the server answered {sent.status}' if sent.status else 'no answer'}")
    return Exit.FAILED


def _stdin() -> bytes:
    parts: list[bytes] = []
    left = STDIN_BYTES
    try:
        while left > 0 and (part := os.read(0, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
    except OSError as error:
        raise hook.Unusable("stdin could not be read") from error
    return b"".join(parts)


def _bound() -> None:
    """End this process, as if all were well, when it takes too long: a hook that hangs holds its agent up."""
    import signal  # noqa: PLC0415  (only a hook that delivers needs it)

    signal.signal(signal.SIGALRM, lambda *_: os._exit(Exit.OK))
    signal.alarm(TOTAL_SECS)
