"""The one table of hook entries, and how they are merged into an agent's settings: pure, values in and values out.

Contract, registry.json: which hook each agent runs at which event. An entry is ours when its command is the program
`sot-tui` with exactly the words of a hook; every other entry, and everything else in the settings, is left as it is, in
its place and order. What has another shape than the agent gives it is refused and never repaired. A later version adds
its entries to the table; one that the table names no more is removed by the next install.
"""

from __future__ import annotations

from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.program import NAME

if TYPE_CHECKING:
    from typing import Any

    Settings = dict[str, Any]


class Entry(NamedTuple):
    """One hook that an agent is to run."""

    event: str
    """The agent's name of the event."""
    words: str
    """What follows `sot-tui hook`."""
    matcher: str = ""
    """The tools at which it runs; empty for all of them, or for an event that has none."""
    timeout_s: int = 15
    """Seconds after which the agent ends it: the longest of its waits, and some."""


ENTRIES: dict[str, tuple[Entry, ...]] = {
    "claude": (
        Entry("SessionStart", "session-start", timeout_s=30),
        Entry("UserPromptSubmit", "prompt"),
        Entry("PreToolUse", "blocked", "AskUserQuestion"),
        Entry("PreToolUse", "subagent", "Bash", timeout_s=5),
        Entry("PostToolUse", "heartbeat"),
        Entry("Stop", "stop", timeout_s=30),
    ),
    "codex": (
        Entry("UserPromptSubmit", "prompt --agent codex"),
        Entry("PermissionRequest", "permission --agent codex"),
        Entry("PostToolUse", "heartbeat --agent codex"),
        Entry("Stop", "stop --agent codex", timeout_s=30),
    ),
}
"""Every entry, by agent, in the order in which they are added."""


def installed(settings: Settings, agent: str, program: str) -> Settings:
    """Return settings in which each entry of the agent stands once, run by `program`, a shell word.

    Entries that stand there already keep their place. Raises Refused for settings of another shape.
    """
    wanted = {entry: _handler(entry, program) for entry in ENTRIES[agent]}

    def keep(event: str, matcher: str, handler: Settings) -> bool:
        for entry, ours in wanted.items():
            if (entry.event, entry.matcher, ours) == (event, matcher, handler):
                del wanted[entry]  # a second one like it is one too many
                return True
        return False

    events = _filtered(settings, keep)
    for entry, handler in wanted.items():
        group = {"matcher": entry.matcher} if entry.matcher else {}
        events.setdefault(entry.event, []).append({**group, "hooks": [handler]})
    return {**settings, "hooks": events}


def uninstalled(settings: Settings) -> Settings:
    """Return settings without any entry of ours, nor a group, an event or a table that held nothing else.

    Raises Refused for settings of another shape.
    """
    events = _filtered(settings, lambda *_: False)
    after = {**settings, "hooks": events}
    if not events and settings.get("hooks"):
        del after["hooks"]
    return after if "hooks" in settings else settings


def missing(settings: Settings, agent: str, program: str) -> list[Entry]:
    """Return the entries of the agent that do not stand in its settings as an install would put them there."""
    wanted = list(ENTRIES[agent])

    def look(event: str, matcher: str, handler: Settings) -> bool:
        for entry in wanted:
            if (entry.event, entry.matcher, _handler(entry, program)) == (event, matcher, handler):
                wanted.remove(entry)
                break
        return True

    _filtered(settings, look)
    return wanted


def _handler(entry: Entry, program: str) -> Settings:
    return {"type": "command", "command": f"{program} hook {entry.words}", "timeout": entry.timeout_s}


def _filtered(settings: Settings, keep: Any) -> dict[str, list[Any]]:
    """Return the table of events with those of our handlers that are kept; what is left empty by that goes."""
    table = settings.get("hooks", {})
    if not isinstance(table, dict):
        raise Refused('its "hooks" are no object')
    events: dict[str, list[Any]] = {}
    for event, groups in table.items():
        if not isinstance(groups, list):
            raise Refused(f'its "hooks" have no list under "{event}"')
        kept = [after for group in groups if (after := _group(event, group, keep)) is not None]
        if kept or not groups:
            events[event] = kept
    return events


def _group(event: str, group: Any, keep: Any) -> Any:
    """Return a group of handlers without those that are not kept, None when nothing else was in it."""
    if not isinstance(group, dict) or not isinstance(handlers := group.get("hooks", []), list):
        raise Refused(f'its "hooks" have a group under "{event}" that is none')
    matcher = group.get("matcher", "")
    kept = [one for one in handlers if not _is_ours(one) or keep(event, matcher, one)]
    if len(kept) == len(handlers):
        return group
    return {**group, "hooks": kept} if kept else None


def _is_ours(handler: Any) -> bool:
    """Tell whether a handler runs a hook of this program, wherever the program lies."""
    command = handler.get("command") if isinstance(handler, dict) and handler.get("type") == "command" else None
    if not isinstance(command, str):
        return False
    program, hook, words = command.partition(" hook ")
    name = program.strip("'\"").rpartition("/")[2]
    return bool(hook) and name == NAME and _is_hook(words)


def _is_hook(words: str) -> bool:
    """Tell whether the words behind `hook` are an event's, of this version or another, and nothing more."""
    event, option, agent = (*words.split(" "), "", "")[:3]
    plain = event.replace("-", "").isalpha() and event.isascii()
    return plain and words == f"{event} {option} {agent}".rstrip() and option in {"", "--agent"}
