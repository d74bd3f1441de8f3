"""Mail on a real comm home, for the tests of the screens: file it, open it, look at what is listed and what is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from textual.widgets import TextArea

from sot_tui.comm import frames, inbox
from sot_tui.comm.clock import stamp
from sot_tui.screens.compose import ComposeScreen
from sot_tui.screens.letters import LettersScreen
from sot_tui.screens.mail import MailScreen
from sot_tui.screens.widgets.lines import Lines
from sot_tui.screens.widgets.reader import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home
    from tests.screens.real import Opened

IDLE: dict[str, object] = {"state": "idle"}
STALE: dict[str, object] = {"state": "idle", "last_seen": "2001-01-01T00:00:00Z"}
ME = "operator-box"


def mail_to(
    home: Home, handle: str, *texts: str, sender: str = "anna", to: str | None = None, age: float = 0.0
) -> None:
    for text in texts:
        line = frames.frame(sender, handle if to is None else to, "r", text, stamp(home.clock.now() - age))
        assert isinstance(inbox.file_line(home, handle, line), inbox.Filed)


def read_by(home: Home, handle: str) -> None:
    """Show a handle all its mail, as its session's poll does."""
    batch = inbox.read_batch(home, handle)
    assert isinstance(batch, inbox.Batch)
    assert isinstance(inbox.write_cursor(home, handle, batch), inbox.CursorMoved)


def lines_of(path: Path, handle: str) -> list[dict[str, object]]:
    inbox_file = path / "inbox" / f"{handle}.jsonl"
    return [json.loads(line) for line in inbox_file.read_text().splitlines()] if inbox_file.exists() else []


async def open_mail(opened: Opened, handle: str) -> MailScreen:
    opened.lines.select(handle)
    await opened.pilot.press("enter")
    await opened.until(lambda: isinstance(opened.app.screen, MailScreen), "the mail")
    screen = opened.app.screen
    assert isinstance(screen, MailScreen)
    return screen


def index(opened: Opened) -> Lines:
    return opened.app.screen.query_one("#index", Lines)


def listed(opened: Opened) -> list[str]:
    """Return the lines of the index that are in sight, as they are painted."""
    lines = index(opened)
    count = min(len(lines.keys), lines.size.height)
    return [lines.render_line(y).text.rstrip() for y in range(count)]


def body(opened: Opened) -> str:
    return opened.app.screen.query_one("#letter-text", Reader).shown


def writing(opened: Opened) -> TextArea:
    return opened.app.screen.query_one("#compose-text", TextArea)


async def until_on(opened: Opened, kind: type[object]) -> None:
    await opened.until(lambda: isinstance(opened.app.screen, kind), f"the {kind.__name__}")


__all__ = [
    "IDLE",
    "ME",
    "STALE",
    "ComposeScreen",
    "LettersScreen",
    "MailScreen",
    "body",
    "index",
    "lines_of",
    "listed",
    "mail_to",
    "open_mail",
    "read_by",
    "until_on",
    "writing",
]
