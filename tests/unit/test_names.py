"""Names: what a handle is, what a machine is called, what a project derives."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sot_tui.comm import names
from sot_tui.comm.errors import Misuse, Refused
from sot_tui.comm.proof import SystemProcs


class Machine(SystemProcs):
    """A machine of a given host name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def host_name(self) -> str:
        return self.name


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 64, ".", "..", "-"])
def test_handle_when_of_its_letters_and_length_then_it_is_valid(name: str) -> None:
    assert names.is_handle(name)


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "a/b", "é", "a\n", "a\0", "fe@laptop", None, 7])
def test_handle_when_of_anything_else_then_it_is_not(name: object) -> None:
    assert not names.is_handle(name)


@pytest.mark.parametrize(("name", "safe"), [("a", True), (".", False), ("..", False), ("...", True), ("a/b", False)])
def test_handle_when_it_names_a_folder_everywhere_then_it_cannot_name_files(name: str, safe: bool) -> None:
    assert names.is_file_safe(name) is safe


@pytest.mark.parametrize(
    ("machine", "declared", "raw"),
    [("vm", "vm", "vm"), ("BigBox", "bigbox", "BigBox"), ("Node7.example.org", "node7", "Node7")],
)
def test_host_when_nothing_is_said_then_it_is_the_machines_first_label(machine: str, declared: str, raw: str) -> None:
    assert names.declared_host({}, Machine(machine)) == declared
    assert names.raw_host({}, Machine(machine)) == raw


def test_host_when_said_by_variable_then_it_is_taken_as_written() -> None:
    environ = {"SOT_SELF_HOST": "Declared-Box", "SOT_COMM_TEST_HOST": "Test-Box"}
    assert names.declared_host(environ, Machine("vm")) == "Declared-Box"
    assert names.raw_host(environ, Machine("vm")) == "Test-Box"


@pytest.mark.parametrize("said", ["a/b", "../x", "..", "a\nroot=/x", "a\0", "a\x1b[2J"])
def test_host_when_said_as_no_part_of_a_files_name_then_it_is_misuse(said: str) -> None:
    with pytest.raises(Misuse, match="SOT_SELF_HOST"):
        names.declared_host({"SOT_SELF_HOST": said}, Machine("vm"))


@pytest.mark.parametrize("machine", ["", " ", ".example.org"])
def test_host_when_the_machine_has_no_name_then_it_is_refused(machine: str) -> None:
    with pytest.raises(Refused, match="set SOT_SELF_HOST"):
        names.declared_host({}, Machine(machine))


def test_derived_handle_when_tier_by_tier_then_base_parent_hash() -> None:
    root = "/home/me/a parent/My Repo"
    assert names.derived(root, "BigBox", 1) == "My-Repo-BigBox"
    assert names.derived(root, "BigBox", 2) == "My-Repo-a-parent-BigBox"
    assert names.derived(root, "BigBox", 3) == f"My-Repo-{names.hash6(root)}-BigBox"


def test_derived_handle_when_the_root_is_the_top_folder_then_it_still_has_a_base() -> None:
    assert names.derived("/", "vm", 1) == "x-vm"
    assert names.derived("/a", "vm", 2) == "a-x-vm"


def test_derived_handle_when_the_folder_is_an_added_work_tree_then_it_is_that_name_and_the_host() -> None:
    """Contract: "A worktree is a folder named <repo>-wt-<shortname> (...), so its handle is
    <repo>-wt-<shortname>-<host>".
    """
    assert names.derived("/home/me/worktrees/MyRepo-wt-rotation", "myhost", 1) == "MyRepo-wt-rotation-myhost"


def test_hash_when_a_name_is_no_utf8_then_it_is_taken_of_the_bytes() -> None:
    assert names.hash6("\udcff") != names.hash6("\ufffd")


@given(st.text(), st.text(min_size=1), st.sampled_from(names.TIERS))
def test_derived_handle_when_made_of_any_names_then_it_is_valid_and_names_files(base: str, raw: str, tier: int) -> None:
    handle = names.derived(f"/p/{base}", raw, tier)
    assert names.is_handle(handle)
    assert names.is_file_safe(handle)


@given(st.text(), st.integers(1, 30))
def test_reduced_name_when_reduced_again_then_it_stays(name: str, limit: int) -> None:
    once = names.reduced(name, limit)
    assert names.reduced(once, limit) == once
    assert 0 < len(once) <= limit
    assert "--" not in once


@given(st.text())
def test_slug_when_made_of_any_label_then_it_has_only_its_letters(label: str) -> None:
    slug = names.slug(label)
    assert slug
    assert not slug.endswith("-")
    assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
