"""Messages from many inboxes: a search, what was sent and whether it was read, and what was said with each peer.

All three are one search over all inboxes (engine), which is asked for part after part; what was found is shown as it
comes, and leaving the screen ends it. It is bounded, and says so where it stops. Nothing is moved by any of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import on, work
from textual.widgets import Input

from sot_tui.comm.clock import seconds_of
from sot_tui.engine.client import Kind, Search
from sot_tui.screens import mail, show
from sot_tui.screens.actions import Where
from sot_tui.screens.letters import LettersScreen
from sot_tui.screens.widgets.field import Field
from sot_tui.screens.widgets.lines import Lines, Piece

if TYPE_CHECKING:
    from textual.widget import AwaitMount, Widget

    from sot_tui.engine.client import Letter
    from sot_tui.screens.desk import Desk

HITS_LIMIT = 2000
"""Messages that are found at most; who needs more wants more words."""
AGAIN_SECS = 2.0
"""Seconds between two searches for the same, when the mail has changed meanwhile."""
TYPING_SECS = 0.25
"""Seconds after the last key until a search begins."""


class FoundScreen(LettersScreen):
    """What one search finds."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._letters: dict[str, Letter] = {}
        self._state = ""
        """How far the search is, in words; empty when it is through."""
        self._searching = False
        self._searched_at = 0.0
        self._searched_for: object = None

    # -- what a subclass knows -----------------------------------------------------------------------------------------

    def command(self) -> Search | None:
        """Return what is searched for; None when there is nothing to search for."""
        raise NotImplementedError

    def order(self) -> list[str]:
        """Return the lines of the index: the newest message first."""
        return sorted(self._letters, key=lambda key: _newest_first(self._letters[key]))

    # -- searching -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Begin, once there is a screen to show it on; what is typed meanwhile is not lost."""
        self.take_keys()
        self.call_after_refresh(self.begin)

    def take_keys(self) -> None:
        """Give the keys at once to whom they are meant for."""

    def begin(self) -> None:
        """Say what is listed, and search."""
        self.say_title()
        self.search()

    def fleet_changed(self) -> None:
        """Search again when some mail has changed since."""
        self._search_again()

    def time_passed(self) -> None:
        """Show the ages of now; a search that had to wait begins."""
        super().time_passed()
        self._search_again()

    def action_reload(self) -> None:
        """Search again."""
        self.search()

    def _search_again(self) -> None:
        changed = self.desk.fleet.mail is not self._searched_for
        if self.is_open and changed and not self._searching and self.desk.now() - self._searched_at >= AGAIN_SECS:
            self.search(fresh=False)

    @work(group="search", exclusive=True, exit_on_error=False)
    async def search(self, *, fresh: bool = True) -> None:
        """Search; with `fresh` what is shown comes as it is found, else it is replaced when the search is through."""
        self._searching, self._searched_at, self._searched_for = True, self.desk.now(), self.desk.fleet.mail
        found: dict[str, Letter] = {}
        try:
            await self._search(found, fresh=fresh)
        finally:
            self._searching = False

    async def _search(self, found: dict[str, Letter], *, fresh: bool) -> None:
        command, notes = self.command(), 0
        self._state = "searching …" if command is not None and fresh else self._state
        if fresh:
            self._letters = found
            self._show_found()
        while command is not None:
            part = await self.desk.client.do(command)
            found |= {_key(letter): letter for letter in part.letters}
            for note in part.notes:
                notes += 1
                self.desk.refuse(note)
            spot = part.next
            if spot is None or len(found) >= HITS_LIMIT:
                self._state = "" if spot is None else f"stopped at {HITS_LIMIT:,}: more words find less"
                break
            if fresh:
                self._state = f"{spot.seen} of {spot.seen + len(spot.left)} inboxes …"
                self._show_found()
            command = replace(command, spot=spot)
        self._letters = found
        self._show_found()

    def _show_found(self) -> None:
        if not self.is_open:
            return
        self.piece("index", Lines).show(self.order())
        self.say_title()
        self.show_letter()

    # -- showing -------------------------------------------------------------------------------------------------------

    def letter_of(self, key: str) -> Letter | None:
        """Return the message of a line."""
        return self._letters.get(key)

    def opened(self, letter: Letter) -> None:
        """Keep that a message was opened."""
        if _key(letter) in self._letters:
            self._letters[_key(letter)] = letter

    def entitle(self, what: str, about: str) -> None:
        """Say a title, and how far the search is."""
        told = [piece for piece in (about, self._state) if piece]
        title = show.ours(" [b]$what[/]  [$foreground 60%]$told[/]", what=what, told=" · ".join(told))
        self.piece("mail-title", show.Words).say(title)

    def empty_words(self) -> str:
        """Say that there is nothing, or not yet."""
        return self._state or "nothing was found"


class SearchScreen(FoundScreen):
    """A search over all inboxes by words."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._copies: dict[str, list[str]] = {}
        """The messages of each line of the index."""

    AUTO_FOCUS = "#search-words"
    WHO_CELLS = 34

    def above(self) -> list[Widget]:
        """Return the field for the words."""
        field = Field(id="search-words", placeholder="words · from:handle · to:handle", compact=True, max_length=200)
        field.keys, field.ending = frozenset({"enter", "down"}), self._leave_field
        return [field]

    def _leave_field(self, _: str) -> bool:
        self.set_focus(self.piece("index", Lines))
        return True

    def take_keys(self) -> None:
        """Take the words."""
        self.set_focus(self.piece("search-words", Field))

    def order(self) -> list[str]:
        """Return what was found, the newest first; the copies of one broadcast are one line of it."""
        me = self.desk.fleet.operator
        self._copies = {}
        for key in super().order():
            letter = self._letters[key]
            one = key
            if letter.kind is Kind.BROADCAST:
                one = f"all/{letter.sender}/{letter.at}/{letter.chars}/{letter.text}"
            self._copies.setdefault(one, []).append(key)
        for copies in self._copies.values():
            copies.sort(key=lambda key: self._letters[key].inbox != me)  # one's own copy is the one that is opened
        return list(self._copies)

    def letter_of(self, key: str) -> Letter | None:
        """Return the message of a line, of a broadcast one of its copies."""
        copies = self._copies.get(key)
        return self._letters.get(copies[0]) if copies else None

    def _copies_of(self, letter: Letter) -> int:
        mine = _key(letter)
        return next((len(copies) for copies in self._copies.values() if mine in copies), 1)

    def typing(self) -> Where | None:
        """Return that the words of a search are typed, while they are."""
        return Where.WORDS if isinstance(self.focused, Field) else super().typing()

    def action_typed(self, name: str) -> None:
        """End the typing by a click on the key line."""
        if name == "keep":
            self._leave_field(name)
        else:
            self.action_back()

    def command(self) -> Search | None:
        """Return the search for the words."""
        words = tuple(self.piece("search-words", Input).value.split())
        self.words = tuple(word for word in words if not word.startswith(("from:", "to:")))
        return Search(words) if words else None

    @on(Input.Changed, "#search-words")
    def _typed(self) -> None:
        self._wait()

    @work(group="typing", exclusive=True, exit_on_error=False)
    async def _wait(self) -> None:
        await asyncio.sleep(TYPING_SECS)
        self.search()

    def say_title(self) -> None:
        """Say how much was found."""
        self.entitle("search in all inboxes", f"{len(self._copies):,} found" if self.words or self._letters else "")

    def who(self, letter: Letter) -> str:
        """Return from whom to whom."""
        count = self._copies_of(letter)
        if count > 1:
            return f"{letter.sender or '?'} → all ({count} inboxes)"
        return f"{letter.sender or '?'} → {letter.inbox}"

    def empty_words(self) -> str:
        """Say what can be typed."""
        if not self.piece("search-words", Input).value.strip():
            return "Every word you type stands somewhere in a message, its sender, receiver or project."
        return super().empty_words()

    def action_open_letter(self) -> None:
        """Open the selected message in the inbox where it lies."""
        letter = self.letter()
        if letter is not None:
            self.mark(letter)
            self.app.push_screen(mail.MailScreen(self.desk, letter.inbox, at=letter.line))

    def action_search(self) -> AwaitMount | None:
        """Type other words."""
        self.take_keys()
        return None

    def action_back(self) -> None:
        """Leave."""
        self.dismiss()


class SentScreen(FoundScreen):
    """What a handle has sent, to whomever, and whether it was read."""

    def __init__(self, desk: Desk, owner: str) -> None:
        super().__init__(desk)
        self._owner = owner

    def owner(self) -> str:
        """Return whose they are."""
        return self._owner

    def command(self) -> Search:
        """Return the search for what it sent."""
        return Search(sender=self._owner)

    def say_title(self) -> None:
        """Say whose, how many, and how many of them are not read."""
        unread = sum(not letter.read for letter in self._letters.values())
        count = len(self._letters)
        about = f"{count:,} message{'' if count == 1 else 's'} · {unread:,} not read yet"
        self.entitle("sent by you" if self._owner == self.desk.fleet.operator else f"sent by {self._owner}", about)

    def who(self, letter: Letter) -> str:
        """Return to whom."""
        return f"→ {letter.inbox}{' (all)' if letter.kind is Kind.BROADCAST else ''}"

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return what the signs of sent messages mean."""
        return ((show.UNREAD, "its receiver has not read it yet"), (show.READ, "its receiver has read it"))

    def action_sent(self) -> None:
        """Go back."""
        self.dismiss()


class ThreadsScreen(FoundScreen):
    """Everybody a handle wrote with, who wrote last first."""

    def __init__(self, desk: Desk, owner: str) -> None:
        super().__init__(desk)
        self._owner = owner
        self._threads: dict[str, list[str]] = {}
        """The messages with each peer, the newest first."""

    def owner(self) -> str:
        """Return whose they are."""
        return self._owner

    def command(self) -> Search:
        """Return the search for its own inbox and for what it sent."""
        return Search(owner=self._owner)

    def order(self) -> list[str]:
        """Return the peers."""
        self._threads = {}
        for key in super().order():
            self._threads.setdefault(peer_of(self._letters[key], self._owner), []).append(key)
        return list(self._threads)

    def letter_of(self, key: str) -> Letter | None:
        """Return the newest message with a peer."""
        thread = self._threads.get(key)
        return self._letters.get(thread[0]) if thread else None

    def pieces(self, letter: Letter, width: int) -> tuple[Piece, ...]:
        """Return the line of a peer: how much is new, who, how many messages, how the last one begins."""
        peer = peer_of(letter, self._owner)
        thread = [self._letters[key] for key in self._threads.get(peer, ())]
        new = sum(one.inbox == self._owner and not one.opened for one in thread)
        _, who, text, *rest = super().pieces(letter, width - 5)
        return (
            Piece(show.fit(show.NEW if new else "", 2), "count"),
            Piece(show.fit(show.plain(peer), show.width(who.text)), "strong" if new else ""),
            Piece(show.fit_right(f"{len(thread):,}", 5), "count" if new else "dim"),
            text,
            *rest,
        )

    def signs(self) -> tuple[tuple[str, str], ...]:
        """Return what the sign and the number of a thread mean."""
        return ((show.NEW, "something in it is new"), ("a number", "how many messages it has, both ways"))

    def say_title(self) -> None:
        """Say whose threads, and how many."""
        count = len(self._threads)
        self.entitle(f"threads of {self._owner}", f"{count:,} peer{'' if count == 1 else 's'}")

    def action_open_letter(self) -> None:
        """Open the thread with the selected peer."""
        peer = self.piece("index", Lines).selected
        if peer is None:
            return
        letters = [self._letters[key] for key in self._threads[peer]]
        self.app.push_screen(ThreadScreen(self.desk, self._owner, peer, letters))

    def action_threads(self) -> None:
        """Go back."""
        self.dismiss()


class ThreadScreen(FoundScreen):
    """What was said with one peer, both ways, the newest last."""

    def __init__(self, desk: Desk, owner: str, peer: str, letters: list[Letter]) -> None:
        super().__init__(desk)
        self._owner, self._peer = owner, peer
        self._letters = {_key(letter): letter for letter in letters}

    def owner(self) -> str:
        """Return whose it is."""
        return self._owner

    def command(self) -> Search:
        """Return the search for the owner's own inbox and for what it sent."""
        return Search(owner=self._owner)

    def begin(self) -> None:
        """Show what is known already."""
        self._searched_at, self._searched_for = self.desk.now(), self.desk.fleet.mail
        self._show_found()
        index = self.piece("index", Lines)
        if index.keys:
            index.select(index.keys[-1])
            index.repaint()

    def order(self) -> list[str]:
        """Return the messages with the peer, the newest last."""
        with_peer = [key for key in super().order() if peer_of(self._letters[key], self._owner) == self._peer]
        return with_peer[::-1]

    def say_title(self) -> None:
        """Say with whom, and how much."""
        count = len(self.piece("index", Lines).keys)
        self.entitle(f"{self._owner} ↔ {self._peer}", f"{count:,} message{'' if count == 1 else 's'}")

    def who(self, letter: Letter) -> str:
        """Return the peer, or an arrow to it."""
        return letter.sender if letter.inbox == self._owner else f"→ {self._peer}"

    def action_threads(self) -> None:
        """Go back."""
        self.dismiss()


def peer_of(letter: Letter, owner: str) -> str:
    """Return with whom a message belongs, from the side of a handle."""
    if letter.inbox != owner:
        return letter.inbox
    return letter.sender or "no sender"


def _key(letter: Letter) -> str:
    return f"{letter.inbox}/{letter.line}/{letter.mark}"


def _newest_first(letter: Letter) -> tuple[float, str, int]:
    return (-(seconds_of(letter.at) or 0.0), letter.inbox, -letter.line)
