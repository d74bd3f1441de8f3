"""The one table of hook entries, and how they are merged into an agent's settings: pure, values in and values out.

Contract, registry.json: which hook each agent runs at which event. An entry is ours when its command is the program
`sot-tui` with exactly the words of a hook; every other entry, and everything else in the settings, is left as it is, in
its place and order. What has another shape than the agent gives it is refused and never repaired. A later version adds
its entries to the table; one that the table names no more is removed by the next install. The notifier's are added only
for who wants pushes, and where another program tells the same to the same daemon, ours stay away: one need, one push.
At a turn's end one entry does both, as a turn that is held for new mail is not over.
"""

from __future__ import annotations

import re

from sot_tui.comm.errors import Refused
from sot_tui.comm.light import TYPE_CHECKING, NamedTuple
from sot_tui.comm.program import NAME

if TYPE_CHECKING:
    from typing import Any

    Settings = dict[str, Any]


HOOK, NOTIFY = "hook", "notify"
"""The two verbs that an agent runs: what keeps the session's state, and what tells a person who is away."""


class Entry(NamedTuple):
    """One hook that an agent is to run."""

    event: str
    """The agent's name of the event."""
    words: str
    """What follows the verb."""
    matcher: str = ""
    """The tools at which it runs; empty for all of them, or for an event that has none."""
    timeout_s: int = 15
    """Seconds after which the agent ends it: the longest of its waits, and some."""
    verb: str = HOOK
    """What follows `sot-tui`."""


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

NOTIFIER: dict[str, tuple[Entry, ...]] = {
    "claude": (
        Entry("Stop", "stop --notify", timeout_s=90),
        Entry(
            "Notification",
            "--harness claude-code",
            "permission_prompt|agent_needs_input|elicitation_dialog|elicitation_url_dialog",
            timeout_s=90,
            verb=NOTIFY,
        ),
        Entry("SessionEnd", "--harness claude-code", verb=NOTIFY),
    ),
    "codex": (),
}
"""Those of the notifier, by agent; its protocol knows no Codex. None is at SubagentStop: a sub-agent pushes nothing."""

_THEN_NOTIFY = " --notify"
"""What an entry ends in that stands in the place of the same one without, and pushes what that lets pass."""

_ANOTHER = "another"
_PUSHES = re.compile(r"""(?:^|[\s/;&|])(?:steward|sot-tui)['"]?\s+notify(?:\s|$)""")
"""A command that tells a person the same by the notifier's name elsewhere, or by ours in a person's own words."""


def wanted(settings: Settings, agent: str, *, notify: bool) -> tuple[Entry, ...]:
    """Return the entries that are to stand: the notifier's when they are asked for, or when one stands already.

    Where another entry pushes at an event, ours is not wanted there too. Raises Refused for settings of another shape.
    """
    told = _notified(settings)
    if not (notify or NAME in told.values()):
        return ENTRIES[agent]
    more = tuple(entry for entry in NOTIFIER[agent] if told.get(entry.event) != _ANOTHER)
    replaced = {entry.words.removesuffix(_THEN_NOTIFY) for entry in more if entry.verb == HOOK}
    return tuple(entry for entry in ENTRIES[agent] if entry.words not in replaced) + more


def installed(settings: Settings, agent: str, program: str, *, notify: bool = False) -> Settings:
    """Return settings in which each entry that is wanted stands once, run by `program`, a shell word.

    Entries that stand there already keep their place. Raises Refused for settings of another shape.
    """
    left = {entry: _handler(entry, program) for entry in wanted(settings, agent, notify=notify)}

    def keep(event: str, matcher: str, handler: Settings) -> Settings | None:
        for entry, ours in left.items():
            if (entry.event, entry.matcher, ours) == (event, matcher, handler):
                del left[entry]  # a second one like it is one too many
                return handler
        return None

    events = _filtered(settings, keep)
    for entry, handler in left.items():
        group = {"matcher": entry.matcher} if entry.matcher else {}
        events.setdefault(entry.event, []).append({**group, "hooks": [handler]})
    return {**settings, "hooks": events}


def uninstalled(settings: Settings, *, only_notify: bool = False) -> Settings:
    """Return settings without any entry of ours, nor a group, an event or a table that held nothing else.

    With `only_notify` those alone go that push, and what does more than that goes on without. Raises Refused for
    settings of another shape.
    """

    def keep(_: str, __: str, handler: Settings) -> Settings | None:
        if not only_notify or _verb_of(handler) == NOTIFY:
            return None
        return _silent(handler)

    events = _filtered(settings, keep)
    after = {**settings, "hooks": events}
    if not events and settings.get("hooks"):
        del after["hooks"]
    return after if "hooks" in settings else settings


def missing(settings: Settings, agent: str, program: str, *, notify: bool = False) -> list[Entry]:
    """Return the entries that are wanted and do not stand in the settings as an install would put them there."""
    left = list(wanted(settings, agent, notify=notify))

    def look(event: str, matcher: str, handler: Settings) -> Settings:
        for entry in left:
            if (entry.event, entry.matcher, _handler(entry, program)) == (event, matcher, handler):
                left.remove(entry)
                break
        return handler

    _filtered(settings, look)
    return left


def _notified(settings: Settings) -> dict[str, str]:
    """Return the events at which a person is told by a push, and by whose entry: another's before ours."""
    found: dict[str, str] = {}

    def look(event: str, _: str, handler: Any) -> Any:
        command = handler.get("command") if isinstance(handler, dict) else None
        if _verb_of(handler) == NOTIFY or (_verb_of(handler) and str(command).endswith(_THEN_NOTIFY)):
            found.setdefault(event, NAME)
        elif isinstance(command, str) and _PUSHES.search(command) and "--dry-run" not in command:
            found[event] = _ANOTHER
        return handler

    _filtered(settings, look, is_ours=lambda _: True)
    return found


def _handler(entry: Entry, program: str) -> Settings:
    return {"type": "command", "command": f"{program} {entry.verb} {entry.words}", "timeout": entry.timeout_s}


def _silent(handler: Settings) -> Settings:
    """Return a handler of ours as it is without the push."""
    for entries in NOTIFIER.values():
        for entry in entries:
            command = str(handler["command"])
            if entry.verb == HOOK and command.endswith(f" {HOOK} {entry.words}"):
                words = entry.words.removesuffix(_THEN_NOTIFY)
                (plain,) = (one for one in (*ENTRIES["claude"], *ENTRIES["codex"]) if one.words == words)
                return {**handler, "command": command.removesuffix(_THEN_NOTIFY), "timeout": plain.timeout_s}
    return handler


def _filtered(settings: Settings, keep: Any, is_ours: Any = None) -> dict[str, list[Any]]:
    """Return the table of events with our handlers as `keep` returns them, or without; what is left empty by that goes.

    Which handlers are ours may be said otherwise, to look at all of them.
    """
    table = settings.get("hooks", {})
    if not isinstance(table, dict):
        raise Refused('its "hooks" are no object')
    events: dict[str, list[Any]] = {}
    for event, groups in table.items():
        if not isinstance(groups, list):
            raise Refused(f'its "hooks" have no list under "{event}"')
        kept = [after for group in groups if (after := _group(event, group, keep, is_ours or _verb_of)) is not None]
        if kept or not groups:
            events[event] = kept
    return events


def _group(event: str, group: Any, keep: Any, is_ours: Any) -> Any:
    """Return a group of handlers without those that are not kept, None when nothing else was in it."""
    if not isinstance(group, dict) or not isinstance(handlers := group.get("hooks", []), list):
        raise Refused(f'its "hooks" have a group under "{event}" that is none')
    matcher = group.get("matcher", "")
    after = [keep(event, matcher, one) if is_ours(one) else one for one in handlers]
    kept = [new for new, one in zip(after, handlers, strict=True) if new is not None or one is None]
    if kept == handlers:
        return group
    return {**group, "hooks": kept} if kept else None


def _verb_of(handler: Any) -> str:
    """Return the verb with which a handler runs this program as an agent is to, wherever it lies; empty if none."""
    command = handler.get("command") if isinstance(handler, dict) and handler.get("type") == "command" else None
    if not isinstance(command, str):
        return ""
    for verb, is_said in ((HOOK, _is_hook), (NOTIFY, _is_notify)):
        program, found, words = command.partition(f" {verb} ")
        if found and program.strip("'\"").rpartition("/")[2] == NAME and is_said(words):
            return verb
    return ""


def _is_hook(words: str) -> bool:
    """Tell whether the words behind `hook` are an event's, of this version or another, and nothing more."""
    words = words.removesuffix(_THEN_NOTIFY)
    event, option, agent = (*words.split(" "), "", "")[:3]
    plain = event.replace("-", "").isalpha() and event.isascii()
    return plain and words == f"{event} {option} {agent}".rstrip() and option in {"", "--agent"}


def _is_notify(words: str) -> bool:
    """Tell whether the words behind `notify` name a harness and nothing more; a rehearsal is a person's own."""
    option, _, harness = words.partition(" ")
    return option == "--harness" and harness.isascii() and harness.replace("-", "").isalpha()
