"""What a subagent may not do: use its parent session's mail.

Contract, Cases: "A subagent that runs inside its parent's agent process uses no mail: it neither sends nor reads"; the
hook "denies a Bash command that names a comm-*.sh script there", and the verbs are the same scripts under another name.
A session's own input has no `agent_id`, so a session is never refused.
"""

from __future__ import annotations

import re

from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from sot_tui.comm.hook_input import Input

SESSION_VERBS = (
    "join", "send", "poll", "list", "leave", "status", "context", "session-start", "self-audit", "lock-clear", "relay",
    "spawn", "despawn", "worktree", "probe",
)  # fmt: skip
"""The verbs by which a session acts on the others, or as itself; a word that only begins with one counts too."""

_COMM_COMMAND = re.compile(
    r"(?<![A-Za-z0-9_-])comm-[A-Za-z0-9-]+\.sh(?![A-Za-z0-9_-])"
    rf"|(?<![A-Za-z0-9_-])sot[-_]tui[\"']?(?:[ \t]|\\\n)+[\"']?(?:{'|'.join(SESSION_VERBS)})(?![A-Za-z0-9_])"
)


def denial(event: Input) -> str | None:
    """Return why a command is denied, None when it is not: only a subagent's input carries an id of its own."""
    agent = event.fields.get("agent_id")
    if agent is None or agent == "":
        return None
    named = _COMM_COMMAND.search(event.below("tool_input").text("command"))
    if named is None:
        return None
    return (
        f"A subagent uses no mail: `{' '.join(named[0].split())}` is its parent session's. Report to the parent, which "
        "sends and polls."
    )
