"""`sot-tui explain`: why a handle is shown as it is, which fact says so, from where and since when (product, `why`)."""

from __future__ import annotations

from sot_tui.comm import fleet as rules, fleet_json
from sot_tui.comm.clock import age_text
from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.text import visible
from sot_tui.verbs import _fleet
from sot_tui.verbs._session import ask, misused, say, say_json, tell

if TYPE_CHECKING:
    from sot_tui.comm.fleet import Agent, Fleet

USAGE = """\
Examples:
  sot-tui explain @Docs-box          why it is shown as it is: which fact, from where, since when
  sot-tui explain @Docs-box --json   the same for a program (docs/json.md)

Usage: sot-tui explain @HANDLE [--json]
"""


def main(argv: list[str]) -> int:
    """Print the reasons; the exit code is 0, 1 (no such handle, or an unreadable registry) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    words = [word for word in argv if word != "--json"]
    wrong = next((word for word in words if word.startswith("-")), "")
    if wrong or len(words) != 1:
        return misused(USAGE, f"sot-tui explain: {f'unknown option {wrong}' if wrong else 'one handle is needed'}")
    home = home_here()
    fleet = _fleet.read(home)
    if fleet is None:
        return Exit.FAILED
    handle = words[0].removeprefix("@")
    one = fleet.agents.get(handle)
    if one is None:
        tell(f"FAILED: the registry lists no @{handle}{_meant(fleet, handle)}; nothing was explained")
        return Exit.FAILED
    now = home.clock.now()
    if words != argv:
        say_json({**fleet_json.agent_object(fleet, one, now), "reasons": _reasons(fleet, one, now)})
    else:
        say(_told(fleet, one, now))
    return Exit.OK


def _reasons(fleet: Fleet, one: Agent, now: float) -> list[dict[str, str]]:
    return [{"label": reason.label, "text": reason.text} for reason in rules.explain(fleet, one, now)]


def _told(fleet: Fleet, one: Agent, now: float) -> str:
    """Return the line of the nav, and below it each reason on a line of its own."""
    shown = rules.derive(fleet, one, now)
    age = "" if shown.since is None else age_text(now - shown.since)
    lines = ["  ".join(part for part in (f"@{one.handle}", shown.word, shown.summary, age) if part)]
    reasons = rules.explain(fleet, one, now)
    wide = max(len(reason.label) for reason in reasons)
    lines += [f"  {reason.label:<{wide}}  {reason.text}" for reason in reasons]
    return "".join(visible(line) + "\n" for line in lines)


def _meant(fleet: Fleet, handle: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  (only a slip of the keys needs it)

    close = get_close_matches(handle, fleet.agents, n=1)
    return f", perhaps @{close[0]} is meant" if close else ""
