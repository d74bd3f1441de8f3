"""`sot-tui context`: who this process is to the others, one `KEY=value` on a line (contract, Cases)."""

from __future__ import annotations

from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import ask, misused, say, say_json, tell, who_am_i

USAGE = """\
Examples:
  sot-tui context               which handle, project and files this process acts by
  sot-tui context --json        the same for a program (docs/json.md)

Usage: sot-tui context [--rebind] [--json]

  --rebind    inside a row, name its handle also when another row has it: a join of this row takes it back
"""


def main(argv: list[str]) -> int:
    """Print the identity; the exit code is 0, or 1 for a process that has none and may not have one."""
    if ask(argv, USAGE):
        return Exit.OK
    unknown = [word for word in argv if word not in {"--json", "--rebind"}]
    if unknown:
        return misused(USAGE, f"comm-context.sh: unknown argument {unknown[0]}")
    home = home_here()
    here = who_am_i(home, rebind="--rebind" in argv)
    if here.refusal:
        tell(f"comm-context: {here.refusal}")
        return Exit.FAILED
    lines = {
        "HOST": here.host,
        "HANDLE_HOST": here.handle_host,
        "WORKSPACE_ID": here.workspace_id,
        "ROW_ID": here.row,
        "REPO": here.project.repo,
        "PROJECT_ROOT": here.project.root,
        "NAME": here.name,
        "NAME_HELD_BY": here.held_by,
        "SELF_FILE": here.self_file.path,
        "COMM_HOME": home.path,
        "REGISTRY": home.registry,
        "INBOX_DIR": home.inboxes,
        "READ_DIR": home.cursors,
    }
    if "--json" in argv:
        say_json({key.lower(): value or None for key, value in lines.items()})
        return Exit.OK
    only_when_set = {"ROW_ID", "NAME_HELD_BY"}
    say("".join(f"{key}={value}\n" for key, value in lines.items() if value or key not in only_when_set))
    return Exit.OK
