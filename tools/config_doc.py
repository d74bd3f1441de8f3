#!/usr/bin/env python3
"""Write docs/config.md from the table of keys in sot_tui/comm/config.py, so that the two never disagree.

tools/config_doc.py            write it
tools/config_doc.py --check    write nothing; fail when it is not what the table says
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sot_tui.comm.config import KEYS, Key, Kind

PAGE = Path(__file__).resolve().parents[1] / "docs" / "config.md"

_HEAD = """\
# Settings

`$XDG_CONFIG_HOME/sot/tui.toml`, or `~/.config/sot/tui.toml` when the variable is not set. The file is yours: nothing of
this program writes it, and none is needed. `sot-tui info` prints every key with its value and where that comes from.

A key that is not known, a value of another type, or a file that cannot be read is one warning, in `sot-tui doctor` and
on the dashboard's message line; the default is used in its place. A change counts from the next start,
and of the quiet hours at once.

| Key | Type | Default | What it does |
|---|---|---|---|
"""
_FOOT = """
An example:

```toml
operator = "anna-desk"
theme = "sot-light"
doubt_secs = 600
quiet_hours = "22:00-07:00"
```

This page is made by `make docs` from the table in `sot_tui/comm/config.py`.
"""
_TYPES = {Kind.TEXT: "text", Kind.SWITCH: "`true` or `false`", Kind.SECONDS: "seconds", Kind.HOURS: "hours"}


def page() -> str:
    """Return the page that the table of keys makes."""
    return _HEAD + "".join(_row(key) for key in KEYS) + _FOOT


def _row(key: Key) -> str:
    default = f"`{_toml(key.default)}`"
    if key.variables:
        default = ", else ".join(f"`${name}`" for name in key.variables) + f", else {default}"
    kind = " or ".join(f'`"{word}"`' for word in key.words) or _TYPES[key.kind]
    return f"| `{key.name}` | {kind} | {default} | {key.help} |\n"


def _toml(value: str | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def main() -> int:
    """Write the page, or compare it; the exit code is 1 when it is not what the table says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page is out of date")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(f"{PAGE.name} is not what the table of keys says; `make docs` writes it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
