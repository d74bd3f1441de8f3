"""Who pushes otherwise than this environment says: an engine that was left behind, or a `notifyd`, and what is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import doctor
from sot_tui.comm.doctor import Level, Unlike
from sot_tui.comm.home import home_here
from sot_tui.notify import serving, settings
from sot_tui.notify.serving import Sends, Serves
from sot_tui.notify.settings import Target
from tests.notify.running import Notifyd
from tests.notify.test_standing import SOMEBODY, info, ran
from tests.screens.real import put

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.notify.ntfy import Ntfy

SOTD = str(Path(sys.executable).with_name("sotd"))
DEADLINE_SECS = 30.0
SECRET, TOKEN = "SECRET-topic", "SECRET-token"


def url(topic: Ntfy, name: str = SECRET) -> str:
    return f"{topic.url}/{name}"


def all_here(**more: str) -> tuple[Serves, ...]:
    return serving.all_here(home_here(), {**os.environ, **more})


@contextmanager
def sotd(**more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a daemon, as one that a dashboard left behind, until it has said what it began with."""
    daemon = subprocess.Popen([SOTD, "run"], env={**os.environ, "SOT_SELF_HOST": "box", **more})
    try:
        end = time.monotonic() + DEADLINE_SECS
        while not any(one.pid == daemon.pid for one in all_here()):
            assert time.monotonic() < end, "it never said what it began with"
            time.sleep(0.05)
        yield daemon
    finally:
        daemon.terminate()
        daemon.wait()


def unlike(**more: str) -> list[tuple[str, str, str]]:
    found = json.loads(ran("doctor", "--json", **more))["findings"]
    return [
        (one["level"], one["fact"], one["step"]) for one in found if "keeps what it was started with" in one["fact"]
    ]


def test_daemon_when_the_topic_has_changed_since_then_info_and_doctor_say_so_and_how_to_mend_it(
    comm_home: Path, topic: Ntfy
) -> None:
    put(comm_home)
    with sotd(STEWARD_NTFY_URL=url(topic), STEWARD_NTFY_TOKEN=TOKEN) as daemon:
        who = f"the daemon of pid {daemon.pid}"
        same = {"STEWARD_NTFY_URL": url(topic), "STEWARD_NTFY_TOKEN": TOKEN}
        assert unlike(**same) == []
        assert f"pushes                    {who} sends as this environment says\n" in ran("info", **same)
        words = "sends to another topic, or with another token, than this environment names"
        for other in ({"STEWARD_NTFY_URL": url(topic, "another")}, {"STEWARD_NTFY_TOKEN": "another"}):
            ((level, fact, step),) = unlike(**(same | other))
            assert (level, fact, step) == (
                "warn",
                f"{who} {words}; it keeps what it was started with",
                f"kill {daemon.pid} && sot-tui",
            )
        assert f"pushes                    {who} {words}\n" in ran("info", STEWARD_NTFY_URL=url(topic, "another"))
        ((level, fact, _),) = unlike()
        assert (level, f"{who} has a sender, and this environment names none" in fact) == ("ok", True)
        said = ran("info") + ran("doctor") + ran("info", "--json")
        kept = "".join(
            one.read_text(errors="replace")
            for one in Path(os.environ["XDG_STATE_HOME"]).rglob("*")
            if one.is_file() and not one.is_symlink()
        )
        assert SECRET not in said + kept
        assert TOKEN not in said + kept
        (record,) = Path(os.environ["XDG_STATE_HOME"]).rglob("notifier.json")
        assert record.stat().st_mode & 0o777 == 0o600
    assert all_here() == ()
    assert info()["serving"] == []


def test_daemon_when_it_has_no_sender_and_this_environment_has_then_that_is_said(comm_home: Path, topic: Ntfy) -> None:
    put(comm_home)
    with sotd() as daemon:
        assert unlike() == []
        ((level, fact, _),) = unlike(STEWARD_NTFY_URL=url(topic))
        assert level == "warn"
        assert f"the daemon of pid {daemon.pid} has no sender, and this environment names one" in fact
        assert info()["serving"] == [{"pid": daemon.pid, "what": "daemon", "sends": "as here", "settings": None}]


def test_daemon_when_its_topic_comes_later_then_its_word_follows(comm_home: Path, topic: Ntfy) -> None:
    secret = comm_home.parent / "topic"
    environ = {**os.environ, "STEWARD_NTFY_URL_FILE": str(secret)}
    home = put(comm_home)
    assert serving.engines_target(home, environ, "daemon") is None
    assert [one.sends for one in all_here(STEWARD_NTFY_URL=url(topic))] == [Sends.NOWHERE]
    secret.write_text(url(topic))
    assert serving.engines_target(home, environ, "daemon") == Target(url(topic), "")
    (record,) = Path(os.environ["XDG_STATE_HOME"]).rglob("notifier.json")
    written = record.stat().st_ino
    assert serving.engines_target(home, environ, "daemon") == Target(url(topic), "")
    assert record.stat().st_ino == written  # it is asked for again and again, and says the same
    assert [one.sends for one in all_here(STEWARD_NTFY_URL=url(topic))] == [Sends.AS_HERE]


def test_daemon_when_it_reads_other_settings_then_which_is_said(comm_home: Path) -> None:
    put(comm_home)
    with sotd(XDG_CONFIG_HOME="/elsewhere") as daemon:
        ((level, fact, step),) = unlike()
        assert (level, step) == ("warn", f"kill {daemon.pid} && sot-tui")
        assert "reads its quiet hours in /elsewhere/sot/tui.toml" in fact
        assert "; its settings are /elsewhere/sot/tui.toml\n" in ran("info")


def test_notifyd_when_the_topic_has_changed_since_then_that_is_said(topic: Ntfy) -> None:
    daemon = Notifyd(url(topic))
    try:
        assert unlike(STEWARD_NTFY_URL=url(topic)) == []
        ((_, fact, step),) = unlike(STEWARD_NTFY_URL=url(topic, "another"))
        assert fact.startswith(f"the notifyd of pid {daemon.process.pid} sends to another topic")
        assert step == f"kill {daemon.process.pid} && sot-tui notifyd"
    finally:
        daemon.end()


def test_daemon_when_a_service_manager_started_it_then_it_says_so_and_nothing_below_it_does() -> None:
    home = home_here()
    for pid, managed in ((os.getpid(), True), (1, False)):
        environ = {**os.environ, "SYSTEMD_EXEC_PID": str(pid)}
        serving.engines_target(home, environ, "daemon")
        assert [one.managed for one in all_here()] == [managed]


@pytest.mark.parametrize(
    "said",
    [
        "{",
        "[]",
        '{"pid": true, "start": "s", "what": "w", "mark": "", "settings": ""}',
        '{"pid": 1, "start": 7, "what": "w", "mark": "", "settings": ""}',
        '{"pid": 1, "start": "of another life", "what": "w", "mark": "", "settings": ""}',
        '{"pid": -1, "start": "s", "what": "w", "mark": "", "settings": ""}',
    ],
)
def test_record_when_it_is_none_or_of_one_that_is_gone_then_it_says_nothing(said: str) -> None:
    base = Path(settings.state_base(os.environ))
    base.mkdir(parents=True)
    (base / "notifyd.json").write_text(said)
    assert all_here() == ()


ENGINE = Unlike(7, "daemon", managed=False, sends=True, same=False, settings="")


@pytest.mark.parametrize(
    ("found", "level", "step"),
    [
        (ENGINE, Level.WARN, "kill 7 && sot-tui"),
        (ENGINE._replace(what="dashboard"), Level.WARN, "sot-tui"),
        (
            ENGINE._replace(managed=True),
            Level.WARN,
            "sot-tui service install && systemctl --user daemon-reload && systemctl --user restart sotd.service",
        ),
    ],
)
def test_pushes_when_one_is_unlike_this_environment_then_this_step(found: Unlike, level: Level, step: str) -> None:
    (*_, last) = doctor.of_notifier(SOMEBODY._replace(unlike=(found,)))
    assert (last.level, last.step) == (level, step)


def test_pushes_when_only_an_engine_has_a_sender_then_that_nothing_is_pushed_is_not_said() -> None:
    first, second = doctor.of_notifier(SOMEBODY._replace(sender=False, unlike=(ENGINE,)))
    assert "nothing is pushed and no hook is served" not in first.fact
    assert (first.level, second.level, second.step) == (Level.OK, Level.OK, "")
