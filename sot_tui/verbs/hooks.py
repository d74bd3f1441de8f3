"""`sot-tui hooks`: put the hooks into the agents' settings, take them out, and look what stands there.

The settings are the person's: what cannot be read strictly is left alone, what is written is told with the place of the
old text, and an agent that has no folder here is passed over unless it was named.
"""

from __future__ import annotations

import os

from sot_tui.comm import hook_entries, hook_settings, skills
from sot_tui.comm.errors import Exit, SotError
from sot_tui.comm.home import home_here
from sot_tui.comm.hook_settings import Changed
from sot_tui.comm.light import TYPE_CHECKING
from sot_tui.comm.program import own_command
from sot_tui.comm.skills import Skill
from sot_tui.notify import settings
from sot_tui.verbs._session import answer, ask, misused, named, say, say_json, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from sot_tui.comm.home import Home
    from sot_tui.comm.hook_entries import Entry

USAGE = """\
Examples:
  sot-tui hooks install                  into the settings of every agent that is here
  sot-tui hooks install --agent claude   of one of them, and make the file when there is none
  sot-tui hooks diff                     show what an install would change
  sot-tui hooks install --notify         with those that push to you when you are away (sot-tui notify --help)
  sot-tui hooks uninstall                take out exactly what an install put in; with --notify, only those that push

Usage: sot-tui hooks install|uninstall|status|diff [--agent claude|codex] [--notify] [--json]

Claude Code: settings.json in $CLAUDE_CONFIG_DIR, else ~/.claude. Codex: hooks.json in $CODEX_HOME, else ~/.codex; it
runs a new hook once you trust it (/hooks). A file that is changed is kept beside it, as *.bak. --json is for status.
Two skills go into the folder skills/ beside it, and tell the agent how to send, poll and declare.
The hooks that push are Claude Code's; without --notify they are installed where a topic to push to is configured, or
where they stand already. An event at which another entry pushes already (steward notify) gets none of ours.
The exit code of status and diff is 1 when an install would change something.
"""

_TRUST = "  Codex runs a hook that is new only after you trust it: type /hooks there."


def main(argv: list[str]) -> int:
    """Do one of the four; the exit code is 0, 1 (something failed, or is missing) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    as_json, notify = "--json" in argv, "--notify" in argv
    values, words, wrong = named([word for word in argv if word not in {"--json", "--notify"}], ("--agent",))
    agents = [values["--agent"]] if "--agent" in values else list(hook_entries.ENTRIES)
    if wrong or len(words) != 1 or words[0] not in _DO or agents[0] not in hook_entries.ENTRIES:
        return misused(USAGE, f"sot-tui hooks: {wrong or 'say install, uninstall, status or diff'}")
    if as_json and words[0] != "status":
        return misused(USAGE, "sot-tui hooks: --json is for status")
    home = home_here()
    if "--agent" not in values:
        agents = [agent for agent in agents if os.path.isdir(os.path.dirname(_place(agent)))]
    notify = notify or (words[0] != "uninstall" and settings.target(home, os.environ) is not None)
    if as_json:
        return _status_as_json(home, agents, notify=notify)
    if not agents:
        tell(f"sot-tui hooks: no agent is here: there is no {' and no '.join(map(_folder, hook_entries.ENTRIES))}")
        return Exit.FAILED
    return max(_each(home, agent, _DO[words[0]], notify=notify) for agent in agents)


def _each(home: Home, agent: str, do: Callable[[Home, str, bool], Exit], *, notify: bool) -> Exit:
    """Do it for one agent; what is wrong with its settings keeps no other agent from its own."""
    try:
        return do(home, agent, notify)
    except SotError as error:
        tell(f"{agent}: {error.sentence}")
        return Exit.FAILED


def _install(home: Home, agent: str, notify: bool) -> Exit:
    path, program = _place(agent), own_command(os.environ)
    done = hook_settings.change(home, path, lambda was: hook_entries.installed(was, agent, program, notify=notify))
    entries = hook_entries.wanted(hook_settings.read(home, path).settings, agent, notify=notify)
    count = len(entries)
    if isinstance(done, Changed):
        answer(f"{agent}: {count} hooks stand in {path}{_kept(done)}")
        if agent == "codex":
            answer(_TRUST)
    else:
        answer(f"{agent}: all {count} hooks stand in {path} already")
    pushing = sum(entry in hook_entries.NOTIFIER[agent] for entry in entries)
    if notify or pushing:
        _tell_of_pushes(home, agent, pushing)
    for name in skills.SKILLS:
        found = skills.install(home, _skill(agent, name), name)
        new = "stands" if found is Skill.MISSING else "is brought up to date"
        answer(
            f"  the skill {name} {found.value if found in {Skill.OURS, Skill.FOREIGN} else new}: {_skill(agent, name)}"
        )
    return Exit.OK


def _tell_of_pushes(home: Home, agent: str, pushing: int) -> None:
    """Say what is between the hooks that push, of which so many stand, and a push."""
    if not hook_entries.NOTIFIER[agent]:
        answer(f"  none of them pushes: the notifier knows no {agent}")
        return
    if pushing < len(hook_entries.NOTIFIER[agent]):
        answer("  another entry pushes there already, and goes on to: one need is one push")
    if pushing and settings.target(home, os.environ) is None:
        answer("  they push nothing before STEWARD_NTFY_URL, or STEWARD_NTFY_URL_FILE, is set where the agent runs")


def _uninstall(home: Home, agent: str, notify: bool) -> Exit:
    path, what = _place(agent), "hook that pushes" if notify else "hook"
    done = hook_settings.change(home, path, lambda was: hook_entries.uninstalled(was, only_notify=notify), make=False)
    if isinstance(done, Changed):
        answer(f"{agent}: no {what} stands in {path} any more{_kept(done)}")
    else:
        answer(f"{agent}: no {what} stood in {path}")
    if notify:
        return Exit.OK
    for name in skills.SKILLS:
        found = skills.uninstall(home, _skill(agent, name), name)
        if found is not Skill.MISSING:
            answer(f"  the skill {name} {found.value if found is Skill.FOREIGN else 'is gone'}: {_skill(agent, name)}")
    return Exit.OK


def _status(home: Home, agent: str, notify: bool) -> Exit:
    path, program = _place(agent), own_command(os.environ)
    there = hook_settings.read(home, path).settings
    missing = hook_entries.missing(there, agent, program, notify=notify)
    count = len(hook_entries.wanted(there, agent, notify=notify))
    answer(f"{agent}: {count - len(missing)} of {count} hooks stand in {path}")
    for entry in missing:
        answer(f"  missing: {entry.event}{f' ({entry.matcher})' if entry.matcher else ''}: {_said(entry)}")
    absent = False
    for name in skills.SKILLS:
        found = skills.standing(home, _skill(agent, name), name)
        answer(f"  the skill {name} {found.value}")
        absent = absent or found in {Skill.MISSING, Skill.OTHER}
    if missing or absent:
        return Exit.FAILED
    if hook_entries.installed(there, agent, program, notify=notify) != there:
        answer("  others of ours stand there too, of another version or place; an install takes them out")
        return Exit.FAILED
    return Exit.OK


def _status_as_json(home: Home, agents: list[str], *, notify: bool) -> Exit:
    code = Exit.OK
    found: list[dict[str, object]] = []
    for agent in agents:
        path = _place(agent)
        shown: dict[str, object] = {"agent": agent, "file": path, "hooks": len(hook_entries.ENTRIES[agent])}
        try:
            there = hook_settings.read(home, path).settings
            missing = hook_entries.missing(there, agent, own_command(os.environ), notify=notify)
            shown["hooks"] = len(hook_entries.wanted(there, agent, notify=notify))
            shown["missing"] = [entry._asdict() for entry in missing]
            shown["skills"] = {
                name: skills.standing(home, _skill(agent, name), name).name.lower() for name in skills.SKILLS
            }
        except SotError as error:
            missing, shown["fault"] = list(hook_entries.ENTRIES[agent]), error.sentence
        found.append(shown)
        code = Exit.FAILED if missing else code
    say_json({"agents": found})
    return code


def _diff(home: Home, agent: str, notify: bool) -> Exit:
    from difflib import unified_diff  # noqa: PLC0415  (only what shows a difference needs it)

    path = _place(agent)
    was = hook_settings.read(home, path)
    after = hook_entries.installed(was.settings, agent, own_command(os.environ), notify=notify)
    if after == was.settings:
        return Exit.OK
    old = (was.data or b"").decode("utf-8", "replace").splitlines(keepends=True)
    new = hook_settings.text_of(after, was.data).decode().splitlines(keepends=True)
    lines = unified_diff(old, new, path, f"{path} (after an install)")
    say("".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines))
    return Exit.FAILED


_DO: dict[str, Callable[[Home, str, bool], Exit]] = {
    "install": _install,
    "uninstall": _uninstall,
    "status": _status,
    "diff": _diff,
}


def _place(agent: str) -> str:
    return hook_settings.place(os.environ, agent)


def _skill(agent: str, name: str) -> str:
    return skills.place(os.environ, agent, name)


def _folder(agent: str) -> str:
    return os.path.dirname(_place(agent))


def _said(entry: Entry) -> str:
    return entry.words if entry.verb == hook_entries.HOOK else f"{entry.verb} {entry.words}"


def _kept(done: Changed) -> str:
    return f"; as it was: {done.backup}" if done.backup else ""
