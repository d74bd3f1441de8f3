"""`sot-tui service`: the file by which systemd or launchd runs this person's daemon (product, Many windows).

It writes and removes that one file and speaks to no manager: what is to be done next is printed as a command.
"""

from __future__ import annotations

import os

from sot_tui.comm import daemon_lock, services
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.services import Manager, Stand
from sot_tui.verbs._session import answer, ask, misused, tell

if TYPE_CHECKING:
    from sot_tui.comm.home import Home
    from sot_tui.comm.services import Service

USAGE = """\
Examples:
  sot-tui service install                write the service file of the daemon, and say how to start it
  sot-tui service status                 how the file stands, and who does the duties now
  sot-tui service uninstall              remove what an install wrote, and nothing else

Usage: sot-tui service install [--force] | uninstall | status

Linux: systemd's sotd.service for this account, in $XDG_CONFIG_HOME/systemd/user, else ~/.config/systemd/user. macOS: a
launch agent in ~/Library/LaunchAgents. It holds your search path, your comm home and where the secrets of your pushes
lie ($STEWARD_NTFY_URL_FILE, $STEWARD_NTFY_TOKEN_FILE) as they are now, and never a secret; install it again when they
change. Stopping the daemon ends no row. On Linux the daemon and its rows end with your last logout unless linger
is on (loginctl enable-linger). A file that you wrote or changed is left alone; --force writes over it.
The exit code of status is 1 when an install would write something.
"""


def main(argv: list[str]) -> int:
    """Do one of the three; the exit code is 0, 1 (refused, a fault, or not installed) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    words = [word for word in argv if word != "--force"]
    force = len(words) < len(argv)
    if len(words) != 1 or words[0] not in {"install", "uninstall", "status"} or (force and words[0] != "install"):
        return misused(USAGE, "sot-tui service: say install, uninstall or status")
    home, command = home_here(), services.daemon_command()
    if not command:
        tell("sot-tui service: there is no `sotd` beside this program or on the search path")
        return Exit.FAILED
    try:
        one = services.service(os.environ, command)
        if words[0] == "install":
            return _install(home, one, force=force)
        return _uninstall(home, one) if words[0] == "uninstall" else _status(home, one)
    except SotError as error:
        tell(f"sot-tui service: {error.sentence}")
        return Exit.FAILED


def _install(home: Home, one: Service, *, force: bool) -> Exit:
    written = services.install(home, one, force=force)
    answer(f"{one.path} {'was written' if written else 'stands already'}")
    left = services.left_out(os.environ)
    if left:
        answer(f"  {services.said_of(left)}, and install again")
    answer(f"  next: {services.start_command(one)}")
    if one.manager is Manager.SYSTEMD and services.lingers(home.disk) is False:
        answer("  linger is off, so the daemon and its rows end with your last logout; next: loginctl enable-linger")
    return Exit.OK


def _uninstall(home: Home, one: Service) -> Exit:
    if services.uninstall(home, one):
        answer(f"{one.path} was removed")
        answer(f"  next: {services.forget_command(one)}")
    else:
        answer(f"{one.path} is not there; nothing was removed")
    return Exit.OK


def _status(home: Home, one: Service) -> Exit:
    found = services.look(home.disk, one)
    answer(f"{one.path}: {found.stand.value}{', enabled' if found.enabled else ''}")
    if found.stand is not Stand.MISSING:
        answer(f"  its daemon {services.sender(home.disk, one, found.text).value}")
        left = services.left_out(os.environ)
        if left:
            answer(f"  {services.said_of(left)}")
    said = daemon_lock.last_holder(home, os.environ)
    if said.pid and home.procs.start_of(int(said.pid)) is not None:
        answer(f"  the duties were last taken by a {said.what or 'process'}, pid {said.pid}, which runs")
    else:
        answer("  nobody does the duties now: a dashboard or `sotd run` takes them")
    return Exit.OK if found.stand is Stand.INSTALLED else Exit.FAILED
