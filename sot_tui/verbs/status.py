"""`sot-tui status`: what this session does, or what happened to it (contract, registry.json, Work-state).

An event in a session that is not a joined agent is a silent no-op, a declaration fails. `$SOT_COMM_ROW_HANDLE` names
the row that a daemon speaks for, and takes only `dialog` and `resumed`, only from a process whose parent is `sotd`.
"""

from __future__ import annotations

import os

from sot_tui.comm import ancestry, facts, identity, names, scratch, stamping, turns
from sot_tui.comm.errors import Exit
from sot_tui.comm.facts import EVENTS, ROW_EVENTS, Verb
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import NotWritten, Unread
from sot_tui.comm.registry_lock import Wait
from sot_tui.comm.stamping import Discarded, Said
from sot_tui.verbs._session import ask, tell

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.identity import Context

USAGE = """\
Examples:
  sot-tui status working 'rebuilding the index'   what this session is at
  sot-tui status blocked 'which branch?'          a question to the user is open
  sot-tui status waiting 'for CI'                 nothing to do until something else happens
  sot-tui status done                             finished, to be looked at

Usage: sot-tui status VERB [TEXT]

Declarations: working, idle, blocked, waiting, done.
`working` says at what: the state is shown while a turn runs, which the hooks tell (sot-tui hooks install), else idle
with that text. `blocked` and `waiting` without a text keep what was said last.
Events, sent by hooks: prompt, stop, dialog, resumed, join. $COMM_STATUS_ORIGIN says who started a prompt's turn: user,
or anything else for a machine.
"""
ASKED_BY = "SOT_COMM_ASKQ_ID"
"""The variable by which the scripts' hook says which tool call asked the question that `blocked` tells of."""
_VERBS = "|".join(verb.value for verb in Verb)


def main(argv: list[str]) -> int:
    """Write the facts of a verb; the exit code is 0, 1 (stamp discarded) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    if not argv:
        tell(f'usage: comm-status.sh <{_VERBS}> ["text"]')
        return Exit.USAGE
    try:
        verb = Verb(argv[0])
    except ValueError:
        tell(f"comm-status.sh: invalid verb '{argv[0]}' (want {_VERBS})")
        return Exit.USAGE
    text = " ".join(argv[1:]) if argv[1:] else None
    home = home_here()
    row_handle = os.environ.get("SOT_COMM_ROW_HANDLE", "")
    return _for_row(home, row_handle, verb, text) if row_handle else _for_session(home, verb, text)


def _for_session(home: Home, verb: Verb, text: str | None) -> Exit:
    here = identity.who_am_i(home, os.environ, identity.working_folder())
    event = verb in EVENTS
    if not event:
        tell(*here.notes)
    if here.refusal:
        return _discarded(verb, here.refusal)
    _keep_turn(home, here, verb)
    if not here.name:
        return _discarded(verb, "no registry row for this session; stamp discarded")
    if isinstance(here.book, Unread):
        tell("FAILED: the registry could not be read; stamp discarded")
        return Exit.FAILED
    if verb is Verb.BLOCKED and (asked_by := os.environ.get(ASKED_BY, "")):
        scratch.write(home, scratch.asking(asked_by))  # by it the heartbeat after the answer knows its question
    return _write(home, here.name, here.row, verb, text)


def _keep_turn(home: Home, here: Context, verb: Verb) -> None:
    """Note where a turn starts and ends, also in a session that is no agent yet and joins before the turn is over."""
    if verb is Verb.PROMPT:
        by_user = os.environ.get("COMM_STATUS_ORIGIN", "") == facts.USER
        turns.begin(home, here.self_file, scratch.session_key(os.environ), facts.USER if by_user else facts.MACHINE)
    elif verb is Verb.STOP:
        turns.end(home, here.self_file)


def _for_row(home: Home, handle: str, verb: Verb, text: str | None) -> Exit:
    """Write what a daemon saw on a row's screen."""
    if verb not in ROW_EVENTS:
        tell(f"comm-status.sh: SOT_COMM_ROW_HANDLE takes only dialog and resumed, not {verb.value}")
        return Exit.USAGE
    if not names.is_handle(handle):
        tell(f"comm-status.sh: SOT_COMM_ROW_HANDLE: {names.not_a_handle(handle)}")
        return Exit.USAGE
    if ancestry.parent_name(home, home.procs.pid()) != "sotd":
        tell("comm-status.sh: SOT_COMM_ROW_HANDLE is taken only from a process whose parent is sotd; stamp discarded")
        return Exit.FAILED
    return _write(home, handle, None, verb, text)


def _write(home: Home, handle: str, row: str | None, verb: Verb, text: str | None) -> Exit:
    """Write the facts under the lock; `row` is the row this process is proved to run in, None for a daemon's word."""
    origin = os.environ.get("COMM_STATUS_ORIGIN", "")
    stamped = stamping.say(home, handle, row, [Said(verb, text, origin)], Wait.RULED)
    if isinstance(stamped, NotWritten):
        tell(stamped.sentence)
        return Exit.FAILED
    return _discarded(verb, stamped.why) if isinstance(stamped, Discarded) else Exit.OK


def _discarded(verb: Verb, why: str) -> Exit:
    if verb in EVENTS:
        return Exit.OK
    tell(f"comm-status.sh: {why}")
    return Exit.FAILED
