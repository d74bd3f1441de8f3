"""The scripts as sessions run them: by their name, from the comm home's `bin/`, with this client on the box or not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sot_tui.comm.scripts import SCRIPTS
from tests.e2e.box import COMMAND, Box

pytestmark = pytest.mark.e2e


def run(box: Box, name: str, *words: str, **environ: str) -> tuple[int, str, str]:
    ran = subprocess.run(
        [str(box.comm / "bin" / name), *words],
        cwd=box.work,
        env={**box.env, "PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_install_when_run_then_a_session_joins_sends_and_polls_by_the_scripts(joined: Box) -> None:
    code, out, err = joined.run("install")
    assert (code, out) == (
        0,
        f"{len(SCRIPTS)} of {len(SCRIPTS)} scripts were written into {joined.comm}/bin\n".encode(),
    )
    assert b"export PATH=" in err
    assert b"they run sot-tui" not in err  # it is found here, and more need not be said
    assert joined.run("install")[1] == f"all {len(SCRIPTS)} scripts stand in {joined.comm}/bin already\n".encode()
    assert run(joined, "comm-send.sh", "@beta-box", "two  words 'q'", SOT_TUI_BIN=COMMAND)[:2] == (
        0,
        "  filed -> @beta-box\n",
    )
    assert b"two  words 'q'" in joined.sent
    assert run(joined, "comm-poll.sh", SOT_TUI_BIN=COMMAND) == (0, "No new messages.\n", "")
    assert run(joined, "comm-status.sh", "nonsense", SOT_TUI_BIN=COMMAND)[0] == 2
    beside = {"PATH": f"{Path(COMMAND).parent}:/usr/bin:/bin"}
    assert run(joined, "comm-list.sh", **beside)[:1] == (0,)


def test_script_when_the_box_has_no_sot_tui_then_one_sentence_and_exit_1(box: Box) -> None:
    code, _, err = box.run("install", env={**box.env, "PATH": "/usr/bin:/bin"})
    assert code == 0
    told = err.decode().splitlines()[-1]
    assert told.startswith("  they run sot-tui, which this search path does not have: ")
    assert f"ln -s {COMMAND} ~/.local/bin/" in told
    said = "comm-poll.sh: sot-tui was not found on this box; install sot-tui here, or let SOT_TUI_BIN name it\n"
    assert run(box, "comm-poll.sh") == (1, "", said)
    named = "comm-poll.sh: /no/such was not found on this box; install sot-tui here, or let SOT_TUI_BIN name it\n"
    assert run(box, "comm-poll.sh", SOT_TUI_BIN="/no/such") == (1, "", named)


def test_command_when_called_by_a_scripts_name_then_it_is_that_verb(joined: Box, tmp_path: Path) -> None:
    for name in ("comm-poll.sh", "comm-other.sh"):
        os.symlink(COMMAND, tmp_path / name)
    polled = subprocess.run(
        [tmp_path / "comm-poll.sh"], cwd=joined.work, env=joined.env, capture_output=True, check=False
    )
    assert (polled.returncode, polled.stdout) == (0, b"No new messages.\n")
    other = [str(tmp_path / "comm-other.sh"), "poll"]
    plain = subprocess.run(other, cwd=joined.work, env=joined.env, capture_output=True, check=False)
    assert plain.stdout == b"No new messages.\n"


def test_install_when_another_client_stands_there_then_one_sentence_and_exit_1(box: Box) -> None:
    (box.comm / "bin").mkdir(parents=True)
    (box.comm / "bin" / "comm-join.sh").write_text("#!/bin/sh\n")
    code, out, err = box.run("install")
    assert (code, out) == (1, b"")
    assert err.startswith(b"sot-tui install: another install stands in ")
    assert err.count(b"\n") == 1
    assert box.run("install", "--force")[0] == 0
    assert box.run("install", "--what")[0] == 2


def test_steward_when_asked_for_then_it_runs_the_notifier_and_nothing_else(box: Box) -> None:
    code, out, _ = box.run("install", "--steward")
    assert (code, out) == (
        0,
        f"{len(SCRIPTS) + 1} of {len(SCRIPTS) + 1} scripts were written into {box.comm}/bin\n".encode(),
    )
    assert run(box, "steward", "notify", "--dry-run", "x", SOT_TUI_BIN=COMMAND) == (
        0,
        "",
        "steward notify: does not accept positional arguments\n",
    )
    code, told, _ = run(box, "steward", "session-metadata", "--harness=pi", "--session-id=s", SOT_TUI_BIN=COMMAND)
    assert (code, '"status":"missing"' in told) == (0, True)
    assert run(box, "steward", "notifyd", SOT_TUI_BIN=COMMAND)[0] == 1
    for words in ([], ["send"], ["install"]):
        said = "steward: this one knows notify, notifyd and session-metadata, and nothing else\n"
        assert run(box, "steward", *words, SOT_TUI_BIN=COMMAND) == (2, "", said)
    assert run(box, "steward", "notify")[:2] == (1, "")
    assert box.run("install")[1].startswith(b"all ")
    assert b"removed, as they are no longer of this install: steward\n" in box.run("install", "--no-steward")[1]
    assert not (box.comm / "bin" / "steward").exists()
    assert box.run("install", "--steward", "--no-steward")[0] == 2


def test_steward_when_the_search_path_has_another_then_it_is_not_put_before_that(box: Box, tmp_path: Path) -> None:
    other = tmp_path / "steward"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    path = {**box.env, "PATH": f"{box.comm}/bin:{tmp_path}:{box.env['PATH']}"}
    code, out, err = box.run("install", "--steward", "--force", env=path)
    assert (code, out) == (1, b"")
    said = f"sot-tui install: {other} is another program of that name, and nothing was written; it stays the one\n"
    assert err == said.encode()
    assert not box.comm.exists()
    other.unlink()
    assert box.run("install", "--steward", env=path)[0] == 0
    assert box.run("install", "--steward", env=path)[0] == 0  # its own is no other
