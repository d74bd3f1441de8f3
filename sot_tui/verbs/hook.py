"""`sot-tui hook EVENT`: what an agent runs at its events, with one JSON object on stdin.

Contract, registry.json (the hooks) and Cases: a hook of a session that is no joined agent does nothing, one of a
refused process writes nothing under the comm home. Whatever is wrong, the agent's turn goes on: the exit code is 0,
nothing stands on stdout but what the agent's protocol asks for, and a fault is one line on stderr.
"""

from __future__ import annotations

import os

from sot_tui.comm import hook_input, scratch
from sot_tui.comm.errors import Exit, SotError, Unheard
from sot_tui.comm.home import home_here
from sot_tui.comm.hook_input import Unfit
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.verbs._session import ask, named, say, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sot_tui.comm.home import Home
    from sot_tui.comm.hook_input import Input
    from sot_tui.comm.identity import Context

USAGE = """\
Examples:
  echo '{"prompt":"go"}' | sot-tui hook prompt    as Claude Code runs it when a prompt comes in
  sot-tui hooks install                           let the agents run them

Usage: sot-tui hook EVENT [--agent claude|codex] < INPUT
       sot-tui hook stop --notify < INPUT        and tell a person who is away, if the turn may end (sot-tui notify)

Events: session-start, prompt, blocked (a question is asked), subagent (a command of one), permission (Codex asks for
one), heartbeat (a tool ran), stop (the turn is about to end). SOT_COMM_HOOKS=off makes every hook stand down.
"""

_TOLD_AS = {
    "session-start": ("SessionStart",),
    "prompt": ("UserPromptSubmit",),
    "blocked": ("PreToolUse",),
    "subagent": ("PreToolUse",),
    "permission": ("PermissionRequest",),
    "heartbeat": ("PostToolUse", "PostToolUseFailure"),
    "stop": ("Stop",),
}
"""The events, and what the agents call each; an input that says it is another one is not acted on."""

_NOTIFY = "--notify"
_CODEX = "codex"
"""Its dialogs are told by hooks, so that every tool that ran has to look for one; Claude's are seen by the daemon."""
_ASK_TOOL = "AskUserQuestion"
"""The tool by which Claude Code asks the user; its answer is more than a heartbeat."""


class _Call(NamedTuple):
    """One call of a hook."""

    event: str
    agent: str
    input: Input
    session: str
    """The session's key."""


def main(argv: list[str]) -> int:
    """Act on an event; the exit code is 0, or 1 for words that name no event (2 would hold the agent up)."""
    if ask(argv, USAGE):
        return Exit.OK
    if os.environ.get("SOT_COMM_HOOKS") == "off" and _NOTIFY not in argv:
        return Exit.OK
    values, words, wrong = named([word for word in argv if word != _NOTIFY], ("--agent",))
    agent = values.get("--agent", "claude")
    if wrong or len(words) != 1 or words[0] not in _TOLD_AS or agent not in {"claude", _CODEX}:
        tell(f"sot-tui hook: {wrong or 'no such event'}; sot-tui hook --help lists them")
        return Exit.FAILED
    if _NOTIFY in argv and (words[0], agent) != ("stop", "claude"):
        tell("sot-tui hook: only Claude Code's stop is notified of; sot-tui hook --help says more")
        return Exit.FAILED
    _guarded(words[0], lambda: _act(words[0], agent, notify=_NOTIFY in argv))
    return Exit.OK


def _guarded(event: str, act: Callable[[], None]) -> None:
    """Do it, and say in one line what went wrong: the agent's turn goes on."""
    try:
        act()
    except Unheard:
        pass  # the agent does not listen any more
    except SotError as error:
        tell(f"sot-tui hook {event}: {error.sentence}")
    except Exception as error:  # noqa: BLE001  (the agent's turn goes on, whatever is wrong with this program)
        tell(f"sot-tui hook {event}: {type(error).__name__}: {error}")


def _act(event: str, agent: str, *, notify: bool) -> None:
    home = home_here()
    data = hook_input.receive(0, home.clock)
    held: list[bool] = []
    if os.environ.get("SOT_COMM_HOOKS") != "off":
        _guarded(event, lambda: held.append(_does_hold(home, event, agent, data)))
    # A turn that goes on for new mail is not over: what is pushed is its end, once.
    if notify and not any(held) and isinstance(data, bytes):
        from sot_tui.verbs.notify import push  # noqa: PLC0415  (each hook loads what it needs)

        push(data, "claude-code")


def _does_hold(home: Home, event: str, agent: str, data: bytes | Unfit) -> bool:
    """Act on what the agent says, and tell whether its turn is held."""
    found = data if isinstance(data, Unfit) else hook_input.read(data)
    if isinstance(found, Unfit):
        tell(f"sot-tui hook {event}: its input is not the agent's: {found.why}; nothing was done")
        return False
    told_as = found.text("hook_event_name")
    if told_as and told_as not in _TOLD_AS[event]:
        return False
    if event == "prompt" and not found.has_text("prompt"):
        tell("sot-tui hook prompt: there is no prompt in its input; nothing was done")
        return False
    if event == "subagent":
        _deny(found)
        return False
    call = _Call(event, agent, found, scratch.session_key(os.environ, found.text("session_id")))
    if not os.path.isdir(home.path) and not (event == "session-start" and os.environ.get("SOT_WORKSPACE_ID")):
        return False  # nobody has joined on this box, and a hook is not what makes a comm home
    if event == "heartbeat" and agent != _CODEX and found.text("tool_name") != _ASK_TOOL:
        from sot_tui.comm import heartbeat  # noqa: PLC0415  (each hook loads what it needs)

        if not heartbeat.is_due(home, call.session):
            return False
    return _for_session(home, call)


def _for_session(home: Home, call: _Call) -> bool:
    """Act for the session, if it has an identity and may have one; tell whether its turn is held."""
    from sot_tui.comm import identity  # noqa: PLC0415  (as above)

    here = identity.who_am_i(home, os.environ, _project_folder(os.environ))
    if here.refusal:
        return False
    if call.event == "session-start":
        _greet(home, here, call)
        return False
    from sot_tui.comm.registry import Unread  # noqa: PLC0415  (as above)

    if here.name and isinstance(here.book, Unread):
        tell(f"sot-tui hook {call.event}: the registry could not be read ({here.book.why}); nothing was done")
        return False
    if call.event == "stop":
        return _end_turn(home, here, call)
    from sot_tui.comm import hooks  # noqa: PLC0415  (as above)

    fault = ""
    if call.event == "prompt":
        fault = hooks.begin_turn(home, here, call.input.text("prompt"), call.session)
    elif call.event == "blocked" and call.input.text("tool_name") in {"", _ASK_TOOL}:
        fault = hooks.ask(home, here, call.input)
    elif call.event == "permission":
        fault = hooks.show_dialog(home, here, call.input)
    elif call.event == "heartbeat":
        if call.input.text("tool_name") == _ASK_TOOL:
            fault = hooks.answer(home, here, call.input)
        else:
            hooks.beat(home, here, call.session, resumes=call.agent == _CODEX)
    if fault:
        tell(fault)
    return False


def _project_folder(environ: Mapping[str, str]) -> str:
    """Return the folder the session was started in, which the agent may have left since: it is whose the session is."""
    from sot_tui.comm import identity  # noqa: PLC0415  (as above)

    said = environ.get("CLAUDE_PROJECT_DIR", "")
    return said if said.startswith("/") and os.path.isdir(said) else identity.working_folder()


def _end_turn(home: Home, here: Context, call: _Call) -> bool:
    from sot_tui.comm import stamping, turn_end, turns  # noqa: PLC0415  (as above)

    if stamping.entry_of(here) is None:
        turns.end(home, here.self_file)
        return False
    end = turn_end.TurnEnd(
        call.session,
        call.input.is_true("stop_hook_active"),
        call.input.text("transcript_path"),
        call.input.text("last_assistant_message"),
        turn_end.cap_said(os.environ),
    )
    outcome = turn_end.check(home, here, end)
    tell(*outcome.notes)
    if isinstance(outcome, turn_end.Hold):
        try:
            _say_json({"decision": "block", "reason": outcome.reason})
        except Unheard:
            turn_end.untold(home, outcome)
            raise
        turn_end.told(home, outcome)
    return isinstance(outcome, turn_end.Hold)


def _deny(event: Input) -> None:
    """Deny a subagent's command that uses mail; it has no need of a comm home or an identity."""
    from sot_tui.comm import subagent  # noqa: PLC0415  (as above)

    why = subagent.denial(event)
    if why:
        decision = {"permissionDecision": "deny", "permissionDecisionReason": why}
        _say_json({"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}})


def _greet(home: Home, here: Context, call: _Call) -> None:
    """Tell a session that starts who it is; a row joins, and so does a session that was joined before it was started.

    After a compaction or a clear the session is the same, and its handle with it (contract, Cases).
    """
    from sot_tui.comm import greeting  # noqa: PLC0415  (as above)

    text = greeting.greet(home, here, os.environ, _project_folder(os.environ), call.input.text("source"))
    if text:
        say(text)


def _say_json(value: dict[str, object]) -> None:
    """Write one JSON object on a line, as the agents read it."""
    import json  # noqa: PLC0415  (most calls say nothing)

    say(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
