"""Every verb against everything that can be wrong: one sentence, the right code, no traceback, and an end.

The rows are the verbs, the columns what is wrong with the words, the streams, the input, the comm home or the disk.
Each cell is a real process; what is particular to one verb stands in that verb's own tests.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sot_tui import cli
from tests.e2e.box import COMMAND, Box

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

WORDS: dict[str, list[str]] = {
    "send": ["@beta-box", "hi"],
    "relay": ["send", "@beta-box", "hi"],
    "explain": ["@beta-box"],
    "status": ["working", "x"],
    "hook": ["prompt"],
    "hooks": ["status"],
    "despawn": ["alpha"],
    "probe": ["one"],
    "worktree-new": ["one"],
}
"""What a verb is given that needs words."""
VERBS = [verb for verb in cli.VERBS if verb not in {"notifyd", "web"}]
"""Every verb that ends by itself; the two that serve until they are told to stop have tests of their own."""
CODES = {0, 1, 2, 3, 75}
"""The table of exit codes; the reader of no stream here goes away in the middle, which would be 141."""
AT_ONCE = 8
INPUT = b'{"prompt":"x"}'
OTHER_UID = 65534


class Ran(NamedTuple):
    verb: str
    code: int
    out: bytes
    err: bytes


def run(box: Box, verb: str, words: list[str | bytes], given: bytes = INPUT, around: tuple[str, ...] = ()) -> Ran:
    ran = subprocess.run(
        [*around, COMMAND, verb, *words], cwd=box.work, env=box.env, input=given, capture_output=True, check=False,
        timeout=50,
    )  # fmt: skip
    return Ran(verb, ran.returncode, ran.stdout, ran.stderr)


def run_all(box: Box, words: list[str | bytes] | None = None, **more: object) -> list[Ran]:
    """Run every verb, with its own words unless some are given."""

    def one(verb: str) -> Ran:
        return run(box, verb, [*WORDS.get(verb, [])] if words is None else words, **more)  # type: ignore[arg-type]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, VERBS))


def check(ran: Ran, *, heard: bool = True) -> None:
    """Check what holds of every cell; `heard` says that stderr could be written."""
    assert ran.code in CODES, ran
    for stream in (ran.out, ran.err):
        assert b"Traceback" not in stream, ran
        assert b"a fault in this program" not in stream, ran
    assert ran.verb != "hook" or ran.code in {0, 1}, ran  # 2 would hold the agent up
    if heard and ran.code:
        assert ran.err.strip() or ran.out.strip(), ran
    # A wrong word brings the usage after its sentence, a self file its own line before it, a check one for each thing.
    said = [line for line in ran.err.splitlines() if not line.startswith(b"comm-context: ")]
    assert ran.code == 2 or len(said) <= 1 or ran.verb in {"doctor", "worktree-clean"}, ran


@pytest.fixture
def full(joined: Box) -> Box:
    """Return a box whose session stands in a repository, and waits for no lock."""
    joined.env |= {"SOT_LOCK_WAIT_SECS": "0.2", "SOT_SEND_TIMEOUT": "1", "SOT_INBOX_READ_WAIT_SECS": "0.2"}
    git = ["git", "-C", str(joined.work), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    return joined


WRONG: dict[str, list[str | bytes]] = {
    "an option that is none": ["--bogus"],
    "too many": ["a", "b", "c", "d"],
    "an empty one": [""],
    "no UTF-8": [b"\xff\xfe"],
    "a terminal's own language": ["\x1b[31m\x9b"],
    "a hundred thousand letters": ["x" * 100_000],
    "a handle that is none": ["@.."],
    "a handle of 70 letters": ["@" + "h" * 70],
}


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG)
def test_verbs_when_their_words_are_wrong_then_one_sentence_and_the_code(full: Box, words: list[str | bytes]) -> None:
    before = full.comm.joinpath("registry.json").read_bytes()
    for ran in run_all(full, words):
        check(ran)
        # What an agent's hook runs ends well whatever it is given, but for an option that is none.
        assert ran.code in {1, 2} or (ran.verb, ran.code) == ("notify", 0), ran
        # The companion of the notifier answers even that as one JSON line.
        assert ran.out == b"" or ran.verb in {"despawn", "explain", "session-metadata"}, ran
    assert full.comm.joinpath("registry.json").read_bytes() == before


def test_verbs_when_asked_for_help_then_examples_first_and_exit_0(full: Box) -> None:
    for ran in run_all(full, ["--help"]):
        assert (ran.code, ran.err) == (0, b""), ran
        assert ran.out.startswith(b"Examples:\n"), ran
        assert b"\nUsage: sot-tui " + ran.verb.encode() in ran.out, ran


STREAMS = {
    "stdin closed": "<&-",
    "stdout closed": ">&-",
    "stderr closed": "2>&-",
    "all closed": "<&- >&- 2>&-",
    "stdout full": ">/dev/full",
    "stderr full": "2>/dev/full",
    "both full": ">/dev/full 2>/dev/full",
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is Linux's")
@pytest.mark.parametrize("streams", STREAMS.values(), ids=STREAMS)
def test_verbs_when_a_stream_is_closed_or_full_then_they_end_well(full: Box, streams: str) -> None:
    for ran in run_all(full, around=("sh", "-c", f'exec "$@" {streams}', "sh")):
        check(ran, heard="2>" not in streams)
        if ran.verb in {"poll", "list", "context", "info", "doctor"} and ">&-" in streams.replace("2>&-", ""):
            assert ran.code == 1, ran  # what was asked for could not be shown


GIVEN = {"nothing": b"", "NULs": b"\0" * 100_000, "no UTF-8": b"\xff" * 1000, "ten megabytes": b"x" * 10_000_000}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_verbs_when_stdin_holds_anything_then_they_end_well(full: Box, given: bytes) -> None:
    for ran in run_all(full, given=given):
        check(ran)


# -- the comm home ----------------------------------------------------------------------------------------------------


def in_place_of(name: str, data: bytes | None) -> Callable[[Box], None]:
    """Return what puts bytes in the place of a file of the comm home, or a folder for None."""

    def put(box: Box) -> None:
        path = box.comm / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data)

    return put


def a_pipe(box: Box) -> None:
    path = box.comm / "registry.json"
    path.unlink()
    os.mkfifo(path)


ODD_KINDS = {
    "alpha-box": [1],
    "beta-box": {"root": 7, "last_seen": 9, "host": {}, "workspace_id": []},
    "": {},
    "x\ny": 0,
}
HOMES: dict[str, Callable[[Box], None]] = {
    "no registry": lambda box: box.comm.joinpath("registry.json").unlink(),
    "a registry of garbage": in_place_of("registry.json", b"\0\xff{"),
    "an empty registry": in_place_of("registry.json", b""),
    "a folder for a registry": in_place_of("registry.json", None),
    "a pipe for a registry": a_pipe,
    "a registry of 5000 levels": in_place_of("registry.json", b'{"agents":' + b'{"a":' * 5000 + b"1" + b"}" * 5001),
    "a registry of other kinds": in_place_of(
        "registry.json", json.dumps({"protocol_version": [], "agents": ODD_KINDS}).encode()
    ),
    "a self file of garbage": in_place_of("self/box__nopane.txt", b"\xff\0\n" * 100),
    "a folder for a self file": in_place_of("self/box__nopane.txt", None),
    "a folder for an inbox": in_place_of("inbox/alpha-box.jsonl", None),
    "an inbox of garbage": in_place_of("inbox/alpha-box.jsonl", b'\xff\0{"to":"alpha-box","msg":"\\ud800"}\n[[[\ntail'),
    "a cursor of garbage": in_place_of("read/alpha-box.cursor", b"9" * 3000 + b"\0\xff"),
    "a lock that is a folder": in_place_of(".registry.lock", None),
    "a lock of garbage": in_place_of(".registry.lock", b"\xff\0"),
    "a record of garbage": in_place_of("inbox-lock-manager", b"\xff\0\n" * 10),
    "a file for the scratch folder": in_place_of("state", b""),
}


@pytest.mark.parametrize("spoil", HOMES.values(), ids=HOMES)
def test_verbs_when_the_comm_home_holds_anything_then_they_end_well(full: Box, spoil: Callable[[Box], None]) -> None:
    spoil(full)
    for ran in run_all(full):
        check(ran)
        assert ran.verb != "hook" or (ran.code, ran.out) == (0, b""), ran


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run the verbs as an account that may not write")
@pytest.mark.parametrize("mode", [0o555, 0o000], ids=oct)
def test_verbs_when_the_comm_home_may_not_be_written_or_read_then_they_say_so(full: Box, mode: int) -> None:
    below = [full.comm.parent, *full.comm.parent.rglob("*")]
    for path in below:
        os.chown(path, OTHER_UID, OTHER_UID)
    os.chown(full.comm, 0, 0)
    full.comm.chmod(mode)
    drop = ("setpriv", f"--reuid={OTHER_UID}", f"--regid={OTHER_UID}", "--clear-groups")
    for ran in run_all(full, around=drop):
        check(ran)
        assert ran.verb != "hook" or ran.code == 0, ran
        if ran.verb in {"join", "send", "status", "leave"}:
            assert ran.code == 1, ran


def test_verbs_when_the_disk_is_full_then_they_say_so_and_the_registry_stands(full: Box) -> None:
    """On a real file system without a free block."""
    script = (
        'mount -t tmpfs -o size=128k none "$1" && cp -a "$0/." "$1" && '
        '{ dd if=/dev/urandom of="$1/filler" bs=512 2>/dev/null; sum=$(cksum <"$1/registry.json"); shift; '
        '"$@"; code=$?; [ "$sum" = "$(cksum <"$SOT_COMM_HOME/registry.json")" ] || echo CHANGED >&2; exit $code; }'
    )
    place = full.comm.parent / "full"
    place.mkdir(mode=0o700)
    full.env["SOT_COMM_HOME"] = str(place)
    around = ("unshare", "-rm", "sh", "-c", script, str(full.comm), str(place))
    probe = subprocess.run([*around, "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"no file system can be mounted here: {probe.stderr.decode()}")
    for ran in run_all(full, around=around):
        check(ran)
        assert b"CHANGED" not in ran.err, ran
        if ran.verb in {"join", "status", "leave"}:
            assert ran.code == 1, ran
            assert b"No space left on device" in ran.err or b"FAILED" in ran.err, ran
    for event in ("session-start", "prompt", "blocked", "permission", "heartbeat", "stop"):
        ran = run(full, "hook", [event], INPUT, around)
        check(ran)
        assert ran.code == 0, ran
        assert b"CHANGED" not in ran.err, ran
