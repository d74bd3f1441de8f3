"""The fleet as a verb reads it, once; `comm.fleet_json` says how `--json` names its parts."""

from __future__ import annotations

import os

from sot_tui.comm import config, look
from sot_tui.comm.fleet import UNLISTED
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.registry import Unread
from sot_tui.verbs._session import tell

if TYPE_CHECKING:
    from sot_tui.comm.fleet import Fleet
    from sot_tui.comm.home import Home


def read(home: Home) -> Fleet | None:
    """Return the fleet, having said what is wrong with the settings; None when there is none, which is said too."""
    settings = config.read(os.environ, home.disk)
    tell(*(f"note: {warning}" for warning in settings.warnings))
    seen = look.fleet(home, os.environ, settings)
    if isinstance(seen, Unread):
        tell(UNLISTED)
        return None
    return seen
