"""What the engine has to say by itself: which mail and which lock is news, once each, whatever the order of looks."""

from __future__ import annotations

import json

import pytest

from sot_tui.comm import frames, jsonline
from sot_tui.comm.cursor import line_hash
from sot_tui.comm.fleet import LockPhase, LockState
from sot_tui.notify import own
from sot_tui.notify.decide import INFO
from sot_tui.notify.own import Book, Found, Mark

NOW = 1_780_000_000.0
DEAD = LockState(
    LockPhase.HELD,
    record="lab pid 7 start 9",
    holder="lab pid 7 start 9",
    age_s=100,
    dead=True,
    verdict="it is dead",
    looks=2,
    looked_at=NOW,
)


def found(number: int, text: str = "hello", to: str = "me", sender: str = "anna", *, read: bool = False) -> Found:
    line = frames.frame(sender, to, "r", f"{text} {number}", "2026-01-02T03:04:05Z").rstrip(b"\n")
    return Found(Mark(number, line_hash(line)), line, read)


def after(book: Book, *lines: Found) -> Book:
    """Return the book after a look that found an inbox with these lines."""
    seen = book.mail.get("me", ())
    new = own.unseen(seen, lines)
    return own.with_mail(book, "me", lines if new is None else new, [one.at for one in lines], "box", NOW)


def test_mail_when_it_was_there_at_the_first_look_then_nothing_is_pushed() -> None:
    assert after(Book(), *(found(number) for number in range(1, 500))).waiting == ()


def test_mail_when_new_then_one_push_for_each_and_none_at_the_next_look() -> None:
    book = after(after(Book()), found(1), found(2, "ask\n# you"))
    assert [(push.title, push.body) for push in book.waiting] == [
        ("mail from @anna · box", "hello 1"),
        ("mail from @anna · box", "ask you 2"),
    ]
    assert {push.notice.urgency for push in book.waiting} == {INFO}
    assert after(book, found(1), found(2, "ask\n# you")) == book


def test_mail_when_it_is_read_a_broadcast_ones_own_or_torn_then_no_push() -> None:
    torn = Found(Mark(4, "1-2"), b"{torn", read=False)
    book = after(after(Book()), found(1, read=True), found(2, to=""), found(3, sender="me"), torn)
    assert book.waiting == ()
    assert len(book.mail["me"]) == 4


def test_mail_when_many_come_at_once_then_one_push_tells_of_all() -> None:
    book = after(after(Book()), *(found(number, sender=f"s{number % 2}") for number in range(1, 9)))
    assert [(push.title, push.body) for push in book.waiting] == [("8 messages · box", "From @s1, @s0")]


def test_mail_when_the_last_line_was_cut_back_then_the_others_are_not_told_again_and_the_next_is() -> None:
    """A failed append is cut back to the length before it; the next message has the number of the one that was cut."""
    book = after(after(Book()), found(1), found(2))
    cut = after(book, found(1))
    assert cut.waiting == book.waiting
    again = after(cut, found(1), found(2, "another"))
    assert [push.body for push in again.waiting] == ["hello 1", "hello 2", "another 2"]


def test_mail_when_the_inbox_is_another_one_then_its_mail_is_new() -> None:
    book = after(after(Book()), found(1), found(2))._replace(waiting=())
    assert own.unseen(book.mail["me"], [found(1, "else")]) is None  # so all of it has to be looked at
    assert [push.body for push in after(book, found(1, "else")).waiting] == ["else 1"]


def test_marks_when_an_inbox_grows_then_a_bounded_number_is_kept() -> None:
    book = after(Book(), *(found(number) for number in range(1, 200)))
    assert [mark.line for mark in book.mail["me"]] == list(range(200 - own.MARKS, 200))
    assert [
        one.at.line for one in own.unseen(book.mail["me"], [found(number) for number in range(190, 203)]) or ()
    ] == [
        200,
        201,
        202,
    ]


def test_lock_when_it_stands_too_long_then_one_push_until_it_was_free() -> None:
    book = own.with_lock(Book(), DEAD._replace(age_s=89), "box", NOW)
    assert book == Book()
    book = own.with_lock(book, DEAD, "box", NOW)
    assert [(push.title, push.body) for push in book.waiting] == [
        ("registry lock wedged · box", "Held by lab pid 7 start 9 for 1m: it is dead")
    ]
    assert own.with_lock(book, DEAD._replace(age_s=5000), "box", NOW + 4900) == book
    assert own.with_lock(book, LockState(), "box", NOW) == book
    free = own.with_lock(book, LockState(LockPhase.FREE), "box", NOW)
    assert len(own.with_lock(free, DEAD, "box", NOW).waiting) == 2


@pytest.mark.parametrize("phase", [LockPhase.UNPARSABLE, LockPhase.OLDER_VERSION, LockPhase.UNREADABLE])
def test_lock_when_nobody_can_say_whose_it_is_then_a_push_too(phase: LockPhase) -> None:
    strange = LockState(phase, age_s=100, looks=2, looked_at=NOW)
    grip = "Unreadable" if phase is LockPhase.UNREADABLE else "Held"
    assert own.with_lock(Book(), strange, "box", NOW).waiting[0].body == f"{grip} for 1m: its holder is not known"


def test_push_when_it_fails_then_tried_again_after_pauses_that_grow_and_given_up_after_a_day() -> None:
    book = after(after(Book()), found(1))
    now, pauses = NOW, []
    while (push := own.due(book, now)) is not None:
        assert own.due(own.begun(book, push), now) is None
        book = own.failed(own.begun(book, push), push, now)
        if book.waiting:
            assert own.due(book, book.waiting[0].after - 0.001) is None
            pauses.append(book.waiting[0].after - now)
            now = book.waiting[0].after
    assert pauses[:6] == [30, 60, 120, 240, 480, 900]
    assert set(pauses[6:]) == {900}
    assert book.waiting == ()
    assert now - NOW >= own.LIFE_SECS


def test_push_when_it_is_delivered_then_gone_and_one_that_was_cut_short_is_not_sent_again() -> None:
    book = after(after(Book()), found(1), found(2))
    first, second = book.waiting
    assert own.settled(own.begun(book, first), first).waiting == (second,)
    assert own.cut_short(own.begun(book, first)) == (book._replace(waiting=(second,)), 1)
    assert own.cut_short(book) == (book, 0)


def test_book_when_kept_and_read_then_the_same() -> None:
    book = own.with_lock(after(after(Book()), found(1)), DEAD, "box", NOW)
    assert own.decode(json.loads(json.dumps(own.encode(book)))) == book


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {},
        {"mail": [], "lock": "", "waiting": []},
        {"mail": {"me": [[1]]}, "lock": "", "waiting": []},
        {"mail": {"me": [["1", "x"]]}, "lock": "", "waiting": []},
        {"mail": {}, "lock": 1, "waiting": []},
        {"mail": {}, "lock": "", "waiting": [{}]},
    ],
)
def test_book_when_it_is_none_then_refused(said: object) -> None:
    with pytest.raises(jsonline.NotStrict):
        own.decode(said)


def test_waiting_when_the_topic_is_away_for_long_then_bounded() -> None:
    book = after(Book())
    for number in range(1, 300):
        book = after(book, *(found(each) for each in range(max(1, number - 5), number + 1)))
    assert len(book.waiting) == own.WAITING
    assert book.waiting[-1].body == "hello 299"


def test_push_when_it_is_logged_then_no_frame_would_take_its_event() -> None:
    event = own.as_event(own.MAIL, "k")
    assert (event.harness, event.source_event) == ("sot-tui", "Mail")
    assert event.user == event.assistant == event.message == ""
