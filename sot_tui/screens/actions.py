"""The one table of what a person can do.

Bindings, the key line, the help and the palette are made of it, so none of them can promise what another does not
keep. A key means one thing everywhere. What an action does stands in the screen it belongs to, as `action_<name>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from textual.binding import Binding


class Where(Enum):
    """A place that keys work in."""

    EVERYWHERE = "everywhere"
    LINES = "in a list"
    NAV = "in the nav"
    MAIL = "in the mail"
    COMPOSE = "while writing"
    RECOVER = "in the recover dialog"
    HELP = "in the help"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a person can do in one place."""

    where: Where
    name: str
    keys: tuple[str, ...]
    label: str
    """One or two words for the key line; empty for what everybody tries anyway."""
    help: str
    """One sentence for the help and the palette."""


TABLE = (
    Action(Where.NAV, "open_mail", ("enter", "m"), "mail", "Read the mail of the selected handle."),
    Action(Where.NAV, "reply", ("r",), "write", "Write to the selected handle."),
    Action(Where.NAV, "compose", ("c",), "compose", "Write to anybody."),
    Action(
        Where.NAV, "clear_done", ("d",), "clear done", "Clear the done of the selected handle, as a click on it does."
    ),
    Action(Where.NAV, "next_need", ("space",), "next", "Go to the next handle that needs you."),
    Action(Where.NAV, "lock", ("l",), "lock", "Look at the registry lock; recover it from a dead holder."),
    Action(Where.MAIL, "reply", ("r",), "reply", "Reply to the selected message."),
    Action(Where.MAIL, "compose", ("c",), "compose", "Write to anybody."),
    Action(Where.MAIL, "focus_body", ("enter",), "read", "Go to the message itself, to scroll it."),
    Action(Where.MAIL, "reload", ("R",), "read again", "Read the inbox again."),
    Action(Where.MAIL, "back", ("escape",), "back", "Go back."),
    Action(Where.COMPOSE, "send", ("ctrl+s",), "send", "Send the message."),
    Action(Where.COMPOSE, "back", ("escape",), "keep draft", "Close; the draft is kept until it is filed."),
    Action(Where.RECOVER, "back", ("escape",), "cancel", "Close; nothing is changed."),
    Action(Where.RECOVER, "recover", ("ctrl+r",), "recover", "Prove the holder dead once more, and clear its lock."),
    Action(Where.HELP, "back", ("escape", "question_mark", "enter"), "close", "Close the help."),
    Action(Where.LINES, "up", ("up", "k"), "", "One line up."),
    Action(Where.LINES, "down", ("down", "j"), "", "One line down."),
    Action(Where.LINES, "page_up", ("pageup",), "", "One page up."),
    Action(Where.LINES, "page_down", ("pagedown",), "", "One page down."),
    Action(Where.LINES, "first", ("home", "g"), "", "To the first line."),
    Action(Where.LINES, "last", ("end", "G"), "", "To the last line."),
    Action(Where.EVERYWHERE, "keys", ("question_mark",), "help", "Show the keys that work here."),
    Action(Where.EVERYWHERE, "quit", ("q",), "quit", "Close the dashboard."),
)
"""Every action, in the order of the key line: what is wanted most comes first."""

_SPOKEN = {
    "enter": "enter",
    "escape": "esc",
    "question_mark": "?",
    "space": "space",
    "up": "↑",
    "down": "↓",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "home": "home",
    "end": "end",
    "ctrl+s": "^s",
    "ctrl+r": "^r",
}


def of(where: Where) -> tuple[Action, ...]:
    """Return the actions of a place, without those that work everywhere."""
    return tuple(action for action in TABLE if action.where is where)


def bindings(where: Where) -> list[Binding]:
    """Return the key bindings of a place."""
    return [
        Binding(",".join(action.keys), action.name, action.label or action.help, show=False) for action in of(where)
    ]


def spoken(key: str) -> str:
    """Return how a key is called on the screen."""
    return _SPOKEN.get(key, key)
