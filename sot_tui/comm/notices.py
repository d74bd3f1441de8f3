"""Why the turn that runs was held at its end, as the session was told (`state/stop-feedback-<key>.jsonl`).

Contract, Waking: "the check's own held-turn notices do not start a new turn". The agent passes a notice on as if it
were a prompt, and its transcript holds it among the prompts; here is known which ones are no prompts. Their number is
how often the turn was held. A file that another turn left is forgotten when the next one starts.
"""

from __future__ import annotations

import json

from sot_tui.comm import scratch
from sot_tui.comm.light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sot_tui.comm.home import Home

_OPENINGS = ("Stop hook feedback:", "<hook_prompt")
"""How Claude Code, and Codex, open the message by which they pass a notice on."""


def told(home: Home, session: str) -> list[str]:
    """Return the notices of the turn of `session`, in order."""
    found = []
    for line in scratch.read(home, _file(session)).splitlines() if session else ():
        try:
            said = json.loads(line)
        except ValueError:
            continue  # torn by a death
        if isinstance(said, str):
            found.append(said)
    return found


def tell(home: Home, session: str, notice: str) -> None:
    """Note that the turn of `session` is held for `notice`; it is noted before it is told."""
    scratch.append(home, _file(session), json.dumps(notice, ensure_ascii=False))


def forget(home: Home, session: str) -> None:
    """Forget the notices of `session`: its turn is over, or another one starts."""
    if session:
        scratch.remove(home, _file(session))


def is_notice(text: str, notices: Sequence[str] = ()) -> bool:
    """Tell whether a prompt is a notice, by how the agent opens it or by one of the `notices` in it."""
    return text.startswith(_OPENINGS) or any(notice in text for notice in notices)


def _file(session: str) -> str:
    return f"stop-feedback-{session}.jsonl"
