"""The search over all inboxes: every hit once, part by part, nothing moved, nothing left out in silence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import cursor, frames
from sot_tui.engine import search
from sot_tui.engine.client import HEAD_CHARS, Kind, Letter, Search
from sot_tui.engine.desk_store import DeskStore
from tests.mailbox import TS, mail_home

if TYPE_CHECKING:
    from pathlib import Path

    from sot_tui.comm.home import Home


def put(path: Path, handle: str, *lines: bytes, at: float = 1_700_000_000) -> None:
    inbox = path / "inbox" / f"{handle}.jsonl"
    inbox.write_bytes(b"".join(lines))
    os.utime(inbox, (at, at))


def said(sender: str, to: str, text: str, repo: str = "r") -> bytes:
    return frames.frame(sender, to, repo, text, TS)


def searched(home: Home, words: str = "", sender: str = "", owner: str = "") -> tuple[list[Letter], list[str], int]:
    store = DeskStore(home, f"{home.path}-state")
    found: list[Letter] = []
    notes: list[str] = []
    command, parts = Search(tuple(words.split()), sender, owner), 0
    while True:
        part = search.look(home, store, command)
        found += part.letters
        notes += part.notes
        parts += 1
        if part.next is None:
            return found, notes, parts
        assert part.next != command.spot
        command = Search(command.words, sender, owner, part.next)


@pytest.fixture
def home(comm_home: Path) -> Home:
    made = mail_home(comm_home)
    put(
        comm_home,
        "anna",
        said("bob", "anna", "The SCHEMA is on main"),
        said("me", "anna", "schema? which\none"),
        said("carl", "", "to all: schema day"),
        b"no message, schema\n",
        at=100,
    )
    put(comm_home, "bob", said("anna", "bob", "numbers please", "Analysis"), said("me", "bob", "Straße ü"), at=300)
    put(comm_home, "me", said("anna", "me", "done"), said("bob", "me", 'a "quoted" word'), at=200)
    (comm_home / "read" / "anna.cursor").write_text(cursor.text(1, said("bob", "anna", "The SCHEMA is on main")))
    return made


def places(letters: list[Letter]) -> list[tuple[str, int]]:
    return [(letter.inbox, letter.line) for letter in letters]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("schema", [("anna", 4), ("anna", 3), ("anna", 2), ("anna", 1)]),
        ("SCHEMA main", [("anna", 1)]),
        ("schema from:me", [("anna", 2)]),
        ("from:@carl", [("anna", 3)]),
        ("to:bob", [("bob", 2), ("bob", 1)]),
        ("analysis", [("bob", 1)]),
        ("straße", [("bob", 2)]),
        ("Ü", [("bob", 2)]),
        ('"quoted"', [("me", 2)]),
        ("nobody wrote this", []),
        ("", [("bob", 2), ("bob", 1), ("me", 2), ("me", 1), ("anna", 4), ("anna", 3), ("anna", 2), ("anna", 1)]),
    ],
)
def test_search_when_words_then_every_message_with_all_of_them_the_newest_inbox_first(
    home: Home, words: str, wanted: list[tuple[str, int]]
) -> None:
    found, notes, _ = searched(home, words)
    assert places(found) == wanted
    assert notes == []


def test_search_when_a_hit_then_says_what_is_known_of_it(home: Home) -> None:
    found, _, _ = searched(home, "schema")
    assert [(letter.kind, letter.read) for letter in found] == [
        (Kind.UNPARSED, False),
        (Kind.BROADCAST, False),
        (Kind.DIRECTED, False),
        (Kind.DIRECTED, True),
    ]
    assert found[2] == Letter(
        2,
        Kind.DIRECTED,
        "me",
        "anna",
        "r",
        "schema? which\none",
        TS,
        read=False,
        inbox="anna",
        mark=cursor.line_hash(said("me", "anna", "schema? which\none")),
        chars=17,
    )


def test_search_when_of_one_sender_then_what_it_sent_to_anybody(home: Home) -> None:
    found, _, _ = searched(home, sender="me")
    assert places(found) == [("bob", 2), ("anna", 2)]


def test_search_when_of_one_owner_then_its_inbox_first_and_what_it_sent(home: Home) -> None:
    found, _, _ = searched(home, owner="me")
    assert places(found) == [("me", 2), ("me", 1), ("bob", 2), ("anna", 2)]


def test_search_when_a_line_spells_its_signs_by_escapes_then_it_is_found_too(home: Home, comm_home: Path) -> None:
    """Any sign may be written `\\u0061`; a writer that is not `jq -c` does so."""
    line = rb'{"from":"\u006de","to":"anna","repo":"","msg":"sch\u0065ma and \"more\"","ts":""}' + b"\n"
    put(comm_home, "anna", line)
    assert places(searched(home, "schema")[0]) == [("anna", 1)]
    assert ("anna", 1) in places(searched(home, sender="me")[0])


def test_search_when_an_inbox_is_big_then_goes_on_in_parts_and_finds_each_hit_once(
    home: Home, comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "PART_BYTES", 70_000)
    put(comm_home, "big", *(said("x", "big", f"number {at} {'needle' if at % 999 == 0 else ''}") for at in range(5000)))
    found, notes, parts = searched(home, "needle")
    assert places(found) == [("big", at + 1) for at in (4995, 3996, 2997, 1998, 999, 0)]
    assert parts >= 5
    assert notes == []


def test_search_when_an_inbox_holds_too_many_hits_then_the_newest_and_says_so(
    home: Home, comm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "PART_BYTES", 3000)
    monkeypatch.setattr(search, "HITS_OF_ONE", 70)
    put(comm_home, "big", *(said("x", "big", f"schema {at} " + "x" * 3000) for at in range(1, 301)))
    found, notes, _ = searched(home, "schema")
    assert places(found)[:70] == [("big", at) for at in range(300, 230, -1)]
    assert len(found) == 74
    assert notes == ["@big: only the newest 70 are shown"]


def test_search_when_there_are_many_inboxes_then_a_part_looks_into_some(home: Home, comm_home: Path) -> None:
    for at in range(200):
        put(comm_home, f"h{at}", said("x", f"h{at}", "the needle"))
    found, _, parts = searched(home, "needle")
    assert len(found) == 200
    assert parts >= 4


def test_search_when_an_inbox_cannot_be_read_then_it_is_named_and_the_others_are_found(
    home: Home, comm_home: Path
) -> None:
    (comm_home / "inbox" / "dir.jsonl").mkdir()
    (comm_home / "inbox" / "a file of nobody.jsonl").write_text("schema\n")
    (comm_home / "inbox" / "anna.lock").write_text("schema")
    found, notes, _ = searched(home, "schema")
    assert len(found) == 4
    assert notes == ["the inbox of @dir could not be read: Is a directory"]


def test_search_when_there_is_no_folder_of_inboxes_then_says_so(comm_home: Path) -> None:
    home = mail_home(comm_home)
    (comm_home / "inbox").rmdir()
    assert searched(home) == ([], ["the folder of the inboxes could not be read: No such file or directory"], 1)


def test_search_when_a_hit_is_long_then_only_its_beginning_comes_along(home: Home, comm_home: Path) -> None:
    put(comm_home, "anna", said("bob", "anna", "x" * 50_000 + " needle"))
    (letter,) = searched(home, "needle")[0]
    assert (len(letter.text), letter.chars, letter.whole) == (HEAD_CHARS, 50_007, False)


def test_search_when_made_then_moves_nothing(home: Home, comm_home: Path) -> None:
    before = {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in comm_home.rglob("*")}
    searched(home, "schema")
    assert {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in comm_home.rglob("*")} == before
