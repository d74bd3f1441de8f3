"""The verbs that ask a daemon, as real processes: what they load, what they say, and a daemon that dies under them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.peer import DEADLINE_S, Peer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.box import Box

OK = {"ok": True}
DEAR = frozenset({"socket", "subprocess", "tempfile", "asyncio", "tomllib", "selectors", "logging"})
"""What a message to a socket on this box has no need of."""

pytestmark = pytest.mark.e2e


@pytest.fixture
def hub(joined: Box) -> Iterator[Peer]:
    with Peer(joined.comm.parent / "hub.sock", {"comm.file": OK, "agent.join": OK}) as found:
        joined.env["SOT_RELAY_ENDPOINT"] = found.endpoint
        yield found


def test_send_when_many_are_under_way_then_each_gets_its_own_answer(joined: Box, hub: Peer) -> None:
    hub.hold = threading.Event()
    hub.answers["comm.file"] = lambda said: OK if said["to"].startswith("ok") else {"error": f"no {said['to']}"}
    ways = [f"{kind}{number}" for number in range(6) for kind in ("ok", "bad")]
    started = {to: joined.start("send", f"@{to}", "x") for to in ways}
    hub.hold.set()
    for to, process in started.items():
        out, err = process.communicate(timeout=50)
        filed = to.startswith("ok")
        told = (f"filed -> @{to}\n", "") if filed else ("", f"FAILED -> @{to}: no {to}\n")
        assert (out.decode(), err.decode(), process.returncode) == (*told, 0 if filed else 1)
    assert sorted(said["to"] for _, said in hub.asked) == sorted(ways)


def test_send_when_the_body_is_a_pipe_s_then_its_bytes_arrive_as_text(joined: Box, hub: Peer) -> None:
    assert joined.run("send", "@far", "--file", "-", body=b"a\xffb\r\n\tc\n") == (0, b"filed -> @far\n", b"")
    assert hub.asked[0][1]["text"] == "a\ufffdb\r\n\tc\n"


def test_send_when_the_daemon_s_words_could_act_on_a_terminal_then_they_do_not(joined: Box, hub: Peer) -> None:
    hub.answers["comm.file"] = {"error": "no \x1b[2J\u202e box"}
    code, seen = joined.on_terminal("send", "@far", "x")
    assert code == 1
    assert b"\x1b" not in seen
    assert "\u202e" not in seen.decode()


def test_send_when_the_daemon_dies_before_it_answers_then_failed_and_nothing_is_known(joined: Box, hub: Peer) -> None:
    hub.keeps = 0
    why = f"FAILED -> @far: the daemon did not answer at {hub.endpoint}\n"
    assert joined.run("send", "@far", "x") == (1, b"", why.encode())


def test_send_when_killed_while_it_waits_then_nothing_is_left_behind(joined: Box, hub: Peer) -> None:
    hub.hold = threading.Event()
    asked = threading.Event()

    def answer(said: object) -> object:
        del said
        asked.set()
        return OK

    hub.answers["comm.file"] = answer
    before = sorted(path.name for path in joined.comm.rglob("*"))
    process = joined.start("send", "@far", "x")
    assert asked.wait(DEADLINE_S)
    process.kill()
    process.communicate(timeout=10)
    assert sorted(path.name for path in joined.comm.rglob("*")) == before


@pytest.mark.parametrize("words", [["send", "@far", "x"], ["join", "--name", "other"]])
def test_verb_when_it_asks_a_socket_here_then_it_stays_light(joined: Box, hub: Peer, words: list[str]) -> None:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sot_tui.cli import main; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-I", "-X", "importtime", "-c", code, str(Path(__file__).parents[2]), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=joined.work,
        env={**joined.env, "SOT_SOCKET": str(hub.path)},
    )
    assert ran.returncode == 0, ran.stderr
    assert hub.asked
    names = [line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")]
    assert not DEAR & set(names[names.index("sot_tui") :])


def test_join_when_a_daemon_s_row_holds_the_name_then_the_command_is_refused(joined: Box, hub: Peer) -> None:
    joined.env["SOT_SOCKET"] = str(hub.path)
    hub.answers["agent.join"] = {"error": "x", "code": "held_by_row", "held_by_row": "ws-5"}
    for words in (["join", "--name", "held"], ["join"]):
        joined.env["SOT_COMM_NAME"] = "held" if words == ["join"] else ""
        code, out, err = joined.run(*words)
        assert (code, out) == (1, b"")
        assert err.decode() == (
            "comm-join.sh: REFUSING to join: @held is held by a row (row ws-5); a session outside any row cannot join "
            "as it\n"
        )
    assert "held" not in json.loads((joined.comm / "registry.json").read_text())["agents"]
