"""The rows' files: written whole, read once, and never written over when they are not understood."""

from __future__ import annotations

import errno
import os
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm.home import Home
from sot_tui.engine.rows import store
from sot_tui.engine.rows.row import Phase, Row
from tests.faults.disks import Counting, Crash, Dying, Failing

if TYPE_CHECKING:
    from pathlib import Path

ROW = Row(
    id="ws-api-9f31",
    slug="api",
    label="api",
    root="/home/u/api",
    created=1_780_000_000,
    agent="claude",
    agent_name="api-box",
    task='say "hello"\nand go',
)
TEXT = st.text(max_size=40)


@pytest.fixture
def rows(comm_home: Path) -> store.Store:
    return store.Store(Home(str(comm_home)), os.environ, "box")


def folder_of() -> str:
    return f"{os.environ['XDG_CONFIG_HOME']}/sot/workspaces-box"


def test_file_when_a_row_is_saved_then_has_the_wires_keys_in_their_order(rows: store.Store) -> None:
    """Daemon wire 4.4: the keys of a row's file, in order."""
    rows.save(ROW)
    path = f"{folder_of()}/api.toml"
    with open(path, "rb") as file:
        said = tomllib.load(file)
    assert list(said) == [
        "workspace_id", "slug", "label", "project_root", "session_name", "created", "autostart_claude", "agent",
        "agent_name", "task", "runtime", "agent_handle", "account",
    ]  # fmt: skip
    assert said["session_name"] == "sot-be-api"
    assert said["runtime"] == "capsule"
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(folder_of()).st_mode & 0o777 == 0o700


@given(label=TEXT, task=TEXT, command=st.lists(TEXT, max_size=3), handle=st.sampled_from(["", "api-box", "A.b_c-1"]))
def test_row_when_written_and_read_then_is_the_same(label: str, task: str, command: list[str], handle: str) -> None:
    row = replace(ROW, label=label or "x", task=task, command=tuple(command), agent="none", agent_handle=handle)
    assert store.parse(store.text_of(row), "api") == row


def test_file_when_it_has_tables_of_another_client_then_they_stay_byte_for_byte(rows: store.Store) -> None:
    """Daemon wire 4.4: other sections are preserved."""
    foreign = '[kernel]\n  name = "julia"  # mine\n\n[[hooks.list]]\nat = 1\n'
    os.makedirs(folder_of())
    path = f"{folder_of()}/api.toml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(store.text_of(replace(ROW, command=("x",))) + "\n" + foreign)
    found, faults = rows.load()
    assert (found, faults) == ([replace(ROW, command=("x",))], [])
    rows.save(replace(found[0], command=("y", "z"), phase=Phase.READY))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert text.endswith(foreign)
    assert tomllib.loads(text)["tui"] == {"command": ["y", "z"]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no workspace_id"),
        ("workspace_id = [", "Invalid value"),
        ('workspace_id = "../x"\nslug = "api"', "it has no workspace_id"),
        ('workspace_id = "ws-1"\nslug = "other"', "its slug is not api"),
        ('workspace_id = "ws-1"\nslug = "api"\nproject_root = "x"', "its project_root is no absolute path"),
        ('workspace_id = "ws-1"\nslug = "api"\nproject_root = "/x"\nagent = "emacs"', "its agent is none of claude"),
        ('workspace_id = "ws-1"\nslug = "api"\nproject_root = "/x"\n[tui]\ncommand = "rm"', "no list of words"),
        pytest.param("a = " + "[" * 100_000, "it is nested too deeply", id="nested"),
    ],
)
def test_file_when_it_describes_no_row_then_is_told_and_left(rows: store.Store, text: str, why: str) -> None:
    os.makedirs(folder_of())
    path = f"{folder_of()}/api.toml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    found, faults = rows.load()
    assert found == []
    assert len(faults) == 1
    assert why in faults[0]
    assert path in faults[0]
    assert rows.has_file("api")
    with open(path, encoding="utf-8") as file:
        assert file.read() == text


def test_file_when_it_cannot_be_read_then_is_told_and_the_others_are_rows(rows: store.Store) -> None:
    rows.save(ROW)
    os.mkfifo(f"{folder_of()}/pipe.toml")
    with open(f"{folder_of()}/twin.toml", "w", encoding="utf-8") as file:
        file.write(store.text_of(replace(ROW, slug="twin")))
    found, faults = rows.load()
    assert [row.slug for row in found] == ["api"]
    assert len(faults) == 2


def test_row_when_removed_twice_then_its_file_is_gone(rows: store.Store) -> None:
    rows.save(ROW)
    rows.remove(ROW)
    rows.remove(ROW)
    assert rows.load() == ([], [])


def test_handle_when_two_files_declare_it_then_stays_where_the_registry_binds_it() -> None:
    """Daemon wire 4.4, Boot: it stays only on the row that the registry's entry (this host) names."""
    one, two = replace(ROW, agent_handle="h"), replace(ROW, id="ws-b", slug="b", agent_handle="h")
    assert [row.agent_handle for row in store.one_holder([one, two], {"h": "ws-b"})] == ["", "h"]
    assert [row.agent_handle for row in store.one_holder([one, two], {})] == ["", ""]
    assert [row.agent_handle for row in store.one_holder([one], {})] == ["h"]


def test_save_when_any_step_fails_or_is_the_last_then_the_old_row_or_the_new_stands_whole(comm_home: Path) -> None:
    """A row's file is never in part, whatever the step that fails or at which the daemon dies."""
    after = replace(ROW, task="another")
    store.Store(Home(str(comm_home)), os.environ, "box").save(ROW)
    disk = Counting()
    store.Store(Home(str(comm_home), disk), os.environ, "box").save(after)
    steps = len(disk.steps)
    assert steps > 5
    for step in range(1, steps + 1):
        for disk in (Failing(step, errno.ENOSPC), Dying(step), Dying(step, after=False)):
            store.Store(Home(str(comm_home)), os.environ, "box").save(ROW)
            failed = False
            try:
                store.Store(Home(str(comm_home), disk), os.environ, "box").save(after)
            except (OSError, Crash):
                failed = True
            found, faults = store.Store(Home(str(comm_home)), os.environ, "box").load()
            assert faults == [], (step, disk)
            assert found in ([ROW], [after]), (step, disk)
            assert failed or found == [after]
