"""A program that puts a finished turn into one sentence, run once, bounded, and believed only as far as it can be.

Contract, Failure semantics: composition "is daemon-only and attempted at most once per accepted reliable completion. It
cannot alter eligibility or urgency. Helper failure uses captured assistant text". Time and output are bounded, the
whole process group is ended, and what the push needs in secret is not in the program's environment. A failure is one of
a few fixed words; the program's own words are never logged.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from sot_tui.comm import jsonline
from sot_tui.notify import event as events, generated, text
from sot_tui.notify.delivery import BAD_CONFIGURATION, Words
from sot_tui.notify.labels import Plan, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sot_tui.comm.clock import Clock
    from sot_tui.notify.event import Event
    from sot_tui.notify.labels import Labels

COMPOSE_SECS = 15.0
"""One composition as a whole."""
OUTPUT_BYTES = 4096
"""What the program may say; the next byte ends it."""
CURRENT_BYTES = 120
"""A session's name as the program is told it."""

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
_KEYS = frozenset({"version", "ok", "body"})
_SECRET_PREFIXES = ("STEWARD_NTFY_", "LISTEN_")


class Model(NamedTuple):
    """Which program composes, and with what."""

    program: str
    provider: str
    id: str
    thinking: str


class Composed(NamedTuple):
    """A body, or why there is none."""

    body: str = ""
    label: str = ""
    """A new name for the session; empty when none came."""
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


def request(model: Model, event: Event, label: str = "", *, refresh: bool = False) -> bytes | None:
    """Return the one line that the program reads, or None for texts that are none; `label` is the session's so far."""
    try:
        event.user.encode("utf-8")
        event.assistant.encode("utf-8")
        if len(label.encode("utf-8")) > CURRENT_BYTES:
            return None
    except UnicodeEncodeError:
        return None
    user, assistant = text.shared(event.user, event.assistant)
    said = {
        "version": 1,
        "operation": "compose",
        "model": {"provider": model.provider, "id": model.id, "thinking": model.thinking},
        "input": {"user": user, "assistant": assistant},
        "label": {"current": label, "refresh": refresh},
    }
    line = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
    return line if len(line) <= 65536 else None


def answer(data: bytes, status: int, label: str = "", *, refresh: bool = False) -> Composed:
    """Return what the program's whole output says, given its exit status; anything unexpected is a failure.

    A name must not come unasked; asked for, it may stay away when there is one already, which then goes on.
    """
    said = _object(data)
    if said is None or type(said.get("version")) is not int or said["version"] != 1:
        return Composed(error=NO_PROTOCOL)
    if said.get("ok") is False and said.keys() == {"version", "ok", "error"} and status != 0:
        error = said["error"]
        return Composed(error=_SAID.get(error, NO_PROTOCOL) if isinstance(error, str) else NO_PROTOCOL)
    allowed = [_KEYS | {"label"}] if refresh else []
    if not refresh or label:
        allowed.append(_KEYS)
    if said.get("ok") is not True or said.keys() not in allowed or status != 0:
        return Composed(error=NO_PROTOCOL)
    body, given = said["body"], said.get("label", "")
    if not isinstance(body, str) or not isinstance(given, str):
        return Composed(error=NO_PROTOCOL)
    if not generated.is_body(body) or ("label" in said and not generated.is_label(given)):
        return Composed(error=NO_RESULT)
    return Composed(body, given)


def words_by(composer: Composer | None, labels: Labels) -> Callable[[Event], Words]:
    """Return what finds the words for an event; None stands for a composer set to what cannot be.

    Only a completion that is composed for is counted by the labels; whatever else happens merely looks them up.
    """

    def words(event: Event) -> Words:
        if event.kind != events.COMPLETION or composer is None:
            error = BAD_CONFIGURATION if event.kind == events.COMPLETION else ""
            try:
                return Words(labels.of(event), error=error)
            except Unavailable:
                return Words(error=error, labels_failed=True)
        failed = False
        try:
            plan = labels.plan(event)
        except Unavailable:
            plan, failed = Plan(), True
        got = composer.compose(event, plan.label, refresh=plan.refresh)
        label = plan.label
        if plan.refresh and not got.error:
            try:
                label = labels.finish(plan, got.label)
            except Unavailable:
                failed = True  # the push keeps the name that it had
        return Words(label, got.body, got.error, failed)

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

    def compose(self, event: Event, label: str = "", *, refresh: bool = False) -> Composed:
        """Return a body for a completion, and a name for its session when one is asked for, or why there is none."""
        line = request(self._model, event, label, refresh=refresh)
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
                said = self._talk(process, line, deadline)
                return said if isinstance(said, Composed) else answer(*said, label, refresh=refresh)
            except OSError:
                return Composed(error=FAILED)
            finally:
                with suppress(OSError):  # nobody of the group is left
                    os.killpg(process.pid, signal.SIGKILL)

    def _talk(self, process: subprocess.Popen[bytes], line: bytes, deadline: float) -> Composed | tuple[bytes, int]:
        """Return all that the program said and its exit status, or why it was ended."""
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
        return said, status


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
