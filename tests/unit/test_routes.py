"""Sending by route 1: who may be sent to, who may append, and the one result line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import routes
from sot_tui.comm.clock import SystemClock, stamp
from sot_tui.comm.errors import Misuse
from sot_tui.comm.routes import NO_DAEMON, NO_LOCK_HERE, Failed, Filed
from tests.golden.tables import rows
from tests.mailbox import Machine, mail_home

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home

NOW = 1_767_323_045.0


class StillClock(SystemClock):
    """A clock that stands."""

    def now(self) -> float:
        return NOW


def home_with(path: Path, **agents: object) -> Home:
    home = mail_home(path, clock=StillClock(), procs=Machine())
    (path / "registry.json").write_text(json.dumps({"protocol_version": 1, "agents": agents}))
    return home


def entry(seen: object = stamp(NOW - 60), host: object = "box") -> dict[str, object]:
    return {"host": host, "last_seen": seen}


def inbox_of(path: Path, handle: str) -> bytes | None:
    found = path / "inbox" / f"{handle}.jsonl"
    return found.read_bytes() if found.exists() else None


def test_send_when_listed_and_live_then_filed_and_the_line_is_the_frame(comm_home: Path) -> None:
    home = home_with(comm_home, b=entry())
    assert routes.send(home, "a", "alpha", "b", "hello there") == Filed("filed -> @b")
    line = f'{{"from":"a","to":"b","repo":"alpha","msg":"hello there","ts":"{stamp(NOW)}"}}\n'
    assert inbox_of(comm_home, "b") == line.encode()


def test_send_when_a_broadcast_then_the_copy_names_nobody(comm_home: Path) -> None:
    home = home_with(comm_home, b=entry())
    assert routes.send(home, "a", "alpha", "b", "all", broadcast=True) == Filed("filed -> @b")
    assert b'"to":""' in (inbox_of(comm_home, "b") or b"")


def test_send_when_a_partial_was_cut_then_filed_with_the_note(comm_home: Path) -> None:
    home = home_with(comm_home, b=entry())
    (comm_home / "inbox" / "b.jsonl").write_bytes(b"partial")
    note = "note: cut 7 bytes of an unterminated line a dead writer left in @b's inbox"
    assert routes.send(home, "a", "alpha", "b", "x") == Filed("filed -> @b", note)


@pytest.mark.parametrize("host", ["", None, 7, ["box"]])
def test_send_when_the_entry_has_no_host_then_as_if_not_listed(comm_home: Path, host: object) -> None:
    home = home_with(comm_home, b=entry(host=host))
    assert routes.send(home, "a", "alpha", "b", "x") == Failed(f"FAILED -> @b: {NO_DAEMON}")


@pytest.mark.parametrize("agents", [{}, {"b": "no object"}, {"b": None}, {"B": entry()}])
def test_send_when_not_listed_then_no_daemon_was_found(comm_home: Path, agents: dict[str, object]) -> None:
    home = home_with(comm_home, **agents)
    assert routes.send(home, "a", "alpha", "b", "x") == Failed(f"FAILED -> @b: {NO_DAEMON}")
    assert inbox_of(comm_home, "b") is None


@pytest.mark.parametrize("row", rows("live"), ids=lambda row: row["last_seen"])
def test_send_when_a_golden_row_of_liveness_then_filed_for_the_live_alone(
    comm_home: Path, row: dict[str, object]
) -> None:
    """Every route checks liveness before it appends: `filed` is never said for a handle that no live session holds."""
    seen = str(row["last_seen"])
    if seen.startswith("{NOW"):
        seen = stamp(NOW + int(seen.removeprefix("{NOW").removesuffix("s}")))
    home = home_with(comm_home, b=entry(seen))
    sent = routes.send(home, "a", "alpha", "b", "x")
    assert sent == (Filed("filed -> @b") if row["live"] else Failed("FAILED -> @b: no live session holds @b"))
    assert (inbox_of(comm_home, "b") is not None) == row["live"]


def test_send_when_the_receiver_has_never_been_seen_then_refused(comm_home: Path) -> None:
    home = home_with(comm_home, b={"host": "box"})
    assert routes.send(home, "a", "alpha", "b", "x") == Failed("FAILED -> @b: no live session holds @b")


@pytest.mark.parametrize("record", [None, "none\n", "nfs4 server:/export\nm1\n", "local m2\nm1\n"])
def test_send_when_the_record_is_not_this_boxs_then_it_does_not_append(comm_home: Path, record: str | None) -> None:
    home = home_with(comm_home, b=entry())
    path = comm_home / "inbox-lock-manager"
    path.unlink()
    if record is not None:
        path.write_text(record)
    assert routes.send(home, "a", "alpha", "b", "x") == Failed(f"FAILED -> @b: {NO_LOCK_HERE}")
    assert inbox_of(comm_home, "b") is None


@pytest.mark.parametrize("registry", [None, b"", b"not json", b"[]", b'{"agents":[]}'])
def test_send_when_the_registry_cannot_be_read_then_nothing_is_sent(comm_home: Path, registry: bytes | None) -> None:
    home = home_with(comm_home, b=entry())
    path = comm_home / "registry.json"
    path.unlink()
    if registry is not None:
        path.write_bytes(registry)
    assert routes.send(home, "a", "alpha", "b", "x") == Failed(
        "FAILED -> @b: the registry could not be read, so identity @a is unverified; nothing was sent"
    )
    assert inbox_of(comm_home, "b") is None


@pytest.mark.parametrize("to", ["", "a/b", "../x", ".", "..", "x" * 65, "né", "a b", "a\n"])
def test_send_when_the_name_is_no_handle_then_refused_before_anything_is_read(comm_home: Path, to: str) -> None:
    home = home_with(comm_home)
    sent = routes.send(home, "a", "alpha", to, "x")
    assert isinstance(sent, Failed)
    assert sent.sentence.startswith(f"FAILED -> @{to}: not a handle: ")


def test_send_when_the_lock_is_held_then_the_contracts_sentence(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    home = home_with(comm_home, b=entry())
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "0")
    with open(comm_home / "inbox" / "b.lock", "w") as holder:
        fcntl.flock(holder, fcntl.LOCK_SH)
        assert routes.send(home, "a", "alpha", "b", "x") == Failed(
            "FAILED -> @b: the inbox lock for @b was held for 0s — nothing was appended"
        )


def test_send_when_a_bound_makes_no_sense_then_misuse_and_nothing_is_appended(
    comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_with(comm_home, b=entry())
    monkeypatch.setenv("SOT_INBOX_LOCK_WAIT_SECS", "soon")
    with pytest.raises(Misuse, match="SOT_INBOX_LOCK_WAIT_SECS"):
        routes.send(home, "a", "alpha", "b", "x")
    assert inbox_of(comm_home, "b") is None
