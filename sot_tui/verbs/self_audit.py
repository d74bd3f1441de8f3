"""`sot-tui self-audit`: does each row's identity slot name the project that its key does? (contract, audit slots)."""

from __future__ import annotations

from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.slots import Finding, audit
from sot_tui.verbs._session import ask, say, say_json, tell

if TYPE_CHECKING:
    from sot_tui.comm.slots import Slot

USAGE = """\
Examples:
  sot-tui self-audit            the slots that name another project than their row's
  sot-tui self-audit -v         every slot that is keyed by a row
  sot-tui self-audit --json     every slot, for a program (docs/json.md)

Usage: sot-tui self-audit [-v] [--json]
"""
_HINT = (
    "A slot that names a different project sends that row's mail to the wrong reader. It self-heals the next time its "
    "own session runs comm-context.sh (the read side discards a handle whose root= doesn't match), so prefer letting "
    "the row start over hand-editing the file."
)


def main(argv: list[str]) -> int:
    """Print what differs and the counts; the exit code is 0, 1 (a slot differs) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word not in {"-v", "--verbose", "--json"}]
    if unknown:
        tell(f"comm-self-audit.sh: unknown argument '{unknown[0]}' (see --help)")
        return Exit.USAGE
    slots = audit(home_here())
    count = {finding: sum(slot.finding is finding for slot in slots) for finding in Finding}
    if "--json" in argv:
        say_json(
            {
                "counts": {finding.value: number for finding, number in count.items()},
                "slots": [
                    {
                        "row": slot.key or None,
                        "handle": slot.handle,
                        "repo": slot.repo or None,
                        "finding": slot.finding.value,
                    }
                    for slot in slots
                ],
            }
        )
        return Exit.FAILED if count[Finding.DIFFERS] else Exit.OK
    shown = [line for slot in slots if (line := _line(slot)) and (argv or slot.finding is Finding.DIFFERS)]
    benign = count[Finding.SUFFIXED] + count[Finding.BY_PATH]
    shown.append(
        f"comm-self-audit: {count[Finding.AGREES]} agree, {benign} benign, {count[Finding.DIFFERS]} differ, "
        f"{count[Finding.NO_REPO]} without a repo= line, {count[Finding.NOT_KEYED]} not workspace-keyed"
    )
    say("\n".join(shown) + "\n")
    if not count[Finding.DIFFERS]:
        return Exit.OK
    tell(_HINT)
    return Exit.FAILED


def _line(slot: Slot) -> str:
    match slot.finding:
        case Finding.AGREES:
            return f"agree     {slot.key}  (@{slot.handle}, repo={slot.repo})"
        case Finding.SUFFIXED | Finding.BY_PATH:
            return f"benign    {slot.key}  (@{slot.handle}, repo={slot.repo} — {slot.finding.value}, same project)"
        case Finding.DIFFERS:
            return f"DIFFERS   {slot.key}  names @{slot.handle} with repo={slot.repo} (key slug '{slot.key_slug}')"
        case Finding.NO_REPO:
            return f"no repo=  {slot.key}  (@{slot.handle})"
        case Finding.NOT_KEYED:
            return ""
