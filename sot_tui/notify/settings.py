"""Where the notifier's socket and files are, and whether there is anybody to send to.

Names and paths are those that are deployed already, so a hook, a unit and a secret file stay as they are. The topic's
address and token come from a file or from the environment, never from the command line, and nothing here prints them.
An empty variable stands for none; a file that cannot be read does too.
"""

from __future__ import annotations

import os

from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.home import Home

SECRET_BYTES = 64 * 1024
"""A file that holds an address or a token is never longer."""
TMUX_SECS = 2.0
"""What a terminal multiplexer may take to name its window."""


class Target(NamedTuple):
    """Who gets the pushes."""

    url: str
    """The topic's whole address; a secret, as whoever knows it can read and write there."""
    token: str
    """Empty when there is none."""


def target(home: Home, environ: Mapping[str, str]) -> Target | None:
    """Return who gets the pushes, or None when nobody is configured or pushes are switched off."""
    url = _secret(home, environ, "STEWARD_NTFY_URL")
    if not url or environ.get("STEWARD_NTFY_DISABLED") == "true":
        return None
    return Target(url, _secret(home, environ, "STEWARD_NTFY_TOKEN"))


def doubts(home: Home, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what stands in the variables and cannot be used, a sentence each; no secret is in any of them."""
    found = [
        f"{name}_FILE names a file that cannot be read or is empty, so it counts as none"
        for name in ("STEWARD_NTFY_URL", "STEWARD_NTFY_TOKEN")
        if not environ.get(name) and environ.get(f"{name}_FILE") and not _secret(home, environ, name)
    ]
    url = _secret(home, environ, "STEWARD_NTFY_URL")
    scheme, _, rest = url.partition("://")
    if url and (scheme.lower() not in {"http", "https"} or not rest.strip("/")):
        found.append("STEWARD_NTFY_URL is no http or https address, so nothing can be sent")
    return tuple(found)


def socket_path(environ: Mapping[str, str]) -> str:
    """Return the path of the daemon's socket, by the one rule that client and daemon share."""
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    return f"{runtime or f'/tmp/steward-{os.getuid()}'}{'/steward' if runtime else ''}/notifyd.sock"  # noqa: S108


def state_base(environ: Mapping[str, str]) -> str:
    """Return the folder of the decision log and the session labels."""
    if state := environ.get("XDG_STATE_HOME", ""):
        return f"{state}/steward/notify"
    if person := environ.get("HOME", ""):
        return f"{person}/.local/state/steward/notify"
    from tempfile import gettempdir  # noqa: PLC0415  (a session without a home is rare)

    return f"{gettempdir()}/steward/notify"


def host(home: Home) -> str:
    """Return this machine's name up to its first dot."""
    return home.procs.host_name().partition(".")[0]


def workspace(environ: Mapping[str, str]) -> str:
    """Return the session and window of the terminal multiplexer this process is in; empty when that is not known."""
    pane = environ.get("TMUX_PANE", "")
    if not pane:
        return ""
    import subprocess  # noqa: PLC0415  (only within a multiplexer)

    command = ["tmux", "display-message", "-pt", pane, "#{session_name}:#{window_index}"]
    try:
        ran = subprocess.run(
            command, capture_output=True, check=True, timeout=TMUX_SECS, stdin=subprocess.DEVNULL, env=dict(environ)
        )
        return ran.stdout.decode().strip()
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""


def _secret(home: Home, environ: Mapping[str, str], name: str) -> str:
    if direct := environ.get(name, ""):
        return direct
    path = environ.get(f"{name}_FILE", "")
    if not path or "\0" in path:
        return ""
    try:
        return home.disk.read_up_to(path, SECRET_BYTES).decode().strip()
    except (OSError, ValueError):
        return ""
