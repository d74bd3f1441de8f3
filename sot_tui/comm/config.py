"""The person's own settings, `$XDG_CONFIG_HOME/sot/tui.toml`.

Every key stands in `KEYS` with its type, default and one sentence; `docs/config.md` is made of that table. A file that
cannot be read, a key that is not known, a value of another type: each is one warning and the default, never the end of
a command or of the dashboard. Nothing here writes.
"""

from __future__ import annotations

from enum import Enum

from sot_tui.comm import paths
from sot_tui.comm.disk import Disk
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE_LIMIT = 1 << 20
"""Bytes of a settings file that are read; one written by a person has a thousandth of it."""
SECS_LIMIT = 86400
"""The longest time that a key may set, in seconds: a day."""
PARTS_LIMIT = 32
"""Parts of a dotted key that are read; no client writes more than three."""
_TOML_WORDS = (
    r'"""(?s:\\.|[^\\])*?(?:"""|\Z)|'
    r"'''(?s:.)*?(?:'''|\Z)|"
    r'"(?:\\.|[^"\\\n])*+"|'
    r"'[^'\n]*+'|"
    r"#[^\n]*+"
)
"""What stands in a TOML file as a text or a comment; one of several lines that does not end goes to the file's end."""


_TWO = 2
"""Digits of an hour, and of a minute."""
_DAY_HOURS, _HOUR_MINUTES = 24, 60


class Kind(Enum):
    """What a value of the file may be; the value of the member says it to a person."""

    TEXT = "a text"
    SWITCH = "true or false"
    SECONDS = f"a number of seconds from 1 to {SECS_LIMIT}"
    CHOICE = "one of its words"
    HOURS = "a span of hours like 22:00-07:00, or an empty text"


class Key(NamedTuple):
    """One key of the file."""

    name: str
    kind: Kind
    default: str | bool | float
    help: str
    """One sentence for a person."""
    variables: tuple[str, ...] = ()
    """Variables of the environment that set it when the file does not, the first that is set."""
    words: tuple[str, ...] = ()
    """What a choice may be."""

    @property
    def fits(self) -> str:
        """What a value has to be, in words."""
        return f"one of {', '.join(self.words)}" if self.words else self.kind.value


KEYS = (
    Key("operator", Kind.TEXT, "", "Your own handle; `operator-<host>` when it is empty."),
    Key(
        "theme",
        Kind.TEXT,
        "sot-dark",
        "The colours: `sot-dark`, `sot-light`, `sot-ansi` (the terminal's own 16), `sot-mono` (none, like `NO_COLOR`), "
        "or any that the palette lists.",
    ),
    Key(
        "ascii",
        Kind.SWITCH,
        False,
        "Draw shapes, bars and lines with ASCII signs alone; when it is not set, a locale that is not UTF-8 does so.",
    ),
    Key("mouse", Kind.SWITCH, True, "Take clicks and the wheel; when false, the terminal keeps the mouse to itself."),
    Key("doubt_secs", Kind.SECONDS, 300, "After how long without a heartbeat `working` becomes `working?`."),
    Key("editor", Kind.TEXT, "vi", "The command that a message is written or opened with.", ("VISUAL", "EDITOR")),
    Key(
        "on_leave",
        Kind.CHOICE,
        "rows",
        "When the last dashboard is closed, a background daemon (`sotd run`) goes on with the duties: when `rows` run, "
        "`always`, or `never`.",
        words=("rows", "always", "never"),
    ),
    Key(
        "quiet_hours",
        Kind.HOURS,
        "",
        "Hours of this machine's clock in which no push is sent, as `22:00-07:00`; what came meanwhile is told in one "
        "push after them. Empty: none.",
    ),
    Key(
        "osc",
        Kind.CHOICE,
        "off",
        "Tell the terminal of each new need by OSC `9` (iTerm2, WezTerm, kitty, Ghostty) or `777` (foot, VTE, urxvt); "
        "inside tmux that needs `allow-passthrough`.",
        words=("off", "9", "777"),
    ),
    Key("bell", Kind.SWITCH, False, "Ring the terminal's bell once for each new need."),
    Key("quiet_blocked", Kind.SWITCH, False, "Send a push that asks you for something within the quiet hours too."),
)
"""Every key there is, in the order in which they are shown."""


class Source(Enum):
    """Where a value comes from."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"


class Config(NamedTuple):
    """The settings, and what was wrong with the file."""

    path: str
    values: Mapping[str, str | bool | float]
    sources: Mapping[str, Source]
    """Where each value comes from."""
    warnings: tuple[str, ...] = ()
    unread: bool = False
    """Whether the file is there and none of it could be used."""

    def of(self, name: str) -> str:
        """Return a setting that is a text."""
        return str(self.values[name])

    def switch(self, name: str) -> bool:
        """Return a setting that is true or false."""
        return self.values[name] is True

    def seconds(self, name: str) -> float:
        """Return a setting that is a time."""
        return float(self.values[name])

    def hours(self, name: str) -> tuple[int, int] | None:
        """Return a setting that is a span of hours, as the minutes of the day it begins and ends at; None for none."""
        return hours_in(self.of(name))


def read(environ: Mapping[str, str], disk: Disk | None = None) -> Config:
    """Return the person's settings: the file's word, else the environment's, else the default."""
    path = paths.settings_file(environ)
    said, wrong = read_toml(path, disk or Disk())
    said = said or {}
    warnings = [f"{path} is not used: {wrong}"] if wrong else []
    values: dict[str, str | bool | float] = {}
    sources: dict[str, Source] = {}
    for key in KEYS:
        values[key.name], sources[key.name] = _unless_in_file(key, environ)
        if key.name in said:
            value = _fitting(key, said[key.name])
            if value is None:
                warnings.append(f"{path}: {key.name!r} is not {key.fits}")
            else:
                values[key.name], sources[key.name] = value, Source.FILE
    known = {key.name for key in KEYS}
    warnings += [f"{path}: the key {name!r} is not known{_meant(name)}" for name in said if name not in known]
    return Config(path, values, sources, tuple(warnings), unread=bool(wrong))


def _unless_in_file(key: Key, environ: Mapping[str, str]) -> tuple[str | bool | float, Source]:
    for name in key.variables:
        if environ.get(name):
            return environ[name], Source.ENVIRONMENT
    return key.default, Source.DEFAULT


def _fitting(key: Key, value: object) -> str | bool | float | None:
    """Return a value of the file if it fits the key; `true` is no number, whatever Python says."""
    kind = key.kind
    if kind in {Kind.TEXT, Kind.CHOICE}:
        return value if isinstance(value, str) and value in (key.words or (value,)) else None
    if kind is Kind.HOURS:
        return value if isinstance(value, str) and (not value or hours_in(value)) else None
    if kind is Kind.SWITCH:
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 1 <= value <= SECS_LIMIT else None


def hours_in(text: str) -> tuple[int, int] | None:
    """Return the minutes of the day at which a span like 22:00-07:00 begins and ends; None when a text is none.

    A span that ends where it begins is none: nobody can say whether it is all of the day or nothing of it.
    """
    begin, dash, end = text.partition("-")
    minutes = [_minute(part) for part in (begin, end)]
    if not dash or None in minutes or minutes[0] == minutes[1]:
        return None
    return minutes[0] or 0, minutes[1] or 0


def _minute(text: str) -> int | None:
    hour, colon, minute = text.strip().partition(":")
    digits = hour.isascii() and hour.isdigit() and minute.isascii() and minute.isdigit()
    if not (colon and digits and len(hour) <= _TWO and len(minute) == _TWO):
        return None
    found = int(hour) * 60 + int(minute)
    return found if int(hour) < _DAY_HOURS and int(minute) < _HOUR_MINUTES else None


def _meant(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  (only a slip of the keys needs it)

    close = get_close_matches(name, [key.name for key in KEYS], n=1)
    return f"; perhaps {close[0]!r} is meant" if close else ""


def read_toml(path: str, disk: Disk) -> tuple[dict[str, Any] | None, str]:
    """Return what a file says, and why it says nothing; None without a reason is a missing file."""
    try:
        data = disk.read_up_to(path, FILE_LIMIT)
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError) as error:
        return None, getattr(error, "strerror", "") or str(error)
    try:
        return parse_toml(data.decode("utf-8-sig")), ""
    except ValueError as error:  # no TOML, no UTF-8, or a number longer than Python reads
        return None, str(error)


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a TOML text says; raises ValueError for one that is none, or is nested deeper than a person nests.

    The reader's time grows with the square of a dotted key's parts: a file within its limit could hold it for hours. So
    the parts are counted first, outside texts and comments.
    """
    import re  # noqa: PLC0415  (most people have no such file)
    import tomllib  # noqa: PLC0415

    plain = re.sub(_TOML_WORDS, lambda found: "" if found[0].startswith("#") else "w", text)
    if re.search(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{PARTS_LIMIT}}}", plain):
        raise ValueError(f"a key of it has more than {PARTS_LIMIT} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:  # the reader counts on its stack, and says nothing of its own
        raise ValueError("it is nested too deeply") from error
