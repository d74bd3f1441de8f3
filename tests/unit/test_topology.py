"""The topology file: what it may hold, what breaks it, and how a box reaches its hub."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sot_tui.comm import topology
from sot_tui.comm.config import FILE_LIMIT
from sot_tui.comm.errors import Refused
from sot_tui.comm.topology import Box, Topology, Unlisted

GOOD = """\ufeff# the boxes
hub = "atlas"
[host.atlas]
daemon = true
[host.desk]
daemon = true
frontend = true
colour = "red"   # not known: one warning
[host.lab]
daemon = true
[monitor]
gpu1 = ""
"""
HUB = "[host.a]\ndaemon = true\n"


def written(text: str | bytes | None) -> dict[str, str]:
    file = Path(os.environ["XDG_CONFIG_HOME"], "sot", "hosts.toml")
    file.parent.mkdir(exist_ok=True)
    if text is not None:
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    return dict(os.environ)


def test_topology_when_it_is_the_accepted_subset_then_the_boxes_and_one_warning() -> None:
    assert topology.read(written(GOOD)) == Topology(
        "atlas",
        {"atlas": Box(daemon=True), "desk": Box(daemon=True, frontend=True), "lab": Box(daemon=True)},
        ("[host.desk]: the key 'colour' is not known",),
    )


def test_topology_when_there_is_no_file_then_none_and_every_box_is_a_hub() -> None:
    environ = written(None)
    assert topology.read(environ) is None
    assert topology.names_hub(environ, "any")


def test_topology_when_sot_hosts_names_it_then_that_file_counts(tmp_path: Path) -> None:
    file = tmp_path / "boxes"
    file.write_text('hub = "a"\n' + HUB)
    assert topology.names_hub({**written(GOOD), "SOT_HOSTS": str(file)}, "a")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it names no hub"),
        ("hub = \n", "Invalid value"),
        (HUB, "it names no hub"),
        ('hub = ""\n' + HUB, "it names no hub"),
        ("hub = true\n" + HUB, "it names no hub"),
        ('hub = "a"\nhub = "a"\n' + HUB, "Cannot overwrite a value"),
        ('hub = "a"\n' + HUB + HUB, "Cannot declare"),
        ('hub = "a"\n' + HUB + "daemon = true\n", "Cannot overwrite a value"),
        ('hub = "a"\nport = 7\n' + HUB, "'port' is not known there"),
        ('hub = "a"\n[box]\n' + HUB, "'box' is not known there"),
        ('hub = "a"\nhost = "a"\n', "'host' is not known there"),
        ('hub = "a"\n[host]\nx = 1\n', "'x' is not a plain host name"),
        ('hub = "a"\n[host."A B"]\n' + HUB, "'A B' is not a plain host name"),
        ('hub = "a"\n[host.-a]\n' + HUB, "'-a' is not a plain host name"),
        ('hub = "b"\n' + HUB, "the hub 'b' is not listed"),
        ('hub = "a"\n[host.a]\n', "the hub 'a' has no daemon = true"),
        ('hub = "a"\n[host.a]\ndaemon = false\n', "the hub 'a' has no daemon = true"),
        ('hub = "a"\n[host.a]\ndaemon = 1\n', "'daemon' has a value that is not allowed"),
        ('hub = "a"\n' + HUB + "x = 1.5\n", "'x' has a value that is not allowed"),
        ('hub = "a"\n' + HUB + "x = []\n", "'x' has a value that is not allowed"),
        ('hub = "a"\n' + HUB + "[monitor]\ng = []\n", "[monitor] has a value that is not allowed"),
        (b"\xff", "codec can't decode"),
    ],
)
def test_topology_when_one_rule_is_broken_then_the_whole_file_says_nothing(text: str | bytes, why: str) -> None:
    environ = written(text)
    found = topology.read(environ)
    assert isinstance(found, Unlisted)
    assert found.why.startswith(environ["XDG_CONFIG_HOME"])
    assert why in found.why
    assert not topology.names_hub(environ, "a")


def test_topology_when_the_file_is_too_large_then_no_part_of_it_counts() -> None:
    """What stands behind the bound may break a rule, and one broken rule is a file that says nothing."""
    environ = written('hub = "a"\n' + HUB + "#" * FILE_LIMIT + '\nhub = "b"\n')
    found = topology.read(environ)
    assert isinstance(found, Unlisted)
    assert found.why.endswith("hosts.toml: File too large")
    assert not topology.names_hub(environ, "a")


def test_topology_when_it_cannot_be_read_then_it_names_no_hub() -> None:
    environ = written(None)
    Path(environ["XDG_CONFIG_HOME"], "sot", "hosts.toml").mkdir()
    assert isinstance(topology.read(environ), Unlisted)
    assert not topology.names_hub(environ, "a")


@pytest.mark.parametrize(
    ("host", "way"),
    [
        ("atlas", ""),
        ("desk", "ssh:atlas"),
        ("lab", "unix:/run/user/7/sot-relay.sock"),
        ("far", Unlisted("`far` is not a listed host")),
    ],
)
def test_way_to_hub_when_each_kind_of_box_asks_then_its_own(host: str, way: object) -> None:
    found = topology.read(written(GOOD))
    assert isinstance(found, Topology)
    assert topology.way_to_hub(found, host, "/run/user/7") == way
    assert topology.names_hub(written(GOOD), host) is (host == "atlas")


@pytest.mark.parametrize(
    ("host", "name", "way"),
    [
        ("atlas", "lab", "ssh:lab"),
        ("atlas", "desk", "unix:/run/sot-host-desk.sock"),
        ("desk", "atlas", "ssh:atlas"),
        ("desk", "lab", "ssh:atlas/lab"),
        ("lab", "atlas", "unix:/run/sot-relay.sock"),
        ("lab", "desk", Unlisted("`lab` has a way to its hub alone")),
        ("lab", "moon", Unlisted("`moon` is not a listed host")),
        ("moon", "lab", Unlisted("`moon` is not a listed host")),
        ("atlas", "quiet", Unlisted("no daemon runs on `quiet`")),
    ],
)
def test_way_to_when_each_pair_of_boxes_then_as_the_plan_has_it(host: str, name: str, way: str | Unlisted) -> None:
    found = topology.read(written(GOOD + "[host.quiet]\n".replace("[monitor]", "")))
    assert isinstance(found, Topology)
    assert topology.way_to(found, host, name, "/run") == way


def test_plan_when_a_box_asks_then_each_box_that_it_reaches_and_an_unlisted_one_is_refused() -> None:
    found = topology.read(written(GOOD))
    assert isinstance(found, Topology)
    assert topology.plan(found, "atlas", "/run", "unix:/own") == (
        "self atlas",
        "hub atlas",
        "relay-endpoint unix:/own",
        "dial desk unix:/run/sot-host-desk.sock",
        "dial lab ssh:lab",
    )
    assert topology.plan(found, "lab", "/run", "unix:/own") == (
        "self lab",
        "hub atlas",
        "relay-endpoint unix:/run/sot-relay.sock",
        "dial atlas unix:/run/sot-relay.sock",
    )
    with pytest.raises(Refused, match="`moon` is not a listed host"):
        topology.plan(found, "moon", "/run", "unix:/own")


@pytest.mark.parametrize("text", ["hub = '{}'\n", "hub = 'a'\n[host.'{}']\ndaemon = true\n", "'{}' = 1\n"])
def test_topology_when_a_name_is_endless_then_it_is_quoted_in_part(text: str) -> None:
    found = topology.read(written(text.format("x" * 5000)))
    assert isinstance(found, Unlisted)
    assert f"'{'x' * 80}…'" in found.why
    assert "x" * 81 not in found.why
