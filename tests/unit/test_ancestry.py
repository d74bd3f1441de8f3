"""The walk up the process tree: what is judged is in the golden table; here is what is read, and what cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from sot_tui.comm import ancestry
from sot_tui.comm.ancestry import Process, Verdict, Walk
from sot_tui.comm.disk import Disk
from sot_tui.comm.home import Home


class Entry(NamedTuple):
    """One process of a made-up /proc."""

    parent: int
    args: bytes = b"sh\0"
    started: int = 1
    state: bytes = b"S"


class Proc(Disk):
    """A disk on which nothing lies but /proc."""

    def __init__(self, table: dict[int, Entry]) -> None:
        self.table = table

    def read(self, path: str) -> bytes:
        _, _, number, name = path.split("/")
        if int(number) not in self.table:
            raise FileNotFoundError(2, "No such file or directory", path)
        entry = self.table[int(number)]
        if name == "cmdline":
            return entry.args
        zeros = b" ".join([b"0"] * 17)
        return b"%s (a) b) %s %d %s %d 0 0\n" % (number.encode(), entry.state, entry.parent, zeros, entry.started)


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def walked(table: dict[int, Entry], pid: int = 9) -> Walk:
    return ancestry.walk_from(Home("/none", disk=Proc(table)), pid)


@linux_only
def test_walk_when_every_ancestor_can_be_read_then_it_is_complete_to_the_top() -> None:
    table = {9: Entry(5, started=30), 5: Entry(1, b"bash\0-c\0a b\0", 20), 1: Entry(0, b"/sbin/init\0", 10)}
    assert walked(table) == Walk((Process(("bash", "-c", "a b")), Process(("/sbin/init",))), complete=True)


@linux_only
def test_walk_when_this_very_process_then_its_parent_comes_first() -> None:
    walk = ancestry.walk_from(Home("/none"), os.getpid())
    with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
        assert "\0".join(walk.chain[0].args).encode() == file.read().removesuffix(b"\0")


@linux_only
@pytest.mark.parametrize("deep", [64, 65])
def test_walk_when_longer_than_64_ancestors_then_it_is_refused(deep: int) -> None:
    """Contract: "a walk past 64 processes ... is refused, not trusted"."""
    table = {number: Entry(number + 1 if number < deep else 0) for number in range(deep + 1)}
    walk = walked(table, 0)
    assert walk.complete is (deep == 64)
    assert (ancestry.judge(walk, "").verdict is Verdict.OK) is (deep == 64)


@linux_only
@pytest.mark.parametrize(
    ("what", "table"),
    [
        ("a parent that is hidden", {9: Entry(5)}),
        ("an ancestor that is hidden", {9: Entry(5), 5: Entry(3)}),
        ("a parent that has ended", {9: Entry(5), 5: Entry(1, state=b"Z"), 1: Entry(0)}),
        ("a later process under the parent's id", {9: Entry(5, started=7), 5: Entry(1, started=8), 1: Entry(0)}),
        ("nothing at all", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_walk_when_an_ancestor_cannot_be_read_then_it_is_refused(what: str, table: dict[int, Entry]) -> None:
    walk = walked(table)
    assert not walk.complete, what
    refusal = ancestry.judge(walk, "").refusal("")
    assert refusal is not None
    assert "cannot be read in full" in refusal


@linux_only
def test_walk_when_the_parent_has_just_ended_then_it_goes_on_at_the_new_one() -> None:
    class Reparented(Proc):
        def read(self, path: str) -> bytes:
            if path == "/proc/5/stat":
                self.table[9] = Entry(1, started=30)
            return super().read(path)

    disk = Reparented({9: Entry(5, started=30), 1: Entry(0, b"init\0", 1)})
    assert ancestry.walk_from(Home("/none", disk=disk), 9) == Walk((Process(("init",)),), complete=True)


@linux_only
def test_walk_when_arguments_are_no_utf8_or_none_then_they_are_kept_as_they_are() -> None:
    table = {9: Entry(5), 5: Entry(4, b"a\xff\0\0b\0"), 4: Entry(0, b"")}
    assert walked(table).chain == (Process(("a\udcff", "", "b")), Process(()))


@linux_only
def test_parent_when_asked_for_then_its_program_is_named() -> None:
    code = (
        "import os; from sot_tui.comm import ancestry; from sot_tui.comm.home import Home; "
        "print(ancestry.parent_name(Home('/none'), os.getpid()))"
    )
    outer = ["bash", "-c", 'exec -a /x/sotd bash -c \'"$0" -c "$1"; exit\' "$0" "$1"', sys.executable, code]
    ran = subprocess.run(outer, capture_output=True, text=True, check=True)
    assert ran.stdout == "sotd\n"


def judged(*chain: tuple[str, ...], row: str = "") -> ancestry.Judgement:
    return ancestry.judge(Walk(tuple(Process(args) for args in chain), complete=True), row)


@pytest.mark.parametrize(
    ("script", "agents"),
    [
        ("/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", ("claude",)),
        ("node_modules/@openai/codex/bin/run.js", ("codex",)),
        ("C:\\npm\\node_modules\\@openai\\codex\\bin\\x.js", ("codex",)),
        ("/usr/lib/node_modules/@openai/codex-other/x.js", ()),
        ("/srv/codex/server.js", ()),
    ],
)
def test_node_when_an_argument_lies_in_an_agents_package_then_it_is_that_agent(
    script: str, agents: tuple[str, ...]
) -> None:
    """Contract: "a node process is an agent when any of its arguments names one or lies in its npm package"."""
    assert judged(("bash", "x"), ("node", "--inspect", script, "a")).agents == agents


def test_node_when_it_is_the_child_of_another_node_host_then_both_count() -> None:
    """Contract: a host counts once "with its native child only"."""
    assert judged(("node", "codex.js", "a"), ("node", "codex.js", "a")).agents == ("codex", "codex")


def test_capsule_when_its_folder_stands_after_the_dashes_then_it_is_another() -> None:
    chain = ("sot-capsule", "--", "/s/workspaces/ws-1")
    assert judged(chain, row="ws-1").verdict is Verdict.OTHER_CAPSULE
    assert judged(chain).verdict is Verdict.OK


def test_arguments_when_unknown_then_they_equal_nothing() -> None:
    """Contract: recorded "with arguments unknown, which equals nothing": an agent is one layer, a node is refused."""
    native, host = Process(("codex",), whole=False), Process(("node", "codex"))
    assert ancestry.judge(Walk((native, host), complete=True), "").agents == ("codex", "codex")
    assert ancestry.judge(Walk((native,), complete=True), "").verdict is Verdict.OK
    assert ancestry.judge(Walk((Process(("node",), whole=False),), complete=True), "").verdict is Verdict.UNREAD
    capsule = Walk((Process(("sot-capsule",), whole=False),), complete=True)
    assert ancestry.judge(capsule, "ws-1").verdict is Verdict.OTHER_CAPSULE


@linux_only
def test_walk_when_a_whole_command_line_is_the_end_mark_then_it_ends_as_at_the_top() -> None:
    """Contract: "On Linux a process whose whole command line is exactly !end ends the walk as if it were the top."."""
    above = {5: Entry(3, b"claude\0"), 3: Entry(2, b"!end\0"), 2: Entry(1, b"codex\0")}
    walk = walked({9: Entry(5), **above})
    assert walk == Walk((Process(("claude",)),), complete=True)
    assert ancestry.judge(walk, "ws-1").verdict is Verdict.TOP
    more = walked({9: Entry(5), **above, 3: Entry(2, b"!end\0x\0"), 1: Entry(0)})
    assert ancestry.judge(more, "").agents == ("claude", "codex")


@pytest.mark.parametrize("mark", ["\x1f", "\x1e", "\x1c", "\x1b", "\n", "\r"])
@linux_only
def test_walk_when_an_argument_holds_a_records_mark_then_it_is_one_argument_all_the_same(mark: str) -> None:
    """Contract: such an argument "reads as a separator" in a record; there is no record here (docs/decisions/0016)."""
    hidden = f"x{mark}codex{mark}!end".encode()
    table = {9: Entry(5), 5: Entry(4, b"node\0" + hidden + b"\0"), 4: Entry(0, b"init\0")}
    walk = walked(table)
    assert walk.chain[0].args == ("node", hidden.decode())
    assert ancestry.judge(walk, "").agents == ()
