"""A line of an inbox as a letter: how it stands to the inbox's handle, and what is known of it.

Contract, Message frame: `to` equal to the handle is directed mail, "" is a broadcast copy, anything else is shown and
never counted, and so is what is no message at all. Of a long text only the beginning goes along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sot_tui.comm import cursor, frames
from sot_tui.comm.text import visible_lines
from sot_tui.engine.client import HEAD_CHARS, Kind, Letter

if TYPE_CHECKING:
    from sot_tui.comm.frames import Frame
    from sot_tui.engine.desk_store import DeskStore


def letter_of(store: DeskStore, inbox: str, number: int, line: bytes, *, read: bool) -> Letter:
    """Return line `number` of an inbox as a letter."""
    frame = frames.parse_line(line)
    mark = cursor.line_hash(line)
    opened = store.is_opened(inbox, number, mark)
    if frame is None:
        text = line.decode("utf-8", "replace")
        return Letter(
            number, Kind.UNPARSED, "", "", "", text[:HEAD_CHARS], "", read, inbox, mark, len(text), opened=opened
        )
    return Letter(
        number,
        kind_of(frame, inbox),
        frame.sender,
        frame.to or "",
        frame.repo,
        frame.msg[:HEAD_CHARS],
        frame.ts,
        read,
        inbox,
        mark,
        len(frame.msg),
        opened=opened,
    )


def kind_of(frame: Frame, inbox: str) -> Kind:
    """Return how a message stands to the handle whose inbox it lies in."""
    if frame.to == "":
        return Kind.BROADCAST
    return Kind.DIRECTED if frame.to == inbox and frame.sender != inbox else Kind.OTHER


def text_of(line: bytes) -> str:
    """Return the whole text of a line, as it stands when it is no message."""
    frame = frames.parse_line(line)
    return line.decode("utf-8", "replace") if frame is None else frame.msg


def for_an_editor(letter: Letter, text: str) -> str:
    """Return a message as the text of a file: made visible, for an editor may hand its bytes on to the terminal."""
    told = [
        ("from", f"{letter.sender} ({letter.repo})" if letter.repo else letter.sender),
        ("to", letter.to or ("all" if letter.kind is Kind.BROADCAST else "not said")),
        ("sent", letter.at),
        ("inbox", f"{letter.inbox}, line {letter.line}"),
    ]
    head = "\n".join(f"{label + ':':7}{visible_lines(said)}" for label, said in told)
    return f"{head}\n\n{visible_lines(text, 4 * len(text) + 1)}\n"
