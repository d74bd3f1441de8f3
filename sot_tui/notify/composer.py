"""A program that puts a finished turn into one sentence, run once, bounded, and believed only as far as it can be.

Contract, Failure semantics: composition "is daemon-only and attempted at most once per accepted reliable completion. It
cannot alter eligibility or urgency. Helper failure uses captured assistant text". Time and output are bounded, the
whole process group is ended, and what the push needs in secret is not in the program's environment. A failure is one of
a few fixed words; the program's own words are never logged.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import jsonline
from sot_tui.notify import event as events, text
from sot_tui.notify.delivery import BAD_CONFIGURATION, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sot_tui.comm.clock import Clock
    from sot_tui.notify.event import Event

COMPOSE_SECS = 15.0
"""One composition as a whole."""
OUTPUT_BYTES = 4096
"""What the program may say; the next byte ends it."""
BODY_CHARS = 180
"""Code points of a composed body."""

THINKING = ("minimal", "low", "medium", "high", "xhigh", "max")
NO_REQUEST = "invalid compose request"
UNAVAILABLE = "helper unavailable"
FAILED = "helper execution failed"
TIMED_OUT = "helper timed out"
CANCELED = "helper canceled"
NO_PROTOCOL = "invalid helper protocol"
NO_RESULT = "invalid compose result"

_SAID = {
    "invalid_request": "helper rejected request",
    "unavailable_model": "helper model unavailable",
    "generation_failed": "helper generation failed",
    "timeout": "helper reported timeout",
    "invalid_output": "helper output invalid",
}
_SECRET_PREFIXES = ("STEWARD_NTFY_", "LISTEN_")
_BLANK = text.WHITE + "\ufeff"
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_OPENS, _CLOSES = r"(?:^|(?<=[\s(\[{\"']))", r"(?=$|[\s)\]},.!?;:'\"])"
_MARKUP = tuple(
    re.compile(rule)
    for rule in (
        r"^\s{0,3}(?:```|~~~|>)",
        r"`[^`]+`",
        r"^\s{0,3}(?:#{1,6}(?:[ \t]|$)|[-+*][ \t]|[0-9]+[.)][ \t])",
        *(
            rf"{_OPENS}{mark}[^\s{each}](?:.*[^\s{each}])?{mark}{_CLOSES}"
            for mark, each in ((r"\*{1,3}", r"*"), (r"_{1,3}", "_"), ("~~", "~"))
        ),
        r"\[[^\]]+\]\([^)]+\)",
        r"^ *(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$",
        r"^(?: {4,}|\t)\S",
        r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\s]*>",
        r"<[^<>\s@]+@[^<>\s@]+\.[^<>\s@]+>",
    )
)


class Model(NamedTuple):
    """Which program composes, and with what."""

    program: str
    provider: str
    id: str
    thinking: str


class Composed(NamedTuple):
    """A body, or why there is none."""

    body: str = ""
    error: str = ""


def configured(environ: Mapping[str, str]) -> Model | None:
    """Return what the variables name, or None when one of them is set to what cannot be; unset ones have a default."""
    program = environ.get("STEWARD_HELPER_BIN", "steward-pi-helper")
    provider = environ.get("STEWARD_MODEL_PROVIDER", "openai-codex")
    name = environ.get("STEWARD_MODEL_ID", "gpt-5.6-luna")
    thinking = environ.get("STEWARD_MODEL_THINKING", "low")
    is_program = bool(program) and events.is_metadata(program, events.CWD_BYTES)
    if not (is_program and events.is_identifier(provider) and events.is_identifier(name) and thinking in THINKING):
        return None
    return Model(program, provider, name, thinking)


def request(model: Model, event: Event) -> bytes | None:
    """Return the one line that the program reads, or None for texts that are none."""
    try:
        event.user.encode("utf-8")
        event.assistant.encode("utf-8")
    except UnicodeEncodeError:
        return None
    user, assistant = text.shared(event.user, event.assistant)
    said = {
        "version": 1,
        "operation": "compose",
        "model": {"provider": model.provider, "id": model.id, "thinking": model.thinking},
        "input": {"user": user, "assistant": assistant},
        "label": {"current": "", "refresh": False},
    }
    line = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
    return line if len(line) <= 65536 else None


def is_plain(body: str) -> bool:
    """Tell whether a body is one readable line: no control, nothing that turns the text, no markup."""
    if not body.strip(_BLANK) or len(body) > BODY_CHARS or text.has_control(body) or set(body) & _TURNING:
        return False
    return not any(rule.search(body) for rule in _MARKUP)


def answer(data: bytes, status: int) -> Composed:
    """Return what the program's whole output says, given its exit status; anything unexpected is a failure."""
    said = _object(data)
    if said is None or type(said.get("version")) is not int or said["version"] != 1:
        return Composed(error=NO_PROTOCOL)
    if said.get("ok") is False and said.keys() == {"version", "ok", "error"} and status != 0:
        error = said["error"]
        return Composed(error=_SAID.get(error, NO_PROTOCOL) if isinstance(error, str) else NO_PROTOCOL)
    body = said.get("body")
    if said.get("ok") is not True or said.keys() != {"version", "ok", "body"} or status != 0:
        return Composed(error=NO_PROTOCOL)
    if not isinstance(body, str):
        return Composed(error=NO_PROTOCOL)
    return Composed(body=body) if is_plain(body) else Composed(error=NO_RESULT)


def words_by(composer: Composer | None) -> Callable[[Event], Words]:
    """Return what finds the words for an event; None stands for a composer set to what cannot be."""

    def words(event: Event) -> Words:
        if event.kind != events.COMPLETION:
            return Words()
        if composer is None:
            return Words(error=BAD_CONFIGURATION)
        return Words("", *composer.compose(event))

    return words


class Composer:
    """Runs the program for one completion at a time in each thread; `cancel` ends all of them, for good."""

    def __init__(self, model: Model, environ: Mapping[str, str], clock: Clock, limit: float = COMPOSE_SECS) -> None:
        self._model = model
        self._environ = {name: value for name, value in environ.items() if not name.startswith(_SECRET_PREFIXES)}
        self._clock = clock
        self._limit = limit
        # Its other end closed, the pipe wakes every composition at once, and those that begin later.
        self._canceled, self._cancel = os.pipe()
        self._is_canceled = False

    def cancel(self) -> None:
        """End what runs, and start nothing any more."""
        if not self._is_canceled:
            self._is_canceled = True
            os.close(self._cancel)

    def compose(self, event: Event) -> Composed:
        """Return a body for a completion, or why there is none."""
        line = request(self._model, event)
        if line is None:
            return Composed(error=NO_REQUEST)
        if self._is_canceled:
            return Composed(error=CANCELED)
        deadline = self._clock.monotonic() + self._limit
        try:
            process = subprocess.Popen(
                [self._model.program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environ,
                start_new_session=True,  # a group of its own, which can be ended as a whole
            )
        except FileNotFoundError:
            return Composed(error=UNAVAILABLE)
        except (OSError, ValueError):
            return Composed(error=FAILED)
        with process:
            try:
                return self._talk(process, line, deadline)
            except OSError:
                return Composed(error=FAILED)
            finally:
                with suppress(OSError):  # nobody of the group is left
                    os.killpg(process.pid, signal.SIGKILL)

    def _talk(self, process: subprocess.Popen[bytes], line: bytes, deadline: float) -> Composed:
        assert process.stdin is not None  # noqa: S101  (both are pipes, as asked for above)
        assert process.stdout is not None  # noqa: S101
        into, out = process.stdin.fileno(), process.stdout.fileno()
        for end in (into, out):
            os.set_blocking(end, False)
        poll = select.poll()
        poll.register(self._canceled, select.POLLIN)
        poll.register(into, select.POLLOUT)
        poll.register(out, select.POLLIN)
        left, said = line, b""
        while True:
            remaining = deadline - self._clock.monotonic()
            ready = dict(poll.poll(max(0, int(remaining * 1000) + 1))) if remaining > 0 else {}
            if self._canceled in ready:
                return Composed(error=CANCELED)
            if remaining <= 0:
                return Composed(error=TIMED_OUT)
            if into in ready:
                left = _written(into, left)
                if not left:
                    poll.unregister(into)
                    process.stdin.close()
            if out in ready:
                part = os.read(out, OUTPUT_BYTES + 1)
                said += part
                if len(said) > OUTPUT_BYTES:
                    return Composed(error=NO_PROTOCOL)
                if not part:
                    break
        try:
            status = process.wait(max(0.0, deadline - self._clock.monotonic()))
        except subprocess.TimeoutExpired:
            return Composed(error=TIMED_OUT)
        return answer(said, status)


def _written(descriptor: int, data: bytes) -> bytes:
    """Return what is left to write; a program that does not read is no fault yet, it may have answered already."""
    try:
        return data[os.write(descriptor, data) :]
    except BrokenPipeError:
        return b""
    except BlockingIOError:
        return data


def _object(data: bytes) -> dict[str, Any] | None:
    if data.find(b"\n") != len(data) - 1:
        return None
    try:
        return jsonline.decode_object(data, unique_keys=True)
    except jsonline.NotStrict:
        return None
