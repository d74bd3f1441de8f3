"""`python -m sot_tui`: the same as the command `sot-tui`."""

from __future__ import annotations

import sys

from sot_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
