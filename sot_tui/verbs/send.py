"""`sot-tui send`: one message to a handle, or to all (contract, Delivery, Sending, and The one result)."""

from __future__ import annotations

from sot_tui.comm import identity, names, registry, routes
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import Registry, Unread
from sot_tui.verbs._session import answer, ask, misused, tell, who_am_i

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context

USAGE = """\
Examples:
  sot-tui send @Docs-box 'the schema is on main'    to one handle
  sot-tui send @Docs-box --file notes.md            the bytes of a file (- is stdin)
  sot-tui send --broadcast 'the build is green'     to every other handle

Usage: sot-tui send @HANDLE MESSAGE... | @HANDLE --file PATH | --broadcast MESSAGE...

Only the first word can be the recipient, so a message may begin with @. `--` ends the options.
"""

ALL = "--broadcast"

BODY_LIMIT = 64 << 20
"""Bytes of a body; a device that never ends is told from a file by it, and a reader has to hold a line whole."""


def main(argv: list[str]) -> int:
    """Send, and say `filed -> @h` or `FAILED -> @h: <reason>`; the exit code is 0, 1 (failed) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    if not argv or (argv[0] != ALL and not argv[0].startswith("@")):
        tell("no target; use @name or --broadcast")
        return Exit.FAILED
    target, words = argv[0], argv[1:]
    if words[:1] == [ALL] or (target == ALL and words[:1] == ["--file"]):
        return misused(USAGE, "comm-send: one target, and a file for a handle only")
    if words[:1] == ["--file"]:
        if len(words) != 2:
            return misused(USAGE, "comm-send: --file takes one path, and no further words")
        return _send_file(target, words[1])
    return deliver(target, " ".join(words[1:] if words[:1] == ["--"] else words))


def deliver(target: str, body: str) -> int:
    """Send `body` to `@handle` or `--broadcast` from this session's own handle."""
    home = home_here()
    here = who_am_i(home)
    fault = here.refusal or identity.sender_fault(here)
    if fault or isinstance(here.book, Unread):
        tell(f"FAILED -> {target}: {fault}")
        return Exit.FAILED
    if not body:
        tell(f"FAILED -> {target}: the message is empty")
        return Exit.FAILED
    code = _broadcast(home, here, here.book, body) if target == ALL else _directed(home, here, target, body)
    if code == Exit.OK or target == ALL:
        registry.touch(home, here.name)
    return code


def _directed(home: Home, here: Context, target: str, body: str) -> Exit:
    handle = target.removeprefix("@")
    return Exit.OK if _file(home, here, handle, body, broadcast=False) else Exit.FAILED


def _broadcast(home: Home, here: Context, book: Registry, body: str) -> Exit:
    others = sorted(handle for handle in book.agents if handle != here.name)
    filed = sum(_file(home, here, handle, body, broadcast=True) for handle in others)
    whole = filed == len(others)
    answer(f"Broadcast to {filed} agent(s)." if whole else f"Broadcast to {filed} of {len(others)} agent(s).")
    return Exit.OK if whole else Exit.FAILED


def _file(home: Home, here: Context, handle: str, body: str, *, broadcast: bool) -> bool:
    if not names.is_file_safe(handle):
        tell(f"FAILED -> @{handle}: {names.not_a_handle(handle)}")
        return False
    outcome = routes.send(home, here.name, here.project.repo, handle, body, broadcast=broadcast)
    if outcome.note:
        tell(*outcome.note.split("\n"))
    if isinstance(outcome, routes.Failed):
        tell(outcome.sentence)
        return False
    answer(outcome.sentence if outcome.by_daemon else f"  {outcome.sentence}")
    return True


def _send_file(target: str, path: str) -> int:
    import os  # noqa: PLC0415  (a body in words needs no file)

    try:
        descriptor = 0 if path == "-" else os.open(path, os.O_RDONLY)
        with open(descriptor, "rb", closefd=path != "-") as file:
            body = file.read(BODY_LIMIT + 1)
    except OSError as error:
        tell(f"FAILED -> {target}: {path} could not be read: {error.strerror}; nothing was sent")
        return Exit.FAILED
    if len(body) > BODY_LIMIT:
        tell(f"FAILED -> {target}: {path} holds more than {BODY_LIMIT >> 20} MiB; nothing was sent")
        return Exit.FAILED
    return deliver(target, body.decode("utf-8", "surrogateescape"))
