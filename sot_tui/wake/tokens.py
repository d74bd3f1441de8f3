"""Cuts a program's output into text, controls and sequences, whatever the reads cut it into.

The grammar is the standard one (ECMA-48, as the VT500 parsers read it): parameter bytes, intermediates, one final byte;
ESC starts over, CAN and SUB cancel; DCS, SOS, PM, APC and OSC are swallowed to their end. What comes whole goes through
one regular expression; what is cut or odd goes through a machine with a state, one character at a time. Nothing raises,
no part of a sequence is text, no text is lost behind one, and what is kept of an unfinished one is bounded.
"""

from __future__ import annotations

import codecs
import re
from typing import Protocol

_TOKEN = re.compile(
    r"([^\x00-\x1f\x7f-\x9f]+)"  # 1: text
    r"|(\x1b\[[0-?]{0,240}[ -/]{0,15}[@-~])"  # 2: a control sequence, no longer than the machine takes one
    r"|\x1b\]([^\x00-\x1f\x7f]{0,4096})(\x07|\x1b\\)"  # 3, 4: a system command and its end
    r"|\x1b([()][0-9A-Z]|[0-9=>DEHMZcno|}~])"  # 5: a plain escape, or a character set chosen
    r"|([\x00-\x1a\x1c-\x1f])"  # 6: a control
    r"|(\x1b)"  # 7: what nothing above took, and the machine does
    r"|[\x7f-\x9f]+"  # DEL and C1, which as characters mean nothing
)
_SEQUENCE = re.compile(r"[0-?]*[ -/]*[@-~]")
_STRING_END = re.compile(r"[\x07\x18\x1a\x1b]")
_LONGEST_SEQUENCE = 256
"""Characters of a control sequence; a longer one is swallowed and means nothing."""
_LONGEST_STRING = 16384
"""Characters kept of a system command; a longer one is swallowed and means nothing."""

_STRINGS = {"P": "dcs", "X": "sos", "^": "pm", "_": "apc", "]": "osc", "k": "name"}
"""What opens a string; `k` is the window's name, as screen and tmux have it."""


class Sink(Protocol):
    """Who is told what was found."""

    def text(self, text: str) -> None:
        """Take printable text."""

    def control(self, char: str) -> None:
        """Take one C0 control."""

    def escape(self, sequence: str) -> None:
        """Take an escape sequence: its intermediates and its final character."""

    def sequence(self, sequence: str) -> None:
        """Take a whole control sequence, with its `ESC [`."""

    def command(self, payload: str, end: str) -> None:
        """Take a system command and what ended it."""


class Tokens:
    """The tokenizer, which knows where in a sequence the last read stopped."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._state = ""
        """Empty between sequences; else `esc`, `inter`, `csi`, `skip` (a sequence too long), or a string's kind."""
        self._kept: list[str] = []
        self._kept_length = 0

    def feed(self, data: bytes) -> None:
        """Take what was read, cut anywhere."""
        text = self._decode(data)
        sink = self._sink
        draw, sequence, control = sink.text, sink.sequence, sink.control
        at, end = 0, len(text)
        while at < end:
            if self._state:
                at = self._resume(text, at)
                continue
            for found in _TOKEN.finditer(text, at):
                kind = found.lastindex
                if kind == 2:
                    sequence(found[0])
                elif kind == 1:
                    draw(found[0])
                elif kind == 6:
                    control(found[0])
                elif kind == 4:
                    sink.command(found[3], found[4])
                elif kind == 5:
                    sink.escape(found[5])
                elif kind == 7:
                    self._open("esc")
                    at = found.end()
                    break
            else:
                return

    def _open(self, state: str) -> None:
        self._state = state
        self._kept.clear()
        self._kept_length = 0

    def _keep(self, text: str, most: int) -> bool:
        """Keep a piece of what is unfinished; say whether it is still short enough to mean anything."""
        self._kept_length += len(text)
        if self._kept_length > most:
            return False
        self._kept.append(text)
        return True

    def _resume(self, text: str, at: int) -> int:
        """Go on inside a sequence to its end or the text's; return where."""
        while self._state and at < len(text):
            if self._state in _STRINGS.values():
                at = self._string(text, at)
                continue
            char = text[at]
            if char >= "\x80":
                # No sequence holds such a character: it is text, and what came before it meant nothing.
                self._state = ""
                return at
            at += 1
            if char == "\x1b":
                self._open("esc")
            elif char in "\x18\x1a":
                self._state = ""
            elif char < " ":
                self._sink.control(char)
            elif char != "\x7f":
                self._step(char)
        return at

    def _step(self, char: str) -> None:
        """Take one printable character inside a sequence."""
        if self._state in {"csi", "skip"}:
            within = self._keep(char, _LONGEST_SEQUENCE)
            if "@" <= char <= "~":
                self._state = ""
                whole = "".join(self._kept)
                if within and _SEQUENCE.fullmatch(whole):
                    self._sink.sequence(f"\x1b[{whole}")
            return
        if self._state == "esc" and char in _STRINGS:
            self._open(_STRINGS[char])
        elif self._state == "esc" and char == "[":
            self._open("csi")
        elif char < "0":
            self._state = "inter"
            self._keep(char, _LONGEST_SEQUENCE)
        else:
            self._state = ""
            if self._keep(char, _LONGEST_SEQUENCE):
                self._sink.escape("".join(self._kept))

    def _string(self, text: str, at: int) -> int:
        """Swallow a string's payload to its end or the text's; return where."""
        is_command = self._state == "osc"
        found = _STRING_END.search(text, at)
        stop = found.start() if found else len(text)
        if is_command:
            self._keep(text[at:stop], _LONGEST_STRING)
        if not found:
            return stop
        end = found[0]
        if end == "\x07" and not is_command:
            return found.end()  # no end of any other string
        if is_command and end in "\x07\x1b" and self._kept_length <= _LONGEST_STRING:
            self._sink.command("".join(self._kept), end)
        self._open("esc" if end == "\x1b" else "")
        return found.end()
