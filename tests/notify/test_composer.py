"""Reference, section 8, behaviours B71 to B76: real programs that compose, hang, lie and flood."""

from __future__ import annotations

import json
import os
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm.clock import SystemClock
from sot_tui.comm.home import home_here
from sot_tui.notify import composer as composers
from sot_tui.notify.composer import Composed, Composer, Model, answer, configured, request, words_by
from sot_tui.notify.delivery import Words
from sot_tui.notify.generated import is_body, is_label
from sot_tui.notify.labels import Labels
from tests.notify.pieces import ASKED, PI_TURN, program

if TYPE_CHECKING:
    from pathlib import Path

GOOD = b'{"version":1,"ok":true,"body":"Tests pass."}\n'


def composed(model: Model, limit: float = 30) -> Composed:
    return Composer(model, os.environ, SystemClock(), limit).compose(PI_TURN)


def test_b71_configuration_when_variables_are_set_then_they_count_and_empty_ones_are_errors(tmp_path: Path) -> None:
    assert configured({}) == Model("steward-pi-helper", "openai-codex", "gpt-5.6-luna", "low")
    legacy = {"STEWARD_PI_HELPER": "x", "STEWARD_PI_MODEL": "y", "ANTHROPIC_SMALL_FAST_MODEL": "z"}
    assert configured(legacy) == configured({})
    said = {"HELPER_BIN": "/h", "MODEL_PROVIDER": "p", "MODEL_ID": "m", "MODEL_THINKING": "max"}
    assert configured({f"STEWARD_{name}": value for name, value in said.items()}) == Model("/h", "p", "m", "max")
    assert configured({"STEWARD_HELPER_BIN": "a\nb"}) is None
    for name in ("HELPER_BIN", "MODEL_PROVIDER", "MODEL_ID", "MODEL_THINKING"):
        assert configured({f"STEWARD_{name}": ""}) is None
    assert configured({"STEWARD_MODEL_THINKING": "most"}) is None
    assert configured({"STEWARD_MODEL_ID": "月" * 85 + "x"})
    assert configured({"STEWARD_MODEL_ID": "月" * 86}) is None
    words = words_by(None, Labels(home_here(), str(tmp_path / "base")))
    assert words(PI_TURN) == Words(error="invalid configuration")
    assert words(ASKED) == Words()
    assert not (tmp_path / "base").exists()


def test_b72_request_when_a_program_reads_it_then_the_exact_line_and_no_argument(tmp_path: Path) -> None:
    """Contract, Failure semantics: "attempted at most once per accepted reliable completion"."""
    code = f"open({str(tmp_path / 'got')!r}, 'ab').write(sys.stdin.buffer.read() + repr(sys.argv[1:]).encode())\n"
    assert composed(program(tmp_path, f"{code}sys.stdout.buffer.write({GOOD!r})")) == Composed("Tests pass.")
    assert (tmp_path / "got").read_bytes() == (
        b'{"version":1,"operation":"compose","model":{"provider":"p","id":"m","thinking":"low"},'
        b'"input":{"user":"user","assistant":"assistant"},"label":{"current":"","refresh":false}}\n[]'
    )


def test_b72_request_when_a_name_is_asked_for_then_the_one_so_far_goes_along(tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'got')!r}, 'ab').write(sys.stdin.buffer.read())\n"
    model = program(tmp_path, f"{code}sys.stdout.buffer.write({GOOD!r})")
    got = Composer(model, os.environ, SystemClock(), 30).compose(PI_TURN, "Fix the parser", refresh=True)
    assert got == Composed("Tests pass.")
    assert (tmp_path / "got").read_bytes().endswith(b',"label":{"current":"Fix the parser","refresh":true}}\n')


def test_environment_when_the_program_looks_then_the_secrets_of_the_push_are_not_there(tmp_path: Path) -> None:
    code = "import json\nwords = '-'.join(name for name in os.environ if name.startswith(('STEWARD', 'LISTEN')))\n"
    model = program(tmp_path, code + "print(json.dumps({'version': 1, 'ok': True, 'body': words}))")
    secrets = {"STEWARD_NTFY_URL": "u", "STEWARD_NTFY_TOKEN_FILE": "t", "LISTEN_FDS": "1", "STEWARD_KEPT": "k"}
    writer = Composer(model, {**os.environ, **secrets}, SystemClock(), 30)
    assert writer.compose(PI_TURN) == Composed("STEWARD_KEPT")


def test_b73_request_when_a_text_is_none_then_the_program_is_not_started(tmp_path: Path) -> None:
    assert request(Model("x", "p", "m", "low"), PI_TURN._replace(user="\ud800")) is None
    model = program(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')")
    got = Composer(model, {}, SystemClock()).compose(PI_TURN._replace(user="\ud800"))
    assert got == Composed(error="invalid compose request")
    assert Composer(model, {}, SystemClock()).compose(PI_TURN, "L" * 121).error == "invalid compose request"
    assert request(model, PI_TURN, "月" * 40)
    assert not (tmp_path / "ran").exists()


def said(**changed: object) -> bytes:
    return json.dumps({"version": 1, "ok": True, "body": "x", **changed}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (GOOD[:-1], 0),
        (GOOD + b"\n", 0),
        (GOOD[:-1] + GOOD, 0),
        (said(more=1), 0),
        (GOOD.replace(b'"body"', b'"body":"x","body"'), 0),
        (said(version=2), 0),
        (said(version=1.0), 0),
        (said(version=None), 0),
        (said(ok="true"), 0),
        (said(ok=None), 0),
        (said(body=None), 0),
        (said(label="One two three"), 0),
        (b'{"version":1,"ok":true}\n', 0),
        (said(body="\ud800"), 0),
        (GOOD, 1),
        (b'{"version":1,"ok":false,"error":"timeout"}\n', 0),
        (b'{"version":1,"ok":false,"error":"else"}\n', 1),
        (b'{"version":1,"ok":false,"error":[]}\n', 1),
        (b"", 0),
    ],
)
def test_b74_answer_when_it_is_not_exactly_one_then_a_failure(data: bytes, status: int) -> None:
    assert answer(data, status) == Composed(error="invalid helper protocol")


@pytest.mark.parametrize("body", ["", " \ufeff", "x" * 181, "月" * 181, "a\nb", "a\tb", "a\u202eb", "# x", "**x**"])
def test_b74_answer_when_its_body_cannot_be_shown_then_a_failure(body: str) -> None:
    assert answer(said(body=body), 0) == Composed(error="invalid compose result")


def test_answer_when_it_is_one_then_its_body_or_its_fixed_word() -> None:
    assert answer(GOOD, 0) == Composed("Tests pass.")
    assert answer(b'{"version":1,"ok":false,"error":"unavailable_model"}\n', 1).error == "helper model unavailable"


@pytest.mark.parametrize(
    ("more", "label", "refresh", "got"),
    [
        ({"label": "Fix the parser"}, "", True, Composed("x", "Fix the parser")),
        ({"label": "Fix the new parser"}, "Fix the parser", True, Composed("x", "Fix the new parser")),
        ({}, "Fix the parser", True, Composed("x")),
        ({}, "Fix the parser", False, Composed("x")),
        ({}, "", False, Composed("x")),
        ({}, "", True, Composed(error="invalid helper protocol")),
        ({"label": "Fix the parser"}, "", False, Composed(error="invalid helper protocol")),
        ({"label": "Fix the parser"}, "Fix the parser", False, Composed(error="invalid helper protocol")),
        ({"label": None}, "Fix the parser", True, Composed(error="invalid helper protocol")),
        ({"label": 7}, "", True, Composed(error="invalid helper protocol")),
    ],
)
def test_b76_answer_when_a_name_is_asked_for_or_not_then_it_comes_only_where_it_may(
    more: dict[str, object], label: str, refresh: bool, got: Composed
) -> None:
    assert answer(said(**more), 0, label, refresh=refresh) == got


@pytest.mark.parametrize(
    "label",
    [
        "Two words",
        "one two three four five",
        "KEEP",
        "",
        " ",
        "月" * 19 + " a bcd",
        "a b **c**",
        "a b\tc",
        "a b \u202ec",
    ],
)
def test_b76_answer_when_the_name_is_none_then_a_failure(label: str) -> None:
    assert answer(said(label=label), 0, "Fix the parser", refresh=True) == Composed(error="invalid compose result")


def test_label_when_at_its_limit_then_it_is_one() -> None:
    assert is_label("月" * 18 + " a bcd")
    assert is_label("a  b\u3000c d")
    assert not is_label("月" * 19 + " a b")


@pytest.mark.parametrize(
    "body",
    [
        "task_id",
        "x*y",
        "see #123",
        "<identifier>",
        "~1",
        "~~ open",
        "🚢 \u200d",
        "月" * 180,
        "a < b > c",
        "-x",
        "May 5. is",
    ],
)
def test_body_when_it_only_looks_like_markup_then_plain(body: str) -> None:
    assert is_body(body)


@pytest.mark.parametrize(
    "body",
    [
        "```x", "a `b` c", "## x", "- x", "1. x", "1) x", "*a*", "say **a b**.", "_a_", "(~~a~~)", "[a](b)", "> x",
        "---",
        "* * *", "    x", "<https://x>", "<a@b.c>", "\u061cx",
    ],
)  # fmt: skip
def test_body_when_it_has_markup_then_not_plain(body: str) -> None:
    assert not is_body(body)


def test_b75_program_when_missing_then_unavailable() -> None:
    assert composed(Model("no-such-program-here", "p", "m", "low")) == Composed(error="helper unavailable")


def test_b75_program_when_it_hangs_then_it_and_its_children_are_ended(tmp_path: Path) -> None:
    # A child that holds the pipe open, as the program does: both have to go before the pipe ends.
    model = program(tmp_path, "os.fork()\nimport signal\nsignal.pause()")
    launch = tmp_path / "launch"
    launch.write_text(f'#!/bin/sh\nexec 9>"{tmp_path}/held"\nexec "{model.program}"\n')
    launch.chmod(0o755)
    os.mkfifo(tmp_path / "held")
    holder = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert composed(model._replace(program=str(launch)), limit=1) == Composed(error="helper timed out")
        os.set_blocking(holder, True)
        assert os.read(holder, 1) == b""  # nobody has it open any more
    finally:
        os.close(holder)


def test_b75_composer_when_canceled_then_what_runs_ends_and_nothing_starts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ran")
    code = f"open({str(tmp_path / 'ran')!r}, 'w').close()\nimport signal\nsignal.pause()"
    model = program(tmp_path, code)
    writer = Composer(model, os.environ, SystemClock(), 30)
    got: list[Composed] = []
    thread = Thread(target=lambda: got.append(writer.compose(PI_TURN)))
    thread.start()
    with open(tmp_path / "ran", encoding="utf-8") as ran:
        ran.read()  # it has started
    writer.cancel()
    thread.join(30)
    assert got == [Composed(error="helper canceled")]
    assert writer.compose(PI_TURN) == Composed(error="helper canceled")
    writer.cancel()


@pytest.mark.parametrize(
    "code", ["sys.stdout.write('x' * 99999)", "os.write(1, b'x' * 4097)\nimport signal\nsignal.pause()"]
)
def test_program_when_it_floods_then_it_is_ended_at_once(tmp_path: Path, code: str) -> None:
    assert composers.OUTPUT_BYTES == 4096
    assert composed(program(tmp_path, code)) == Composed(error="invalid helper protocol")


def test_program_when_it_never_reads_then_its_answer_counts(tmp_path: Path) -> None:
    assert composed(program(tmp_path, f"sys.stdout.buffer.write({GOOD!r})")) == Composed("Tests pass.")
