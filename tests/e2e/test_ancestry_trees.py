"""Who acts as whom, asked by the installed command at the foot of real process trees.

Each tree is bash under other names: `node cli.js --x` is bash as `node`, which runs a script called `cli.js`. A tree
lives in a pid namespace of its own, so that its top is the top and nothing above the tests counts.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.e2e.box import COMMAND

if TYPE_CHECKING:
    from tests.e2e.box import Box

ROW = "ws-1"
OTHER_UID = 65534

HOOKS = ("session-start", "prompt", "blocked", "permission", "heartbeat", "stop")
INPUT = '{"session_id": "s1", "prompt": "go", "tool_name": "Bash", "source": "startup"}'
"""What a hook is given, each of them alike."""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc and pid namespaces are Linux's"),
]

SCRIPT = """\
export LEVEL=$((LEVEL + 1))
. "$TREE/$LEVEL"
exit $?
"""
"""What every process of a tree runs: the next level, which stands in a file by its number."""

ORPHAN = """\
parent=$$
(
  while read -r _ _ _ above _ </proc/$BASHPID/stat && [ "$above" = "$parent" ]; do :; done
  export LEVEL=$((LEVEL + 1))
  . "$TREE/$LEVEL" >"$TREE/out" 2>"$TREE/err"
  echo $? >"$TREE/code.new"
  mv "$TREE/code.new" "$TREE/code"
) &
exit 0
"""
"""A level that starts the next one and ends, so that this one is another's child before it goes on."""


class Trees:
    """Process trees over the box of alpha, who is joined."""

    def __init__(self, box: Box, *before: str) -> None:
        self.box = box
        self.folder = box.comm.parent / "tree"
        self.folder.mkdir()
        self.before = before or ("unshare", "-Urpf", "--mount-proc")
        self.run_path = self.script("run")

    def script(self, path: str) -> str:
        """Make a file that any process of a tree can run as its script."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SCRIPT)
        return str(file)

    def plain(self, name: str, *more: str) -> list[str]:
        return [name, self.run_path, *more]

    def capsule(self, row: str = ROW, path: str = "/opt/sot/sot-capsule") -> list[str]:
        return self.plain(path, f"/state/sot/workspaces/{row}")

    def claim(self, row: str) -> None:
        """Bind alpha to a row, with that row's own self file."""
        book = self.box.book()
        book["agents"]["alpha-box"]["workspace_id"] = row
        self.box.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")
        selves = self.box.comm / "self"
        shutil.copy(selves / "box__nopane.txt", selves / f"box__{row}.txt")

    def lay(self, levels: tuple[list[str], ...], command: tuple[str, ...]) -> None:
        for number, argv in enumerate(levels[1:], 2):
            text = f"(exec -a {shlex.quote(argv[0])} bash {shlex.join(argv[1:])})\n"
            (self.folder / str(number)).write_text(ORPHAN if argv == ["orphan"] else text)
        (self.folder / str(len(levels) + 1)).write_text(f"{shlex.join(command)}\n")

    def run(
        self, levels: tuple[list[str], ...], environ: dict[str, str], command: tuple[str, ...] = (COMMAND, "context")
    ) -> tuple[int, str, str]:
        """Run a command below these processes, the top one first."""
        self.lay(levels, command)
        top = levels[0]
        start = ["bash", "-c", f"exec -a {shlex.quote(top[0])} bash {shlex.join(top[1:])}"]
        ran = subprocess.run(
            [*self.before, *start],
            cwd=self.box.work,
            env={**self.box.env, "TREE": str(self.folder), "LEVEL": "1", **environ},
            capture_output=True,
            text=True,
            check=False,
            input=INPUT,
            timeout=50,
        )
        return ran.returncode, ran.stdout, ran.stderr

    def acts(self, *levels: list[str], **environ: str) -> str:
        """Return the handle that the command may act as, which must not be refused."""
        code, out, err = self.run(levels, environ)
        assert code == 0, (out, err)
        facts = dict(line.partition("=")[::2] for line in out.splitlines())
        return facts.get("NAME", "")

    def refused(self, *levels: list[str], **environ: str) -> str:
        """Return why the command has no identity; no verb and no hook of it may change anything."""
        before = self.snapshot()
        code, out, err = self.run(levels, environ)
        assert (code, out) == (1, "")
        for words in (
            ("send", "@beta-box", "x"), ("poll",), ("status", "working", "x"), ("join",), ("leave",),
            *(("hook", event) for event in HOOKS),
        ):  # fmt: skip
            self.run(levels, environ, (COMMAND, *words))
            assert self.snapshot() == before, words
        return err.removeprefix("comm-context: ").rstrip("\n")

    def snapshot(self) -> dict[str, tuple[int, bytes]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
            for path in self.box.comm.rglob("*")
        }


@pytest.fixture
def trees(joined: Box) -> Trees:
    made = Trees(joined)
    probe = subprocess.run([*made.before, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"no pid namespace can be made here: {probe.stderr.decode()}")
    return made


UNREAD = (
    "this process's ancestors cannot be read in full, so it has no comm identity; nothing was read, sent or stamped"
)


def outside(row: str = ROW) -> str:
    return (
        f"this process names row {row} but is not shown to run inside that row's capsule, so it has no comm identity; "
        "nothing was read, sent or stamped; start it inside the row, or as its own row"
    )


def inside(one: str, other: str) -> str:
    return (
        f"this process runs under {one}, started inside {other}'s session, so it has no comm identity — nothing was "
        "read, sent or stamped; do not retry or join: an agent that needs its own handle is started as its own row"
    )


# -- agents -----------------------------------------------------------------------------------------------------------


def test_tree_when_at_most_one_agent_is_above_then_it_acts_as_its_handle(trees: Trees) -> None:
    """ "a process acts as a handle only if at most one agent (claude or codex) lies between it and its row's capsule,
    or the top of its process tree outside a row"."""
    top = trees.plain("init")
    cli = trees.script("node_modules/@anthropic-ai/claude-code/cli.js")
    for levels in (
        [],
        [trees.plain("claude")],
        [trees.plain("bash"), trees.plain("/usr/local/bin/claude", "--resume"), trees.plain("sh")],
        [trees.plain("-codex")],
        [["node", cli, "--x"]],
        [["node", trees.script("mcp/server.js")], trees.plain("claude")],
        [trees.plain("claude-monitor"), trees.plain("claude"), trees.plain("vim", "claude.md")],
    ):
        assert trees.acts(top, *levels) == "alpha-box", levels


def test_tree_when_an_agent_runs_inside_another_then_it_is_refused_and_writes_nothing(trees: Trees) -> None:
    """ "Another agent started inside a session (codex exec, claude -p), and anything it starts, has no comm identity"
    and "no hook of it writes anything under the comm home"."""
    trees.box.mail(b'{"from":"b","to":"alpha-box","msg":"x"}\n')
    top = trees.plain("init")
    codex, claude = trees.plain("codex", "exec"), trees.plain("claude", "-p")
    assert trees.refused(top, trees.plain("claude"), trees.plain("bash"), codex) == inside("codex", "claude")
    assert trees.refused(top, codex, claude, trees.plain("bash"), trees.plain("make")) == inside("claude", "codex")
    # And what it was held to is no empty word: the session's own hook writes.
    assert trees.run((top, trees.plain("claude")), {}, (COMMAND, "hook", "prompt"))[0] == 0
    assert trees.box.book()["agents"]["alpha-box"]["floor"] == "user"


def test_tree_when_a_node_host_has_its_own_native_child_then_both_are_one_agent(trees: Trees) -> None:
    """ "it counts once with its native child only when that child is its direct child and its arguments after the
    binary equal the host's after its script"."""
    top = trees.plain("init")
    host = ["node", trees.script("lib/node_modules/@openai/codex/bin/codex.js"), trees.run_path, "--model", "a b"]
    native = ["/opt/codex/vendor/codex", trees.run_path, "--model", "a b"]
    assert trees.acts(top, host, native, trees.plain("bash")) == "alpha-box"
    other = ["/opt/codex/vendor/codex", trees.run_path, "--model", "a", "b"]
    assert trees.refused(top, host, other) == inside("codex", "codex")
    assert trees.refused(top, host, trees.plain("sh"), native) == inside("codex", "codex")
    assert trees.refused(top, host, ["claude", *native[1:]]) == inside("claude", "codex")


VERBS = (
    ("send", "--broadcast", "x"), ("relay", "send", "@beta-box", "x"), ("poll",), ("join", "--name", "other"),
    ("join", "--repin"), ("leave", "--name", "beta-box"), ("session-start",), ("status", "prompt"), ("status", "done"),
    ("spawn", "."), ("despawn", "beta"), ("probe", "x"), ("worktree-new", "x"), ("worktree-sync",), ("worktree-clean",),
)  # fmt: skip
"""Everything that a process without an identity may not do."""


@pytest.mark.parametrize("row", ["", ROW], ids=["an agent inside an agent", "a row it is not shown to run in"])
def test_tree_when_refused_then_no_verb_of_it_changes_anything(trees: Trees, row: str) -> None:
    """ "A refused process may neither spawn nor despawn rows (comm-probe.sh's included) nor run comm-worktree-new.sh,
    which refuses it before any git write"; "The process is refused, and nothing is read, sent or stamped"."""
    trees.box.mail(b'{"from":"b","to":"alpha-box","msg":"secret"}\n')
    subprocess.run(["git", "init", "-q", str(trees.box.work)], check=True)
    before, work = trees.snapshot(), sorted(trees.box.work.rglob("*"))
    levels = (trees.plain("init"), trees.plain("claude"), *([] if row else [trees.plain("codex", "exec")]))
    for words in VERBS:
        code, out, err = trees.run(levels, {"SOT_WORKSPACE_ID": row}, (COMMAND, *words))
        event = words == ("status", "prompt")  # "an event is a silent no-op"
        assert code == (0 if event or words == ("session-start",) else 1), (words, err)
        assert ((outside() if row else inside("codex", "claude")) in err) is not event, words
        assert "secret" not in out, words
        assert trees.snapshot() == before, words
        assert sorted(trees.box.work.rglob("*")) == work, words


# -- rows -------------------------------------------------------------------------------------------------------------


def test_tree_when_its_row_is_proved_by_the_capsule_above_then_it_acts_as_the_rows_handle(trees: Trees) -> None:
    """ "A capsule is that row's when one of its arguments before -- ... ends in /workspaces/<id> or contains
    /workspaces/<id>/voyages/"."""
    trees.claim(ROW)
    top, claude = trees.plain("init"), trees.plain("claude")
    said = {"SOT_WORKSPACE_ID": ROW}
    assert trees.acts(top, trees.capsule(), claude, **said) == "alpha-box"
    voyage = trees.plain("sot-capsule", f"--state=/s/workspaces/{ROW}/voyages/3", "--", "claude")
    assert trees.acts(top, voyage, claude, **said) == "alpha-box"
    # What is above the capsule is no part of the row: the daemon may have been started from a session.
    assert trees.acts(top, trees.plain("codex"), claude, trees.plain("sotd"), trees.capsule(), claude, **said)
    assert trees.refused(top, trees.capsule(), claude, trees.plain("codex"), **said) == inside("codex", "claude")


def test_tree_when_the_row_it_names_is_not_proved_then_refused(trees: Trees) -> None:
    """ "refused ... when its walk ends in any of three ways: at the top, at another row's capsule, or at a capsule
    whose command line cannot be read"."""
    trees.claim(ROW)
    top, claude = trees.plain("init"), trees.plain("claude")
    said = {"SOT_WORKSPACE_ID": ROW}
    assert trees.refused(top, claude, **said) == outside()  # a stray that exports a row's id
    assert trees.refused(top, trees.capsule("ws-2"), claude, **said) == outside()
    assert trees.refused(top, trees.capsule(), trees.capsule("ws-2"), claude, **said) == outside()
    assert trees.refused(top, trees.capsule("ws-12"), claude, **said) == outside()
    behind = trees.plain("sot-capsule", "--", f"/s/workspaces/{ROW}")
    assert trees.refused(top, behind, claude, **said) == outside()
    assert trees.refused(top, trees.capsule(path="sot-capsule-helper"), claude, **said) == outside()
    pinned = {"SOT_COMM_SELF_FILE": str(trees.box.comm / "self" / f"box__{ROW}.txt")}
    assert trees.refused(top, claude, **pinned) == outside()
    assert trees.refused(top, trees.capsule("ws-2"), claude, **pinned, SOT_WORKSPACE_ID="ws-2") == outside()


def test_tree_when_an_id_is_exported_over_a_private_self_file_then_it_is_no_row_id(trees: Trees) -> None:
    """ "with a private self file that names no row, the exported id is no row id"."""
    private = trees.box.comm / "self" / "private.txt"
    shutil.copy(trees.box.comm / "self" / "box__nopane.txt", private)
    said = {"SOT_COMM_SELF_FILE": str(private), "SOT_WORKSPACE_ID": ROW}
    top = trees.plain("init")
    assert trees.acts(top, trees.plain("claude"), **said) == "alpha-box"
    trees.claim(ROW)
    code, out, err = trees.run((top, trees.plain("claude")), said)
    assert code == 0
    assert "NAME=\n" in out
    assert f"@alpha-box belongs to row {ROW}; this process carries no row id, so it is not this row's inbox" in err


def test_tree_when_a_process_was_reparented_away_from_its_row_then_refused_and_outside_rows_it_passes(
    trees: Trees,
) -> None:
    """ "two kinds of early stop no longer pass: being reparented away from the row"; for a process that names no row
    the check does not see "an agent above a reparenting"."""
    trees.claim(ROW)
    levels = (trees.capsule(), trees.plain("bash"), ["orphan"])
    assert orphaned(trees, levels, {"SOT_WORKSPACE_ID": ROW}) == (1, "", f"comm-context: {outside()}\n")
    trees.claim("")
    code, out, _ = orphaned(trees, (trees.plain("claude"), trees.plain("codex"), ["orphan"]), {})
    assert code == 0
    assert "NAME=alpha-box\n" in out


def orphaned(trees: Trees, levels: tuple[list[str], ...], environ: dict[str, str]) -> tuple[int, str, str]:
    """Run a tree whose last process ends before the command starts; the top waits until that has answered."""
    for name in ("out", "err", "code"):
        (trees.folder / name).unlink(missing_ok=True)
    waits = trees.folder / "waits"
    waits.write_text(SCRIPT.replace("exit $?", 'until [ -e "$TREE/code" ]; do sleep 0.01; done\nexit 0'))
    code, _, err = trees.run((["init", str(waits)], *levels), environ)
    assert code == 0, err
    answered = [(trees.folder / name).read_text() for name in ("code", "out", "err")]
    return int(answered[0]), answered[1], answered[2]


# -- what cannot be read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [64, 65])
def test_tree_when_deeper_than_64_processes_then_refused(trees: Trees, deep: int) -> None:
    """ "an ancestry it cannot read in full (a walk past 64 processes, ...) is refused, not trusted"."""
    code, out, err = trees.run((trees.plain("sh"),) * deep, {})
    if deep == 64:
        assert (code, "NAME=alpha-box\n" in out) == (0, True), err
    else:
        assert (code, out, err) == (1, "", f"comm-context: {UNREAD}\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hides the processes of one account from another")
@pytest.mark.parametrize("hidden", [False, True])
def test_tree_when_an_ancestor_of_another_account_is_hidden_then_refused(joined: Box, hidden: bool) -> None:
    """ "an unreadable /proc record ... is refused, not trusted"."""
    option = "hidepid=invisible" if hidden else "hidepid=off"
    mount = f'mount -t proc -o {option} proc /proc && exec "$@"'
    trees = Trees(joined, "unshare", "-pfm", "--propagation", "private", "sh", "-c", mount, "sh")
    drop = ("setpriv", f"--reuid={OTHER_UID}", f"--regid={OTHER_UID}", "--clear-groups", COMMAND, "context")
    for path in (joined.comm.parent, *joined.comm.parent.rglob("*")):
        os.chown(path, OTHER_UID, OTHER_UID)
    code, out, err = trees.run((trees.plain("init"), trees.plain("claude")), {}, drop)
    if hidden:
        assert (code, out, err) == (1, "", f"comm-context: {UNREAD}\n")
    else:
        assert (code, "NAME=alpha-box\n" in out) == (0, True), err
