"""Every op by its name (daemon wire 3, docs/wire.md); what is not here is answered `unknown op: <op>`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.engine.ops import about, mail, ours, rows

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sot_tui.engine.ops.asked import Asked, Control, Reply

    Op = Callable[[Control, Asked], Awaitable[Reply]]


def ops() -> Mapping[str, Op]:
    """Return the ops of one daemon."""
    return {
        "comm.file": mail.file,
        "agent.send": mail.send,
        "agent.join": rows.join,
        "workspace.list": rows.listed,
        "workspace.create": rows.create,
        "workspace.destroy": rows.destroy,
        "workspace.activate": rows.activate,
        "pty.input": rows.Typing(),
        "pty.screen": rows.screen,
        "ping": about.ping,
        "version.query": about.version,
        "accounts.list": about.accounts,
        "fe.command.send": about.command,
        "fe.presence": about.presence,
        "fe.sessions": about.sessions,
        "tui.fleet": ours.fleet,
        "tui.window": ours.window,
        "tui.state": ours.state,
        "tui.do": ours.do,
        "tui.more": ours.more,
    }
