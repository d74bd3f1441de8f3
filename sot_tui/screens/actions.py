"""The one table of what a person can do.

Bindings, the key line, the help and the palette are made of it, so none of them can promise what another does not
keep. A key means one thing everywhere. What an action does stands in the screen it belongs to, as `action_<name>`; why
it can do nothing now is asked of that screen before (`Place.why_not`), and is told in its place.
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
    ROW = "at a row's terminal"
    MAIL = "in the mail"
    COMPOSE = "while writing"
    UNSENT = "in what is not sent"
    CONFIRM = "in a question"
    SPAWN = "in the form of a new row"
    RECOVER = "in the recover dialog"
    LOCKS = "among the locks"
    EVENTS = "in the event log"
    FAR = "at a row of another box"
    HELP = "in the help"
    FILTER = "while a filter is typed"
    HITS = "while a row's terminal is searched"
    WORDS = "while the words of a search are typed"


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
    writes: bool = False
    """Whether it can change something on the disk, so that a dashboard that only looks refuses it."""
    types: bool = False
    """Whether words follow it, so that it is answered before any key that comes after it is handed out."""
    each: bool = False
    """Whether each of its keys is a thing of its own, which the action is told; a range on the screen."""


_RECOVER = "Look at the registry lock, to recover it from a dead holder."

TABLE = (
    Action(
        Where.NAV,
        "open",
        ("enter",),
        "view",
        "Open the terminal of the selected row; the mail of a handle without one.",
    ),
    Action(Where.NAV, "open_mail", ("m",), "mail", "Read the mail of the selected handle."),
    Action(Where.NAV, "reply", ("r",), "write", "Write to the selected handle.", writes=True, types=True),
    Action(Where.NAV, "compose", ("c",), "compose", "Write to anybody.", writes=True, types=True),
    Action(Where.NAV, "new", ("n",), "new", "Start a row: a folder, an agent, a first task.", writes=True, types=True),
    Action(Where.NAV, "next_need", ("space",), "next", "Go to the next handle that needs you."),
    Action(
        Where.NAV,
        "clear_done",
        ("d",),
        "clear done",
        "Clear the done of the selected handle, as a click on it does.",
        writes=True,
    ),
    Action(
        Where.NAV,
        "filter",
        ("slash",),
        "filter",
        "Show some handles only: state:blocked host:box !text; all must fit.",
        types=True,
    ),
    Action(Where.NAV, "locks", ("l",), "locks", "Look at who holds the registry lock and the inbox locks."),
    Action(Where.NAV, "events", ("e",), "events", "Read what the engine did and decided."),
    Action(
        Where.NAV,
        "aside",
        ("z",),
        "aside",
        "Set the need of the selected handle aside until something about it changes, or take that back.",
        writes=True,
    ),
    Action(Where.NAV, "broadcast", ("b",), "to all", "Write to every handle at once.", writes=True, types=True),
    Action(Where.NAV, "unsent", ("u",), "not sent", "What is not sent: refused messages and drafts."),
    Action(
        Where.NAV,
        "end",
        ("x",),
        "end",
        "End the selected row, or remove it once it has ended; remove a stale handle; each after a question.",
        writes=True,
    ),
    Action(
        Where.NAV,
        "run_again",
        ("a",),
        "run again",
        "Run a row again whose run is over, after a look at the command.",
        writes=True,
    ),
    Action(
        Where.NAV,
        "answer",
        tuple("123456789"),
        "",
        "Give that answer to the dialog of the selected row; its screen is read again before the key is typed.",
        writes=True,
        each=True,
    ),
    Action(
        Where.NAV,
        "look",
        ("v",),
        "look",
        "Look at the terminal of the selected row without typing: scroll back, search, copy.",
    ),
    Action(Where.NAV, "copy", ("y",), "copy", "Copy the selected handle to the terminal's clipboard (OSC 52)."),
    Action(Where.NAV, "recover", ("ctrl+r",), "", _RECOVER),
    Action(Where.NAV, "back", ("escape",), "", "Show every handle again."),
    Action(Where.ROW, "type", ("enter", "i"), "type", "Type to the agent: every key but ^] goes to it.", writes=True),
    Action(Where.ROW, "run_again", ("a",), "again", "Run it again, after a look at the command.", writes=True),
    Action(Where.ROW, "end", ("x",), "end", "End it, or remove it once it has ended; after a question.", writes=True),
    Action(Where.ROW, "search", ("slash",), "search", "Search in what it shows and what was scrolled off.", types=True),
    Action(
        Where.ROW, "copy", ("y",), "copy", "Copy what is marked, else all that is shown, to the terminal's clipboard."
    ),
    Action(Where.ROW, "open_mail", ("m",), "mail", "Read the mail of this handle."),
    Action(Where.ROW, "pane_left", ("left",), "panes", "To the handles beside the terminal."),
    Action(Where.ROW, "pane_right", ("right",), "", "From the handles to the terminal."),
    Action(
        Where.ROW, "back", ("escape", "ctrl+right_square_bracket"), "back", "To the end of what it shows; then go back."
    ),
    Action(Where.LOCKS, "recover", ("ctrl+r", "enter"), "recover", "Recover the registry lock from a dead holder."),
    Action(Where.LOCKS, "reload", ("R",), "look again", "Look at every lock again."),
    Action(Where.LOCKS, "back", ("escape",), "back", "Go back."),
    Action(Where.FAR, "open_mail", ("m",), "mail", "Read the mail of this handle."),
    Action(Where.FAR, "back", ("escape",), "back", "Go back."),
    Action(
        Where.EVENTS, "filter", ("slash",), "filter", "Show some lines only: kind:mail !text; all must fit.", types=True
    ),
    Action(Where.EVENTS, "copy", ("y",), "copy", "Copy the selected line to the terminal's clipboard (OSC 52)."),
    Action(Where.EVENTS, "recover", ("ctrl+r",), "", _RECOVER),
    Action(Where.EVENTS, "back", ("escape",), "back", "Show every line again; then go back."),
    Action(Where.MAIL, "reply", ("r",), "reply", "Reply to the selected message.", writes=True, types=True),
    Action(Where.MAIL, "open_letter", ("enter",), "open", "Open the selected message; in a search, where it lies."),
    Action(Where.MAIL, "next_need", ("space",), "next new", "Go to the next message to you that you have not opened."),
    Action(Where.MAIL, "compose", ("c",), "compose", "Write to anybody.", writes=True, types=True),
    Action(Where.MAIL, "search", ("slash",), "search", "Search in all inboxes.", types=True),
    Action(Where.MAIL, "pane_left", ("left",), "panes", "To the left: from the message to the list, to the handles."),
    Action(Where.MAIL, "pane_right", ("right",), "", "To the right: from the handles to the list, into the message."),
    Action(Where.MAIL, "threads", ("t",), "threads", "What was said with each peer, both ways."),
    Action(Where.MAIL, "sent", ("s",), "sent", "What was sent from here, and whether it was read."),
    Action(Where.MAIL, "broadcast", ("b",), "to all", "Write to every handle at once.", writes=True, types=True),
    Action(Where.MAIL, "copy", ("y",), "copy", "Copy the message to the terminal's clipboard (OSC 52)."),
    Action(Where.MAIL, "open_outside", ("o",), "editor", "Open the whole message in your editor.", writes=True),
    Action(Where.MAIL, "unsent", ("u",), "not sent", "What is not sent: refused messages and drafts."),
    Action(Where.MAIL, "reload", ("R",), "read again", "Read again what is listed."),
    Action(Where.MAIL, "recover", ("ctrl+r",), "", _RECOVER),
    Action(Where.MAIL, "back", ("escape",), "back", "Go back."),
    Action(Where.COMPOSE, "send", ("ctrl+s",), "send", "Send the message.", writes=True),
    Action(Where.COMPOSE, "complete", ("tab",), "complete", "Take the marked handle; else go to the next field."),
    Action(Where.COMPOSE, "known_up", ("up",), "", "Mark the handle above, while the receiver is typed."),
    Action(Where.COMPOSE, "known_down", ("down",), "", "Mark the handle below."),
    Action(Where.COMPOSE, "open_outside", ("ctrl+o",), "editor", "Write it in your editor; what you leave comes back."),
    Action(Where.COMPOSE, "back", ("escape",), "keep draft", "Close; the draft is kept until it is filed."),
    Action(Where.UNSENT, "open_draft", ("enter",), "open", "Take the selected draft up again."),
    Action(Where.UNSENT, "send", ("ctrl+s",), "send again", "Send the selected one as it is.", writes=True),
    Action(
        Where.UNSENT, "delete", ("delete", "D"), "delete", "Delete the selected one, after a question.", writes=True
    ),
    Action(Where.UNSENT, "recover", ("ctrl+r",), "", _RECOVER),
    Action(Where.UNSENT, "back", ("escape",), "back", "Go back."),
    Action(Where.CONFIRM, "back", ("escape",), "cancel", "Answer no; nothing is changed."),
    Action(Where.CONFIRM, "other", ("left",), "other button", "To the button on the left; enter takes it."),
    Action(Where.CONFIRM, "other_next", ("right",), "", "To the button on the right; enter takes it."),
    Action(Where.SPAWN, "start", ("ctrl+s",), "start", "Start the row.", writes=True),
    Action(
        Where.SPAWN, "complete", ("tab",), "complete", "Take the marked folder or account; else go to the next field."
    ),
    Action(Where.SPAWN, "known_up", ("up",), "", "Mark the folder or account above, while one is typed."),
    Action(Where.SPAWN, "known_down", ("down",), "", "Mark the one below."),
    Action(Where.SPAWN, "back", ("escape",), "close", "Close; the form is kept until its row is started."),
    Action(Where.RECOVER, "back", ("escape",), "close", "Close; nothing is changed."),
    Action(
        Where.RECOVER,
        "recover",
        ("ctrl+r",),
        "recover",
        "Prove the holder dead once more, and clear its lock.",
        writes=True,
    ),
    Action(Where.HELP, "back", ("escape", "question_mark", "enter"), "close", "Close the help."),
    Action(Where.FILTER, "keep", ("enter",), "keep it", "Keep the filter, and go to the list."),
    Action(Where.FILTER, "back", ("escape",), "show all", "Forget the filter, and show every line."),
    Action(Where.HITS, "further_up", ("up",), "up", "To the next place further up."),
    Action(Where.HITS, "further_down", ("down",), "down", "To the next place further down."),
    Action(Where.HITS, "back", ("escape",), "close", "End the search, and look at what was found."),
    Action(Where.WORDS, "keep", ("enter",), "to the list", "Go to what was found."),
    Action(Where.WORDS, "back", ("escape",), "back", "Go back."),
    Action(Where.LINES, "up", ("up", "k"), "", "One line up."),
    Action(Where.LINES, "down", ("down", "j"), "", "One line down."),
    Action(Where.LINES, "page_up", ("pageup",), "", "One page up."),
    Action(Where.LINES, "page_down", ("pagedown",), "", "One page down."),
    Action(Where.LINES, "first", ("home", "g"), "", "To the first line."),
    Action(Where.LINES, "last", ("end", "G"), "", "To the last line."),
    Action(Where.EVERYWHERE, "keys", ("question_mark",), "help", "Show the keys that work here."),
    Action(Where.EVERYWHERE, "command_palette", ("ctrl+p",), "palette", "Find any action and any handle."),
    Action(Where.EVERYWHERE, "change_theme", ("T",), "", "Change the colours, until the dashboard is closed."),
    Action(Where.EVERYWHERE, "quit", ("q",), "quit", "Close the dashboard."),
)
"""Every action, in the order of the key line: what is wanted most comes first."""

TYPING = frozenset({Where.FILTER, Where.HITS, Where.WORDS})
"""Where a field has the keys: they are signs, but for those that end the typing."""
_RUN_AT_ONCE = frozenset({Where.EVERYWHERE, Where.LINES})
"""Where an action belongs to the app or to a list, and is never refused."""

_SPOKEN = {
    "enter": "enter",
    "escape": "esc",
    "question_mark": "?",
    "ctrl+p": "^p",
    "space": "space",
    "up": "↑",
    "down": "↓",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "home": "home",
    "end": "end",
    "ctrl+s": "^s",
    "ctrl+o": "^o",
    "slash": "/",
    "tab": "tab",
    "left": "←",
    "right": "→",
    "delete": "del",
    "ctrl+r": "^r",
    "ctrl+right_square_bracket": "^]",
}


def of(where: Where) -> tuple[Action, ...]:
    """Return the actions of a place, without those that work everywhere."""
    return tuple(action for action in TABLE if action.where is where)


def named(where: Where, name: str) -> Action:
    """Return the action of a place by its name."""
    return next(action for action in TABLE if (action.where, action.name) == (where, name))


def call(action: Action) -> str:
    """Return how Textual is told to run an action: in a place by way of its `act`, which may refuse it."""
    if action.where in TYPING:
        return f"typed('{action.name}')"
    return action.name if action.where in _RUN_AT_ONCE else f"act('{action.name}')"


def bindings(where: Where) -> list[Binding]:
    """Return the key bindings of a place."""
    return [
        Binding(keys, run, action.label or action.help, show=False, priority=action.types)
        for action in of(where)
        for keys, run in _runs(action)
    ]


def _runs(action: Action) -> list[tuple[str, str]]:
    """Return keys, each with how Textual is told to run their action."""
    if action.each:
        return [(key, call_with(action, key)) for key in action.keys]
    return [(",".join(action.keys), call(action))]


def call_with(action: Action, key: str) -> str:
    """Return how Textual is told to run an action of which each key is a thing of its own."""
    return f"act('{action.name}', '{key}')"


def spoken(key: str) -> str:
    """Return how a key is called on the screen."""
    return _SPOKEN.get(key, key)


def spoken_keys(action: Action) -> str:
    """Return how all keys of an action are called on the screen."""
    return f"{action.keys[0]}-{action.keys[-1]}" if action.each else " ".join(map(spoken, action.keys))


def shown_key(action: Action) -> str:
    """Return the key that the key line shows for an action: the first one, and the arrow back with its arrow."""
    return "←→" if action.keys[0] == "left" else spoken(action.keys[0])
