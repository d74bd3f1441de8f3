"""The ops that carry words: `comm.file`, which is mail, and `agent.send`, which is not.

Contract, Delivery: a client hands a message over by one `comm.file` and reads one answer; `agent.send` carries notices
to every connection, names nobody, and one that does is refused and published to nobody (daemon wire 3.2 and 3.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm.clock import stamp
from sot_tui.comm.text import visible
from sot_tui.engine.filer import NotFiled, Request
from sot_tui.engine.ops.asked import Asked, Control, Reply, refused, switch_in, text_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.engine.filer import Filed

NOTICE_CHARS = 300
"""Characters of a notice that a window shows, and of who sent it."""


async def file(control: Control, asked: Asked) -> Reply:
    """File a message; ok only once its line is flushed."""
    return replied(await control.filer.file(request_in(asked.payload)))


def request_in(payload: object) -> Request:
    """Return the message that a `comm.file` hands over."""
    return Request(
        text_in(payload, "from"),
        text_in(payload, "to"),
        text_in(payload, "text"),
        switch_in(payload, "broadcast"),
        switch_in(payload, "forwarded"),
    )


def replied(outcome: Filed | NotFiled) -> Reply:
    """Return how an outcome is answered."""
    return refused(outcome.code, outcome.sentence) if isinstance(outcome, NotFiled) else Reply({"ok": True})


async def send(control: Control, asked: Asked) -> Reply:
    """Publish a notice to every connection and show it in every window; say who is there to see it."""
    sender, to, text = asked.text("from"), asked.text("to", ""), asked.text("text")
    number = asked.record().get("id")
    if to:
        words = f"agent.send carries no mail: @{to} is reached by comm.file; nothing was published"
        return refused("mail_requires_comm_file", words)
    its = {} if number is None else {"id": number}
    control.roster.publish(
        "agent.message", {"from": sender, "to": "", "text": text, "ts": stamp(control.home.clock.now()), **its}
    )
    control.noticed(f"@{visible(sender, NOTICE_CHARS)}: {visible(text, NOTICE_CHARS)}")
    return Reply({"ok": True, "receivers": _others(control, asked), **its})


def _others(control: Control, asked: Asked) -> Sequence[str]:
    """Return the names of the other connections and of this daemon's own window, each once."""
    named = (peer.hello.name for peer in control.roster.peers() if peer is not asked.peer and peer.hello.name)
    return list(dict.fromkeys([*([control.own_window] if control.own_window else []), *named]))
