"""The door of the daemon, under the name by which clients look for it (daemon wire 1.5).

Scripts start it for one line or one exchange, so the light commands load nothing but what they need; only `run` loads
the engine. Standard output carries the answer alone, and what went wrong is one line on standard error.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

from sot_tui.comm import endpoints, names, topology
from sot_tui.comm.errors import Misuse, SotError
from sot_tui.comm.home import home_here
from sot_tui.verbs._session import named, say, tell

_HELP = """\
The daemon of this box: it runs the rows, files mail for its comm home, and is asked at its control socket.

Examples:
  sotd run                           run it here until it is told to stop (SIGTERM, Ctrl-C)
  sotd session-socket-path sot       where the daemon of a label listens
  sotd stdio-bridge                  speak to this box's daemon by standard input and output
  sotd topology relay-endpoint       where this box reaches the hub

Usage: sotd run [--socket PATH]
       sotd session-socket-path LABEL
       sotd stdio-bridge [--endpoint unix:PATH | --host BOX]
       sotd topology relay-endpoint
       sotd topology plan --self BOX
       sotd --version

Its log is sotd.log in the state root, $XDG_STATE_HOME/sot, else ~/.local/state/sot. A service manager that asks for it
is told when it serves (NOTIFY_SOCKET), and that it is alive (WATCHDOG_USEC).
"""

_USAGES = {
    "run": """\
Run the daemon here until it is told to stop (SIGTERM, Ctrl-C); the rows outlive it.

Usage: sotd run [--socket PATH]

PATH is absolute; without it the socket is the one that sotd session-socket-path names, or $SOT_SOCKET.
""",
    "session-socket-path": """\
Print where the daemon of a label listens.

Usage: sotd session-socket-path [LABEL]

Without LABEL it is sot.
""",
    "stdio-bridge": """\
Speak to a daemon by standard input and output: this box's own, where neither option is given.

Usage: sotd stdio-bridge [--endpoint unix:PATH | --host BOX]
""",
    "topology": """\
Print how this box reaches the hub, or how a box reaches each of the others; hosts.toml says so.

Usage: sotd topology relay-endpoint
       sotd topology plan --self BOX
""",
}
"""The usage of each command."""


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code; `argv` are its words.

    By default they are those of the process, which a light command then ends at once, as the verbs do.
    """
    if argv is not None or sys.argv[1:2] == ["run"]:
        return _answered(sys.argv[1:] if argv is None else argv)
    gc.disable()
    code = _answered(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or gone
            stream.flush()
    os._exit(code)


def _answered(words: list[str]) -> int:
    """Run the command; whatever goes wrong is one line."""
    try:
        return _run(words)
    except KeyboardInterrupt:
        return 130
    except SotError as error:
        tell(f"sotd: {error.sentence}")
        return 2 if isinstance(error, Misuse) else 1
    except OSError as error:
        tell(f"sotd: {error.strerror or error}")
        return 1


def _run(words: list[str]) -> int:
    if words and words[0] in _USAGES and {"-h", "--help"} & set(words[1:]):
        say(_USAGES[words[0]])
        return 0
    match words:
        case ["run", *more]:
            return _daemon(more)
        case ["session-socket-path", *more] if len(more) <= 1:
            say(endpoints.session_socket(home_here(), os.environ, (more or [endpoints.DEFAULT_LABEL])[0]) + "\n")
            return 0
        case ["stdio-bridge", *more]:
            return _bridge(more)
        case ["topology", "relay-endpoint"]:
            say(_relay_endpoint() + "\n")
            return 0
        case ["topology", "plan", *more]:
            return _plan(more)
        case ["--version"]:
            say(f"sotd {_version()} (sot-tui), protocol {_protocol()}\n")
            return 0
        case [] | ["-h" | "--help" | "help"]:
            say(_HELP)
            return 0 if words else 2
    half = words[0] == "topology"
    wrong = "topology is asked for relay-endpoint or for plan" if half else f"there is no command {' '.join(words)!r}"
    tell(f"sotd: {wrong}; sotd --help lists them")
    return 2


def _daemon(words: list[str]) -> int:
    values, left, wrong = named(words, ("--socket",))
    socket = values.get("--socket", "")
    if wrong or left or (socket and not socket.startswith("/")):
        tell(f"sotd: {wrong or (f'unexpected word {left[0]}' if left else 'the path of a socket is absolute')}")
        return 2
    from sot_tui.engine import daemon  # noqa: PLC0415  (the light commands load none of it)

    return daemon.main(home_here(), socket)


def _bridge(words: list[str]) -> int:
    values, left, wrong = named(words, ("--endpoint", "--host"))
    if wrong or left or len(values) > 1:
        tell(f"sotd: {wrong or 'stdio-bridge takes one of --endpoint and --host'}")
        return 2
    path = _bridge_path(values)
    from sot_tui.comm import bridge  # noqa: PLC0415  (no other command needs it)

    why = bridge.run(home_here(), path)
    if why:
        tell(why)
    return 1 if why else 0


def _bridge_path(values: dict[str, str]) -> str:
    """Return the socket that is meant; raises Misuse for what this command cannot bridge to."""
    if "--host" in values:
        host = values["--host"]
        if not topology.PLAIN_NAME.fullmatch(host):
            raise Misuse(f"{host!r} is no name of a box")
        return topology.link_socket(topology.runtime_base(), host)
    if "--endpoint" in values:
        where = endpoints.parsed(values["--endpoint"])
        if not isinstance(where, endpoints.Local):
            raise Misuse(f"cannot bridge to {values['--endpoint']}: only to a unix: socket of this box")
        return where.path
    path = endpoints.own_socket(home_here(), os.environ)
    if not path:
        raise Misuse(f"SOT_SOCKET is no absolute path: {os.environ.get('SOT_SOCKET', '')!r}")
    return path


def _relay_endpoint() -> str:
    """Return where this box reaches its hub; raises Unlisted's reason as a refusal (daemon wire 1.7)."""
    home = home_here()
    way = endpoints.way_to_hub(home, os.environ, names.declared_host(os.environ, home.procs))
    if isinstance(way, topology.Unlisted):
        raise SotError(way.why)
    return way or f"unix:{endpoints.own_socket(home, os.environ)}"


def _plan(words: list[str]) -> int:
    values, left, wrong = named(words, ("--self",))
    host = values.get("--self", "")
    if wrong or left or not host:
        tell(f"sotd: {wrong or 'topology plan needs --self BOX'}")
        return 2
    home = home_here()
    found = topology.read(os.environ, home.disk)
    if isinstance(found, topology.Unlisted):
        raise SotError(found.why)
    if found is None:
        raise SotError("there is no hosts.toml, so no plan")
    own = f"unix:{endpoints.own_socket(home, os.environ)}"
    say("".join(f"{line}\n" for line in topology.plan(found, host, topology.runtime_base(), own)))
    return 0


def _version() -> str:
    from sot_tui.comm.about import version  # noqa: PLC0415  (only asked for by name)

    return version()


def _protocol() -> int:
    from sot_tui.comm.wire import PROTOCOL  # noqa: PLC0415  (as above)

    return PROTOCOL
