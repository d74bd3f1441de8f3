"""`sot-tui context`: who this process is to the others, one `KEY=value` on a line (contract, Cases)."""

from __future__ import annotations

from sot_tui.comm.errors import Exit
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import ask, misused, say, tell, who_am_i

USAGE = """\
Examples:
  sot-tui context               which handle, project and files this process acts by

Usage: sot-tui context
"""


def main(argv: list[str]) -> int:
    """Print the identity; the exit code is 0, or 1 for a process that has none and may not have one."""
    if ask(argv, USAGE):
        return Exit.OK
    if argv:
        return misused(USAGE, f"comm-context.sh: unknown argument {argv[0]}")
    home = home_here()
    here = who_am_i(home)
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
    only_when_set = {"ROW_ID", "NAME_HELD_BY"}
    say("".join(f"{key}={value}\n" for key, value in lines.items() if value or key not in only_when_set))
    return Exit.OK
