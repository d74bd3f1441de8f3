"""The service file by which systemd or launchd runs this person's daemon: what is in it, and how one stands.

The rows outlive the daemon (architecture, Processes), so the manager must stop nothing but the daemon itself and must
not take one row's end for its own: `KillMode=process` and `OOMPolicy=continue`, and launchd's `AbandonProcessGroup`. A
file that another hand wrote or changed is never written over or removed, and no manager is spoken to: a person is told
the command.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from enum import Enum

from sot_tui.comm import paths
from sot_tui.comm.disk import FILE_MODE
from sot_tui.comm.errors import Refused, Unreadable
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sot_tui.comm.disk import Disk
    from sot_tui.comm.home import Home

NAME = "sotd"
LAUNCHD_LABEL = "sot-tui.sotd"
WATCHDOG_SECS = 60
"""Seconds in which the daemon has to say that it is alive; it does so twice in them."""
STOP_SECS = 30
"""Seconds for its end; what is under way is given five, and its threads three."""
RESTART_SECS = 15
"""Before it is started again: an engine that holds the lock is waited for ten seconds by each try."""
SERVING = ("KillMode=process", "OOMPolicy=continue")
"""What a unit has to say so that no row ends with the daemon, and the daemon with no row."""
LINGER = "/var/lib/systemd/linger"
"""The folder in which systemd keeps whose services go on without a login; it is made with the first of them."""
_MARK = "written by sot-tui service; sha256 of what follows: "
_READ_LIMIT = 1 << 16
_HANDED_ON = (
    "PATH",
    "SHELL",
    "LANG",
    "LC_ALL",
    "SOT_COMM_HOME",
    "SOT_SELF_HOST",
    "SOT_HOSTS",
    "SOT_BACKEND_LABEL",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "STEWARD_NTFY_URL_FILE",
    "STEWARD_NTFY_TOKEN_FILE",
    "STEWARD_NTFY_DISABLED",
    "STEWARD_HELPER_BIN",
    "STEWARD_MODEL_PROVIDER",
    "STEWARD_MODEL_ID",
    "STEWARD_MODEL_THINKING",
)
"""What a manager's own environment lacks, and a daemon and the agents in its rows need as the person has it."""
_SECRETS = ("STEWARD_NTFY_URL", "STEWARD_NTFY_TOKEN")
"""What no service file ever holds; the variable with _FILE behind the name says where it lies."""
_TOPIC, _DISABLED = "STEWARD_NTFY_URL", "STEWARD_NTFY_DISABLED"


class Manager(Enum):
    """What runs a person's services here."""

    SYSTEMD = "systemd"
    LAUNCHD = "launchd"


class Stand(Enum):
    """How the service file stands; the value says it to a person."""

    MISSING = "not installed"
    INSTALLED = "installed"
    """As an install would write it now."""
    OLDER = "installed, from another place or environment"
    """An install wrote it, and would write another one now."""
    CHANGED = "installed, and changed by hand since"
    FOREIGN = "a file that no install of this program wrote"


class Service(NamedTuple):
    """The service file of one person on one box."""

    manager: Manager
    path: str
    text: str
    """What an install writes."""


class Sender(Enum):
    """Whether the daemon that a service file starts can push; the value says it to a person."""

    NONE = "has no sender: the file names no topic"
    OFF = "has no sender: pushes are switched off"
    UNREADABLE = "has no sender: the file with the topic cannot be read"
    HAS = "has a sender"
    PERHAPS = "has a sender if a file of variables names one"


class Found(NamedTuple):
    """A look at a service file."""

    stand: Stand
    text: str = ""
    enabled: bool = False
    """Whether systemd starts it at each login; launchd does not tell by a file."""


def daemon_command() -> str:
    """Return the path of the daemon's command: beside this interpreter, else on the search path; "" for none."""
    beside = f"{os.path.dirname(os.path.abspath(sys.executable))}/{NAME}"
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for found in (beside, *(f"{folder}/{NAME}" for folder in folders if folder.startswith("/"))):
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    return ""


def service(environ: Mapping[str, str], command: str, platform: str = sys.platform) -> Service:
    """Return the service file of this environment; raises Refused for one that cannot be written down."""
    said = {name: environ[name] for name in _HANDED_ON if environ.get(name)}
    # A manager starts the daemon in another folder than a person names a file from.
    said |= {name: os.path.abspath(said[name]) for name in map(_file_of, _SECRETS) if name in said}
    for name, value in {**said, NAME: command}.items():
        if not value.isprintable():
            raise Refused(f"{name} holds what no service file can, so none was written")
    if platform == "darwin":
        folder = f"{paths.home_folder(environ)}/Library/LaunchAgents"
        log = paths.daemon_log(environ)
        return Service(Manager.LAUNCHD, f"{folder}/{LAUNCHD_LABEL}.plist", _plist(command, said, log))
    base = environ.get("XDG_CONFIG_HOME", "")
    base = base if base.startswith("/") else f"{paths.home_folder(environ)}/.config"
    return Service(Manager.SYSTEMD, f"{base.rstrip('/')}/systemd/user/{NAME}.service", _unit(command, said))


def look(disk: Disk, one: Service) -> Found:
    """Return how the file stands; raises Unreadable for what is there and cannot be read."""
    try:
        text = _text(disk, one.path)
        enabled = one.manager is Manager.SYSTEMD and _is_there(disk, _link(one))
    except OSError as error:
        raise Unreadable(f"{one.path} could not be read: {error.strerror}") from error
    return Found(_stand(text, one.text), text or "", enabled)


def _stand(text: str | None, ours: str) -> Stand:
    if text is None:
        return Stand.MISSING
    if text == ours:
        return Stand.INSTALLED
    head, mark, rest = text.partition(_MARK)
    if not mark or head not in {_UNIT_HEAD, _PLIST_HEAD}:
        return Stand.FOREIGN
    digest, _, body = rest.partition("\n")
    return Stand.OLDER if digest.split(" ")[0] == _digest(body) else Stand.CHANGED


def _text(disk: Disk, path: str) -> str | None:
    try:
        return disk.read_up_to(path, _READ_LIMIT).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def _is_there(disk: Disk, path: str) -> bool:
    try:
        disk.stat(path)
    except FileNotFoundError:
        return False
    return True


def _link(one: Service) -> str:
    """Return the link by which systemd starts it at each login."""
    return f"{os.path.dirname(one.path)}/default.target.wants/{NAME}.service"


def install(home: Home, one: Service, *, force: bool = False) -> bool:
    """Write the file, and tell whether it had to be; raises Refused over what another hand wrote."""
    stand = look(home.disk, one).stand
    if stand is Stand.INSTALLED:
        return False
    if stand in {Stand.FOREIGN, Stand.CHANGED} and not force:
        raise Refused(f"{one.path} is {stand.value}, and nothing was written; --force writes over it")
    folder, name = os.path.split(one.path)
    try:
        paths.make_folder(home.disk, folder)
        draft = f"{folder}/.{name}.{home.procs.pid()}.{home.procs.serial()}.tmp"
        home.disk.replace(draft, one.path, one.text.encode("utf-8", "surrogateescape"), FILE_MODE)
    except OSError as error:
        raise Unreadable(f"{one.path} could not be written: {error.strerror}") from error
    return True


def uninstall(home: Home, one: Service) -> bool:
    """Remove exactly what an install wrote, and tell whether there was anything."""
    found = look(home.disk, one)
    if found.stand is Stand.MISSING:
        return False
    if found.stand in {Stand.FOREIGN, Stand.CHANGED}:
        raise Refused(f"{one.path} is {found.stand.value}, and stays; remove it by hand if nothing of it is needed")
    if found.enabled:
        raise Refused(f"it is enabled, so its manager needs the file yet; first: {stop_command(one)}")
    try:
        home.disk.unlink(one.path)
    except OSError as error:
        raise Unreadable(f"{one.path} could not be removed: {error.strerror}") from error
    return True


def start_command(one: Service) -> str:
    """Return the command that has the manager take the file up, and start the daemon now and at each login."""
    if one.manager is Manager.LAUNCHD:
        return f"launchctl bootstrap gui/{os.getuid()} {_word(one.path)}"
    return f"systemctl --user daemon-reload && systemctl --user enable --now {NAME}.service"


def stop_command(one: Service) -> str:
    """Return the command that stops the daemon, and has the manager start it no more; its rows go on."""
    if one.manager is Manager.LAUNCHD:
        return f"launchctl bootout gui/{os.getuid()}/{LAUNCHD_LABEL}"
    return f"systemctl --user disable --now {NAME}.service"


def forget_command(one: Service) -> str:
    """Return the command that has the manager forget a file that was removed."""
    return stop_command(one) if one.manager is Manager.LAUNCHD else "systemctl --user daemon-reload"


def lacks(disk: Disk, one: Service, text: str) -> tuple[str, ...]:
    """Return what a unit has to say for its rows, and does not; the last word counts, its drop-ins come last."""
    if one.manager is Manager.LAUNCHD:
        return () if "<key>AbandonProcessGroup</key><true/>" in text.replace("\n", "") else ("AbandonProcessGroup",)
    said = dict(_assignments(disk, one, text))
    return tuple(wanted for wanted in SERVING if said.get(wanted.partition("=")[0]) != wanted.partition("=")[2])


def _assignments(disk: Disk, one: Service, text: str) -> list[tuple[str, str]]:
    """Return what a unit says, in order; its drop-ins come last."""
    try:
        drops = sorted(name for name in disk.listdir(f"{one.path}.d") if name.endswith(".conf"))
        texts = [text, *(_text(disk, f"{one.path}.d/{name}") or "" for name in drops)]
    except FileNotFoundError:
        texts = [text]
    except OSError as error:
        raise Unreadable(f"{one.path}.d could not be read: {error.strerror}") from error
    pairs = (line.strip().partition("=") for line in "\n".join(texts).splitlines())
    return [(key.strip(), value.strip()) for key, _, value in pairs]


def left_out(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets that this environment holds by value alone, so that a service file cannot say them."""
    return tuple(name for name in _SECRETS if environ.get(name) and not environ.get(_file_of(name)))


def said_of(left: tuple[str, ...]) -> str:
    """Return the line about secrets that were left out: what follows, and what is to be done."""
    one = len(left) == 1
    names, files = " and ".join(f"${name}" for name in left), " and ".join(map(_file_of, left))
    no_file = f"{names} {'is' if one else 'are'} secret, so no service file holds {'it' if one else 'them'}"
    so = "the daemon pushes nothing" if _TOPIC in left else "the daemon sends without it"
    return f"{no_file} and {so}: put {'it' if one else 'each'} into a file of yours alone (0600), name it by {files}"


def sender(disk: Disk, one: Service, text: str) -> Sender:
    """Return whether the daemon of a service file can push; what the manager itself hands on is not looked at."""
    names, more = _variables(disk, one, text)
    if names.get(_DISABLED) == "true":
        return Sender.OFF
    if names.get(_TOPIC):
        return Sender.HAS
    path = names.get(_file_of(_TOPIC), "")
    if path:
        # A specifier of systemd's own is not resolved here.
        return Sender.HAS if not path.startswith("/") or _holds_something(disk, path) else Sender.UNREADABLE
    return Sender.PERHAPS if more else Sender.NONE


def _variables(disk: Disk, one: Service, text: str) -> tuple[Mapping[str, str], bool]:
    """Return the variables that a service file sets, and whether it names a file with more of them."""
    if one.manager is Manager.LAUNCHD:
        import plistlib  # noqa: PLC0415  (macOS alone)
        from xml.parsers.expat import ExpatError  # noqa: PLC0415

        try:
            said = plistlib.loads(text.encode("utf-8", "surrogateescape")).get("EnvironmentVariables", {})
        except (ValueError, AttributeError, ExpatError, plistlib.InvalidFileException):
            return {}, False
        return {str(name): str(value) for name, value in said.items()} if isinstance(said, dict) else {}, False
    import shlex  # noqa: PLC0415  (only this verb and the doctor need it)

    found: dict[str, str] = {}
    more = False
    for key, value in _assignments(disk, one, text):
        # An empty one forgets what was said before it (systemd.exec(5)).
        if key == "EnvironmentFile":
            more = bool(value)
        elif key == "Environment" and not value:
            found = {}
        elif key == "Environment":
            with suppress(ValueError):  # systemd says what is wrong with it
                pairs = (word.partition("=") for word in shlex.split(value))
                found |= {name: said.replace("%%", "%") for name, _, said in pairs}
    return found, more


def _holds_something(disk: Disk, path: str) -> bool:
    try:
        return bool(disk.read_up_to(path, _READ_LIMIT).strip())
    except (OSError, ValueError):
        return False


def _file_of(name: str) -> str:
    return f"{name}_FILE"


def lingers(disk: Disk, folder: str = LINGER) -> bool | None:
    """Tell whether this account's services go on after its last logout; None where that cannot be told."""
    import pwd  # noqa: PLC0415  (hardly a command needs it)

    try:
        disk.stat(os.path.dirname(folder))
        return _is_there(disk, f"{folder}/{pwd.getpwuid(os.geteuid()).pw_name}")
    except (OSError, KeyError):
        return None


# -- the texts --------------------------------------------------------------------------------------------------------

_UNIT_HEAD = "# "
_UNIT = """\
[Unit]
Description=The daemon of sot-tui: it runs the rows of agents and files their mail
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command} run
{environment}WatchdogSec={watchdog}
TimeoutStopSec={stop}
Restart=on-failure
RestartSec={restart}
# The rows outlive the daemon: it alone is stopped, and it does not end with one of them that takes too much memory.
KillMode=process
OOMPolicy=continue

[Install]
WantedBy=default.target
"""
_PLIST_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- '
_PLIST = """\
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>{label}</string>
  <key>ProgramArguments</key><array><string>{command}</string><string>run</string></array>
  <key>EnvironmentVariables</key><dict>
{environment}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>{restart}</integer>
  <key>ExitTimeOut</key><integer>{stop}</integer>
  <key>ProcessType</key><string>Interactive</string>
  <key>StandardErrorPath</key><string>{log}</string>
  <!-- The rows outlive the daemon: it alone is stopped. -->
  <key>AbandonProcessGroup</key><true/>
</dict>
</plist>
"""


def _unit(command: str, environ: Mapping[str, str]) -> str:
    lines = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in environ.items())
    body = _UNIT.format(
        command=_quoted(command),
        environment=lines,
        watchdog=WATCHDOG_SECS,
        stop=STOP_SECS,
        restart=RESTART_SECS,
    )
    return f"{_UNIT_HEAD}{_MARK}{_digest(body)}\n{body}"


def _quoted(text: str) -> str:
    """Return a text as one word of a unit (systemd.syntax(7)); a percent sign would name something there."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"'


def _plist(command: str, environ: Mapping[str, str], log: str) -> str:
    lines = (f"    <key>{name}</key><string>{_escaped(value)}</string>\n" for name, value in environ.items())
    body = _PLIST.format(
        label=LAUNCHD_LABEL,
        command=_escaped(command),
        environment="".join(lines),
        restart=RESTART_SECS,
        stop=STOP_SECS,
        log=_escaped(log),
    )
    return f"{_PLIST_HEAD}{_MARK}{_digest(body)} -->\n{body}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _digest(body: str) -> str:
    from hashlib import sha256  # noqa: PLC0415  (only this verb needs it)

    return sha256(body.encode("utf-8", "surrogateescape")).hexdigest()


def _word(text: str) -> str:
    from shlex import quote  # noqa: PLC0415  (as above)

    return quote(text)
