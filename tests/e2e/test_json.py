"""`--json`, and the commands that say what is: strict JSON, every key documented, nothing foreign let through."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from sot_tui.comm.jsonline import decode
from tests.screens.real import hold_lock, kill

if TYPE_CHECKING:
    from tests.e2e.box import Box

pytestmark = pytest.mark.e2e

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
HOSTILE = "[/] \x1b]0;title\x07 \x9b31m \u202edesrever\u202c \ufe0f 项目 \x7f"


def asked(box: Box, *words: str, code: int = 0) -> dict[str, Any]:
    """Return what a command answers as JSON: strict, and alone on stdout."""
    got, out, err = box.run(*words, "--json")
    assert (got, err) == (code, b""), (got, err)
    found = decode(out, unique_keys=True)
    assert isinstance(found, dict)
    assert keys_of(found) <= documented(), keys_of(found) - documented()
    return found


def keys_of(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(keys_of(below) for below in value.values()))
    if isinstance(value, list):
        return set().union(*(keys_of(below) for below in value))
    return set()


def documented() -> set[str]:
    return set(re.findall(r"`([^`]+)`", PAGE.read_text(encoding="utf-8")))


def put(box: Box, **entries: dict[str, object]) -> None:
    """Add entries of this box, live and stamped now unless they say otherwise."""
    book = box.book()
    now = stamp(time.time())
    for name, said in entries.items():
        plain = {"host": "box", "workspace_id": "", "last_seen": now, "status_at": now}
        book["agents"][name.replace("_", "-")] = {**plain, **said}
    box.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")


# -- list -------------------------------------------------------------------------------------------------------------


def test_list_when_asked_for_json_then_needs_first_and_every_handle_in_the_navs_order(joined: Box) -> None:
    put(
        joined,
        red_box={"state": "blocked", "question": "q?", "expertise": ["tests"], "status_at": stamp(time.time() - 90)},
        green_box={"state": "done", "done": True, "status_at": stamp(time.time() - 60)},
        far_box={"state": "done", "done": True, "host": "far"},
        busy_box={"state": "working", "floor": "user", "status_at": stamp(time.time() - 400)},
        gone_box={"state": "idle", "last_seen": stamp(time.time() - 7200)},
        operator_box={},
    )
    assert joined.run("send", "@operator-box", "numbers please")[0] == 0
    assert joined.run("send", "@busy-box", "numbers please")[0] == 0
    found = asked(joined, "list")
    assert [wanted["kind"] for wanted in found["needs_you"]] == ["blocked", "done", "mail"]
    by_handle = {one["handle"]: one for one in found["agents"]}
    assert set(by_handle) == set(joined.book()["agents"])
    assert [one["handle"] for one in found["agents"][:3]] == ["red-box", "green-box", "operator-box"]
    assert (found["me"], found["operator"], found["host"], found["protocol_version"]) == (
        "alpha-box",
        "operator-box",
        "box",
        1,
    )
    counts = found["counts"]
    assert (counts["needs_you"], counts["mail"], counts["blocked"], counts["stale"]) == (3, 1, 1, 1)
    red, busy = by_handle["red-box"], by_handle["busy-box"]
    assert (red["state"], red["needs_you"], red["fact"], red["expertise"]) == (
        "blocked",
        "blocked",
        "question",
        ["tests"],
    )
    assert (busy["word"], busy["doubtful"], busy["turn_by"], busy["mail"]["unread"]) == ("working?", True, "user", 1)
    assert 400 <= busy["age_s"] < 460
    assert (by_handle["far-box"]["here"], by_handle["far-box"]["needs_you"]) == (False, None)
    assert (by_handle["gone-box"]["state"], by_handle["gone-box"]["live"]) == ("stale", False)
    assert by_handle["alpha-box"]["state"] == "no signal"
    assert found["registry_lock"] == {
        "state": "free",
        "record": None,
        "holder": None,
        "age_s": None,
        "dead": False,
        "verdict": None,
        "recovery": None,
    }


def test_list_when_the_settings_change_the_doubt_and_the_operator_then_both_count(joined: Box) -> None:
    put(joined, busy_box={"state": "working", "status_at": stamp(time.time() - 400)}, anna={})
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir()
    folder.joinpath("tui.toml").write_text("operator = 'anna'\ndoubt_secs = 1000\n")
    found = asked(joined, "list")
    by_handle = {one["handle"]: one for one in found["agents"]}
    assert (found["operator"], by_handle["anna"]["state"], by_handle["busy-box"]["word"]) == ("anna", "you", "working")


def test_list_when_a_dead_process_holds_the_lock_then_the_lock_needs_you(joined: Box) -> None:
    home = Home(str(joined.comm))
    holder = hold_lock(home)
    kill(holder)
    file = joined.comm / ".registry.lock"
    os.utime(file, (time.time() - 60, time.time() - 60))
    found = asked(joined, "list")
    lock = found["registry_lock"]
    assert found["needs_you"][0]["kind"] == "wedged"
    assert (lock["state"], lock["dead"], lock["record"]) == ("held", True, file.read_text().strip())
    assert lock["age_s"] >= 60
    assert found["counts"]["needs_you"] == 1


def test_list_when_an_inbox_is_being_written_then_its_number_is_null(joined: Box) -> None:
    import fcntl

    joined.mail(b'{"from":"b","to":"alpha-box","msg":"x"}\n')
    with open(joined.comm / "inbox" / "alpha-box.lock", "w+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = asked(joined, "list")
    alpha = next(one for one in found["agents"] if one["handle"] == "alpha-box")
    assert alpha["mail"] == {
        "counted": False,
        "unread": None,
        "oldest": None,
        "words": "the inbox for @alpha-box is being written; try again",
    }


def test_list_when_the_registry_cannot_be_read_then_the_sentence_and_no_json(joined: Box) -> None:
    joined.comm.joinpath("registry.json").write_text("{")
    assert joined.run("list", "--json") == (
        1,
        b"",
        b"FAILED: the registry could not be read; nothing was listed\n",
    )


def test_list_when_the_settings_are_wrong_then_a_note_on_stderr_and_strict_json_on_stdout(joined: Box) -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir()
    folder.joinpath("tui.toml").write_text("x\x1b = 1")
    code, out, err = joined.run("list", "--json")
    assert code == 0
    assert decode(out)["host"] == "box"
    assert err.startswith(b"note: ")
    assert err.count(b"\n") == 1


# -- explain ----------------------------------------------------------------------------------------------------------


def test_explain_when_asked_then_the_reasons_of_the_navs_detail(joined: Box) -> None:
    put(joined, red_box={"state": "blocked", "dialog": "Allow Bash?", "summary": "Allow Bash?", "root": "/src/red"})
    code, out, err = joined.run("explain", "@red-box")
    lines = out.decode().splitlines()
    assert (code, err) == (0, b"")
    assert lines[0].startswith("@red-box  blocked  Allow Bash?  ")
    assert lines[1].startswith("  why        its agent shows a dialog, ")
    assert "  needs you  it waits on a person" in lines
    assert "  root       /src/red" in lines
    found = asked(joined, "explain", "@red-box")
    assert [reason["label"] for reason in found["reasons"]] == ["why", "needs you", "live", "mail", "row", "root"]
    assert found["needs_you"] == "blocked"


def test_explain_when_the_handle_is_not_listed_then_says_which_one_may_be_meant(joined: Box) -> None:
    assert joined.run("explain", "@beta-bix") == (
        1,
        b"",
        b"FAILED: the registry lists no @beta-bix, perhaps @beta-box is meant; nothing was explained\n",
    )


def test_explain_when_there_is_no_comm_home_then_fails_and_makes_none(box: Box) -> None:
    code, out, err = box.run("explain", "@x")
    assert (code, out) == (1, b"")
    assert err == b"FAILED: the registry could not be read; nothing was listed\n"
    assert not box.comm.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain"], "sot-tui explain: one handle is needed"),
        (["explain", "a", "b"], "sot-tui explain: one handle is needed"),
        (["explain", "--x", "a"], "sot-tui explain: unknown option --x"),
        (["list", "--json", "x"], "comm-list.sh: unknown argument x"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_command_when_its_words_are_wrong_then_one_sentence_and_the_usage(
    joined: Box, words: list[str], said: str
) -> None:
    code, out, err = joined.run(*words)
    assert (code, out) == (2, b"")
    assert err.decode().splitlines()[0] == said
    assert b"Usage: sot-tui " in err


# -- foreign text -----------------------------------------------------------------------------------------------------


def hostile(box: Box) -> None:
    put(
        box,
        odd_box={"state": "blocked", "dialog": HOSTILE, "summary": HOSTILE, "root": HOSTILE + "\n", "repo": "\ud800"},
        no_entry={"host": ["x"], "expertise": [HOSTILE, 7], "last_seen": {}},
    )
    book = box.book()
    book["agents"][f"h{HOSTILE}"] = 5
    book["protocol_version"] = 10**400
    box.comm.joinpath("registry.json").write_text(json.dumps(book), encoding="utf-8")


def test_commands_when_the_registry_holds_hostile_text_then_the_json_is_strict_and_inert(joined: Box) -> None:
    hostile(joined)
    found = asked(joined, "list")
    odd = next(one for one in found["agents"] if one["handle"] == "odd-box")
    assert (odd["summary"], odd["repo"]) == (HOSTILE, "\ufffd")
    assert found["protocol_version"] is None
    for words in (["list"], ["explain", "@odd-box"], ["explain", f"@h{HOSTILE}"]):
        code, seen = joined.on_terminal(*words, "--json")
        text = seen.decode()
        assert code == 0
        assert not [sign for sign in text if sign < " " and sign not in "\r\n"]
        assert not set(text) & {"\x7f", "\x9b", "\u202e", "\u202c"}


def test_explain_when_a_fact_is_hostile_then_even_a_pipe_gets_one_visible_line_for_it(joined: Box) -> None:
    hostile(joined)
    code, out, _ = joined.run("explain", "@odd-box")
    text = out.decode()
    assert code == 0
    assert len(text.splitlines()) == 7
    assert not [sign for sign in text if sign < " " and sign != "\n"]
    assert "␛]0;title␇" in text
