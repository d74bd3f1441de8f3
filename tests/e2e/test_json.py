"""`--json`, and the commands that say what is: strict JSON, every key documented, nothing foreign let through."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sot_tui.comm.clock import stamp
from sot_tui.comm.home import Home
from sot_tui.comm.jsonline import decode
from tests.e2e.box import COMMAND
from tests.screens.real import hold_lock, kill

if TYPE_CHECKING:
    from tests.e2e.box import Box

pytestmark = pytest.mark.e2e

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
HOSTILE = "[/] \x1b]0;title\x07 \x9b31m \u202edesrever\u202c \ufe0f 项目 \x7f"


@pytest.fixture
def joined(joined: Box) -> Box:
    """Return a box with alpha and beta on it, and the scripts in its comm home: one on which all is well."""
    assert joined.run("install")[0] == 0
    return joined


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
    assert "may have stopped" not in asked(joined, "explain", "@busy-box")["reasons"][0]["text"]
    folder.joinpath("tui.toml").write_text("doubt_secs = 60\n")
    assert "may have stopped" in asked(joined, "explain", "@busy-box")["reasons"][0]["text"]


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
        "waiting": 0,
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
    assert [reason["label"] for reason in found["reasons"]] == ["why", "needs you", "live", "mail", "root"]
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
        (["doctor", "x"], "sot-tui doctor: unknown argument x"),
        (["info", "--json", "x"], "sot-tui info: unknown argument x"),
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


# -- doctor and info --------------------------------------------------------------------------------------------------


def tree(box: Box) -> dict[str, tuple[int, ...]]:
    """Return everything there is on the box, as a look finds it."""
    found: dict[str, tuple[int, ...]] = {}
    for path in sorted(box.comm.parent.rglob("*")):
        seen = path.lstat()
        found[str(path)] = (seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns)
    return found


def levels(box: Box, code: int = 0) -> dict[str, tuple[str, str | None]]:
    """Return what the doctor says that is not ok: its level and the next step, by what was looked at."""
    found = asked(box, "doctor", code=code)
    assert found["ok"] is (code == 0)
    return {one["what"]: (one["level"], one["step"]) for one in found["findings"] if one["level"] != "ok"}


@pytest.mark.parametrize("verb", ["doctor", "info"])
@pytest.mark.parametrize("there", ["a comm home", "none"])
def test_look_when_taken_then_nothing_is_made_stamped_or_written(box: Box, verb: str, there: str) -> None:
    if there == "a comm home":
        box.join()
        box.mail(b'{"from":"b","to":"alpha-box","msg":"x"}\n')
    before = tree(box)
    assert box.run(verb)[0] == 0
    assert box.run(verb, "--json")[0] == 0
    assert tree(box) == before


def test_doctor_when_all_is_well_then_says_so_line_by_line(joined: Box) -> None:
    code, out, err = joined.run("doctor")
    lines = out.decode().splitlines()
    assert (code, err) == (0, b"")
    assert lines[-1] == "all is well"
    assert {line[:6] for line in lines[:-1]} == {"ok    "}
    assert f"ok    comm home: {joined.comm} (0700, yours)" in lines
    assert levels(joined) == {}


def test_doctor_when_there_is_no_comm_home_then_warns_with_the_command_that_makes_one(box: Box) -> None:
    assert levels(box) == {"comm home": ("warn", "sot-tui join")}
    code, out, _ = box.run("doctor")
    assert code == 0
    assert out.decode().splitlines()[:2] == [
        f"warn  comm home: {box.comm} is not there yet; the first join makes it",
        "      next: sot-tui join",
    ]
    assert out.endswith(b"\n0 faults, 1 warning\n")


def test_doctor_when_the_scripts_find_no_command_then_its_step_has_them_find_it(joined: Box) -> None:
    assert joined.run("install")[0] == 0
    script, home = joined.comm / "bin" / "comm-poll.sh", Path(joined.env["HOME"])
    joined.env["PATH"] = f"{home}/.local/bin:/usr/bin:/bin"
    ran = subprocess.run([script], env=joined.env, cwd=joined.work, capture_output=True, check=False)
    assert ran.returncode == 1
    step = f"mkdir -p ~/.local/bin && ln -s {COMMAND} ~/.local/bin/"
    assert levels(joined) == {"command": ("warn", step)}
    assert joined.run("doctor")[1].endswith(b"\n0 faults, 1 warning\n")
    subprocess.run(["bash", "-c", step], env=joined.env, check=True)
    assert levels(joined) == {}
    ran = subprocess.run([script], env=joined.env, cwd=joined.work, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, b"No new messages.\n")


def test_doctor_when_its_own_name_is_not_found_then_its_steps_are_shown_with_its_path(box: Box) -> None:
    box.env["PATH"] = "/usr/bin:/bin"
    found = levels(box)
    assert found["comm home"] == ("warn", f"{COMMAND} join")
    assert str(found["command"][1]).endswith(' && export PATH="$HOME/.local/bin:$PATH"')


def test_doctor_when_its_next_step_is_done_then_the_fault_is_gone(joined: Box) -> None:
    """Each step that can be done here is done as it is printed, by a shell, and the doctor asked again."""
    (joined.comm / "inbox" / "x.jsonl").write_text("")
    (joined.comm / "inbox" / "x.jsonl").chmod(0o644)
    assert levels(joined) == {"modes": ("warn", f"chmod -R go-rwx {joined.comm}/inbox")}
    heal(joined, "modes")
    joined.comm.chmod(0o755)
    heal(joined, "comm home", code=1)
    holder = hold_lock(Home(str(joined.comm)))
    kill(holder)
    heal(joined, "registry lock", code=1)
    joined.comm.joinpath(".registry.lock").touch(0o600)  # it names nobody, so no reclaim can clear it
    heal(joined, "registry lock", code=1)
    joined.comm.joinpath(".registry.lock").mkdir(0o700)
    heal(joined, "registry lock", code=1)
    assert levels(joined) == {}
    joined.comm.joinpath("registry.json").write_text("{")
    heal(joined, "registry", code=1)
    assert levels(joined) == {"registry": ("warn", "sot-tui join")}
    heal(joined, "registry")
    joined.comm.joinpath("inbox-lock-manager").write_text("local another\nanother\n")
    heal(joined, "filing mail", code=1)
    assert levels(joined) == {"filing mail": ("warn", "sot-tui")}


def test_doctor_when_a_pipe_stands_at_an_inbox_or_at_the_registry_then_its_step_mends_that(joined: Box) -> None:
    os.mkfifo(joined.comm / "inbox" / "beta-box.jsonl", 0o600)
    heal(joined, "inboxes", code=1)
    assert levels(joined) == {}
    joined.comm.joinpath("registry.json").unlink()
    os.mkfifo(joined.comm / "registry.json", 0o600)
    heal(joined, "registry", code=1)
    joined.comm.joinpath("registry.json").symlink_to("nowhere")
    heal(joined, "registry", code=1)
    heal(joined, "registry")


def heal(box: Box, what: str, code: int = 0) -> None:
    """Run the one step that the doctor names, and see its finding changed."""
    box.env["PATH"] = f"{Path(COMMAND).parent}:{os.environ['PATH']}"
    found = levels(box, code)
    assert set(found) == {what}
    subprocess.run(["bash", "-c", str(found[what][1])], cwd=box.work, env=box.env, check=True)
    assert levels(box).get(what) != found[what]


def test_doctor_when_variables_and_settings_make_no_sense_then_each_is_named(joined: Box) -> None:
    joined.env |= {"COMM_LIVE_SECS": "soon", "SOT_INBOX_READ_WAIT_SECS": "-1"}
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir()
    folder.joinpath("tui.toml").write_text("operator = 'no handle'\nthem = 1\n")
    found = asked(joined, "doctor", code=1)
    told = [(one["what"], one["step"]) for one in found["findings"] if one["level"] != "ok"]
    assert told == [
        ("operator", f"${{EDITOR:-vi}} {folder}/tui.toml"),
        ("settings", f"${{EDITOR:-vi}} {folder}/tui.toml"),
        ("environment", "unset COMM_LIVE_SECS"),
        ("environment", "unset SOT_INBOX_READ_WAIT_SECS"),
    ]


def test_doctor_when_what_was_set_aside_cannot_be_read_then_says_so_and_no_need_is_hidden(joined: Box) -> None:
    put(joined, red_box={"state": "blocked", "question": "q?"})
    own = Path(os.environ["XDG_STATE_HOME"], "sot", "tui")
    own.mkdir(parents=True)
    own.joinpath("aside.json").write_text("{")
    assert asked(joined, "list")["counts"]["needs_you"] == 1
    heal(joined, "set aside")
    assert levels(joined) == {}


def test_doctor_when_an_agent_runs_no_hooks_then_the_install_it_names_mends_that(joined: Box) -> None:
    folder = Path(os.environ["HOME"], ".claude")
    folder.mkdir()
    heal(joined, "hooks of claude")
    assert levels(joined) == {}
    folder.joinpath("settings.json").write_text("{")
    assert levels(joined, 1) == {"hooks of claude": ("FAULT", f"${{EDITOR:-vi}} {folder}/settings.json")}


def test_doctor_when_a_stamp_lies_in_the_future_then_the_clock_is_doubted(joined: Box) -> None:
    put(joined, far_box={"host": "far", "last_seen": stamp(time.time() + 120)})
    found = asked(joined, "doctor")
    clock = next(one for one in found["findings"] if one["what"] == "clock")
    assert clock["level"] == "warn"
    assert clock["fact"].startswith("the stamp of @far-box on far lies ")


def test_doctor_when_it_has_a_terminal_then_judges_it(joined: Box) -> None:
    joined.env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
    code, seen = joined.on_terminal("doctor")
    text = seen.decode()
    assert code == 0
    assert "ok    colours: 16 million\r\n" in text
    assert "ok    signs: UTF-8\r\n" in text
    assert " size: " in text


def listed(*lines: str) -> Path:
    """Write a list of boxes."""
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir(exist_ok=True)
    folder.joinpath("hosts.toml").write_text("\n".join(lines) + "\n")
    return folder / "hosts.toml"


BOXES = ('hub = "atlas"', "[host.atlas]", "daemon = true", "[host.box]", "frontend = true")


def test_info_when_boxes_are_listed_then_the_role_and_where_daemons_are_asked(joined: Box) -> None:
    listed(*BOXES)
    found = asked(joined, "info")
    role = "a frontend of the hub atlas"
    assert found["topology"] == {"role": role, "hub": "atlas", "boxes": ["atlas", "box"], "fault": None}
    ways = found["endpoints"]
    assert (ways["daemon"], ways["relay"], ways["notes"]) == (None, "ssh:atlas", [])
    assert ways["socket"].endswith("/sot/sessions/sot.sock")
    lines = joined.run("info")[1].decode().splitlines()
    for told in (f"role                      {role}", f"daemon socket             {ways['socket']}"):
        assert told in lines
    assert "relay                     ssh:atlas" in lines


def test_doctor_when_the_list_of_boxes_cannot_be_used_then_its_file_is_named(joined: Box) -> None:
    path = listed(*BOXES[:3])
    assert levels(joined, code=1) == {"topology": ("FAULT", f"${{EDITOR:-vi}} {path}")}
    listed("hub = 3")
    assert levels(joined, code=1) == {"topology": ("FAULT", f"${{EDITOR:-vi}} {path}")}
    listed(*BOXES, "windows = 3")
    assert levels(joined) == {"topology": ("warn", f"${{EDITOR:-vi}} {path}"), "link": ("warn", "sotd run")}
    listed(*BOXES)
    assert levels(joined) == {"link": ("warn", "sotd run")}


def test_doctor_when_an_endpoint_cannot_be_dialled_then_its_variable_is_named(joined: Box) -> None:
    joined.env["SOT_SPAWN_ENDPOINT"] = "tcp:atlas:22"
    assert levels(joined, code=1)["daemon"] == ("FAULT", "unset SOT_SPAWN_ENDPOINT")
    assert asked(joined, "info")["endpoints"]["notes"] == [
        "comm-lib: discarding an endpoint this version cannot dial: tcp:atlas:22"
    ]


def test_scripts_when_they_stand_so_then_the_step_mends_that(joined: Box) -> None:
    folder = joined.comm / "bin"
    assert asked(joined, "info")["scripts"]["state"] == "installed"
    folder.joinpath("comm-poll.sh").unlink()
    assert asked(joined, "info")["scripts"]["names"] == ["comm-poll.sh"]
    heal(joined, "scripts")
    version = joined.comm.joinpath("VERSION").read_text()
    joined.comm.joinpath("VERSION").write_text("sot-tui 0.0.1\n")
    assert asked(joined, "info")["scripts"]["state"] == "another version"
    heal(joined, "scripts")
    assert joined.comm.joinpath("VERSION").read_text() == version
    for path in folder.iterdir():
        path.unlink()
    assert asked(joined, "info")["scripts"]["state"] == "missing"
    heal(joined, "scripts")
    folder.joinpath("comm-join.sh").write_text("#!/bin/bash\n# another client's\n")
    found = asked(joined, "info")["scripts"]
    assert (found["state"], found["names"]) == ("foreign", ["comm-join.sh"])
    assert levels(joined) == {"scripts": ("warn", "sot-tui install --force")}
    heal(joined, "scripts")


def test_info_when_asked_then_every_path_and_value_with_its_source(joined: Box) -> None:
    joined.env |= {"COMM_LIVE_SECS": "60", "SOT_LOCK_WAIT_SECS": "never", "VISUAL": "emacs -nw"}
    folder = Path(os.environ["XDG_CONFIG_HOME"], "sot")
    folder.mkdir()
    folder.joinpath("tui.toml").write_text("operator = 'anna'\n")
    found = asked(joined, "info")
    assert (found["host"], found["operator"], found["versions"]["protocol"]) == ("box", "anna", 1)
    paths = {one["name"]: (one["path"], one["there"]) for one in found["paths"]}
    assert paths["comm home"] == (str(joined.comm), True)
    assert paths["registry lock"] == (f"{joined.comm}/.registry.lock", False)
    assert paths["settings"] == (f"{folder}/tui.toml", True)
    assert paths["own state"] == (f"{os.environ['XDG_STATE_HOME']}/sot/tui", False)
    settings = {one["key"]: (one["value"], one["source"]) for one in found["settings"]}
    assert settings["operator"] == ("anna", "file")
    assert settings["editor"] == ("emacs -nw", "environment")
    assert settings["mouse"] == (True, "default")
    variables = {one["name"]: (one["value"], one["source"]) for one in found["variables"]}
    assert variables["COMM_LIVE_SECS"] == (60, "environment")
    assert variables["SOT_LOCK_WAIT_SECS"] == (None, "environment")
    assert variables["SOT_INBOX_READ_WAIT_SECS"] == (3, "default")
    assert found["lock_manager"]["here"] == found["lock_manager"]["recorded"]
    code, out, _ = joined.run("info")
    assert code == 0
    for path, _ in paths.values():
        assert path in out.decode()
    assert 'editor                    "emacs -nw"  (environment)' in out.decode().splitlines()


@pytest.mark.parametrize("verb", ["doctor", "info"])
def test_look_when_paths_and_variables_are_hostile_then_each_is_one_visible_line(box: Box, verb: str) -> None:
    odd = f"{box.comm}\x1b]0;x\x07\n\u202e"
    box.env |= {"SOT_COMM_HOME": odd, "SOT_SELF_HOST": "b\x1b[2J", "EDITOR": "\x9b31m", "COMM_LIVE_SECS": "\x1b"}
    for words in ([verb], [verb, "--json"]):
        _, out, err = box.run(*words)
        assert not [sign for sign in (out + err).decode() if sign != "\n" and not sign.isprintable()]
    found = decode(box.run(verb, "--json")[1])
    assert odd in (found["paths"][0]["path"] if verb == "info" else found["findings"][0]["fact"])


# -- the other lists --------------------------------------------------------------------------------------------------


def test_context_when_asked_for_json_then_what_the_words_say(joined: Box) -> None:
    found = asked(joined, "context")
    words = dict(line.split("=", 1) for line in joined.run("context")[1].decode().splitlines())
    assert {key: value for key, value in found.items() if value} == {
        key.lower(): value for key, value in words.items() if value
    }
    assert (found["name"], found["row_id"]) == ("alpha-box", None)


def test_self_audit_when_asked_for_json_then_every_slot_and_the_code_of_the_words(joined: Box) -> None:
    joined.comm.joinpath("self", "box__ws-beta-1.txt").write_text("beta-box\nrepo=beta\nroot=/b\n")
    found = asked(joined, "self-audit")
    assert found["counts"]["agree"] == 1
    assert {"row": "ws-beta-1", "handle": "beta-box", "repo": "beta", "finding": "agree"} in found["slots"]
    joined.comm.joinpath("self", "box__ws-beta-1.txt").write_text("beta-box\nrepo=gamma\nroot=/b\n")
    assert asked(joined, "self-audit", code=1)["counts"]["DIFFERS"] == 1


def test_hooks_when_asked_for_json_then_what_is_missing(joined: Box) -> None:
    Path(os.environ["HOME"], ".claude").mkdir()
    found = asked(joined, "hooks", "status", code=1)
    assert [one["agent"] for one in found["agents"]] == ["claude"]
    assert len(found["agents"][0]["missing"]) == found["agents"][0]["hooks"]


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
    assert len(text.splitlines()) == 6
    assert not [sign for sign in text if sign < " " and sign != "\n"]
    assert "␛]0;title␇" in text
