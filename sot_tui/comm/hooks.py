"""What the hooks do that stamp before a turn ends: a prompt, a question, a dialog, a tool that ran.

Contract, registry.json: UserPromptSubmit sends `prompt`, PreToolUse on AskUserQuestion asks, a PostToolUse heartbeat
re-stamps `status_at` under the lock with one try and stays silent, a Codex session's PermissionRequest sends `dialog`
and its heartbeat `resumed`. Nothing here prints; a stamp that cannot be made is returned as a line for stderr, and the
agent's turn goes on.
"""

from __future__ import annotations

from sot_tui.comm import facts, heartbeat, notices, scratch, stamping, turns
from sot_tui.comm.clock import is_stamp_shape, stamp
from sot_tui.comm.facts import MACHINE, USER, Verb
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import NotWritten
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.stamping import Said

if TYPE_CHECKING:
    from typing import Any

    from sot_tui.comm.clock import Stamp
    from sot_tui.comm.home import Home
    from sot_tui.comm.hook_input import Input
    from sot_tui.comm.identity import Context

_MACHINE_STARTS = ("[sot-comm]", "[relay]", "[SYSTEM NOTIFICATION]", "[peer:", "Another Claude session sent a message:")
"""How the wake line opens (contract, Waking), and what agents put in themselves (golden `hook-prompt-machine`)."""
_MACHINE_SIGN = "<task-notification>"

BEAT_S = 60.0
"""Seconds after which a running turn is stamped anew (golden `hook-heartbeat-fresh`)."""


# -- a prompt -------------------------------------------------------------------------------------------------------


def origin_of(prompt: str) -> str:
    """Return who a prompt comes from: `user`, or `machine` for the wake line and what agents put in themselves."""
    machine = prompt.startswith(_MACHINE_STARTS) or _MACHINE_SIGN in prompt or notices.is_notice(prompt)
    return MACHINE if machine else USER


def begin_turn(home: Home, here: Context, prompt: str, session: str) -> str:
    """Stamp that a turn starts; the notice of a held turn end goes on with the one that runs.

    Also noted for a session that is no agent yet, which may join before the turn is over.
    """
    entry = stamping.entry_of(here)
    if notices.is_notice(prompt, notices.told(home, session)) and entry and entry.get("floor") is not None:
        return ""
    notices.forget(home, session)
    origin = origin_of(prompt)
    turns.begin(home, here.self_file, session, origin)
    return _say(home, here, Said(Verb.PROMPT, None, origin))


# -- a question to the user -----------------------------------------------------------------------------------------


def ask(home: Home, here: Context, event: Input) -> str:
    """Stamp that a question to the user is open, and that the turn rests until it is answered."""
    if stamping.entry_of(here) is None:
        return ""
    asked = [text for item in event.below("tool_input").objects("questions") if (text := item.text("question"))]
    more = f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
    question = asked[0] + more if asked else "a question is open"
    if asking := event.text("tool_use_id"):
        scratch.write(home, scratch.asking(asking))  # before the stamp: a mark without a question does no harm
    return _say(home, here, Said(Verb.BLOCKED, question), Said(Verb.STOP))


def answer(home: Home, here: Context, event: Input) -> str:
    """Stamp the user's answer: the turn goes on as the user's. One that no hook saw asked changes nothing."""
    asking = event.text("tool_use_id")
    if not asking or not scratch.exists(home, scratch.asking(asking)):
        return ""
    line = _say(home, here, Said(Verb.PROMPT, None, USER))
    if not line:
        scratch.remove(home, scratch.asking(asking))
    return line


# -- a dialog of the agent's own --------------------------------------------------------------------------------------


def show_dialog(home: Home, here: Context, event: Input) -> str:
    """Stamp that the agent shows a dialog that waits on a person."""
    tool = event.text("tool_name")
    return _say(home, here, Said(Verb.DIALOG, f"Allow {tool}?" if tool else "a permission is asked for"))


# -- a tool that ran --------------------------------------------------------------------------------------------------


def beat(home: Home, here: Context, session: str, *, resumes: bool) -> None:
    """Stamp a running turn anew, with one try at the lock; `resumes` says that a tool that ran closes a dialog."""

    def closes(entry: dict[str, Any]) -> bool:
        return resumes and entry.get("dialog") is not None

    def edit(entry: dict[str, Any], now: Stamp) -> dict[str, Any] | None:
        if closes(entry):
            return facts.apply(entry, Verb.RESUMED, None, "", now)
        return facts.restamped(entry, now) if _is_old(entry, home.clock.now()) else None

    entry = stamping.entry_of(here)
    if entry is None:
        return
    heartbeat.looked(home, session)
    if closes(entry) or _is_old(entry, home.clock.now()):
        stamping.write(home, here.name, here.row, edit, Wait.HEARTBEAT)


def _is_old(entry: dict[str, Any], now: float) -> bool:
    """Tell whether a turn runs whose last stamp is a minute old, or is none; one of the future is left alone."""
    at = entry.get("status_at")
    return entry.get("floor") is not None and (not is_stamp_shape(at) or str(at) <= stamp(now - BEAT_S))


def _say(home: Home, here: Context, *said: Said) -> str:
    """Stamp the own entry, if there is one; return what stderr is told."""
    if stamping.entry_of(here) is None:
        return ""
    stamped = stamping.say(home, here.name, here.row, said, Wait.RULED)
    return stamped.sentence if isinstance(stamped, NotWritten) else ""
