"""Where our own files are (daemon wire 1.6)."""

from __future__ import annotations

import pytest

from sot_tui.comm import paths

HOME = {"HOME": "/h"}


@pytest.mark.parametrize(
    ("environ", "config", "state"),
    [
        pytest.param(HOME, "/h/.config/sot", "/h/.local/state/sot", id="nothing-set"),
        pytest.param({"HOME": "/h/"}, "/h/.config/sot", "/h/.local/state/sot", id="home-with-a-slash"),
        pytest.param({"HOME": "/"}, "/.config/sot", "/.local/state/sot", id="home-is-the-root"),
        pytest.param(HOME | {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s/"}, "/c/sot", "/s/sot", id="both-set"),
        pytest.param(
            HOME | {"XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}, "/h/.config/sot", "/h/.local/state/sot", id="empty"
        ),
        pytest.param(
            HOME | {"XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"},
            "/h/.config/sot",
            "/h/.local/state/sot",
            id="relative-counts-as-unset",
        ),
        pytest.param(HOME | {"XDG_CONFIG_HOME": "/", "XDG_STATE_HOME": "/"}, "/sot", "/sot", id="the-root"),
    ],
)
def test_folders_when_variables_are_set_then_these(environ: dict[str, str], config: str, state: str) -> None:
    assert paths.config_folder(environ) == config
    assert paths.settings_file(environ) == f"{config}/tui.toml"
    assert paths.state_root(environ) == state
    assert paths.own_state(environ) == f"{state}/tui"


def test_topology_when_a_variable_names_it_then_that_file() -> None:
    assert paths.topology_file(HOME) == "/h/.config/sot/hosts.toml"
    assert paths.topology_file(HOME | {"SOT_HOSTS": "/x/hosts"}) == "/x/hosts"


def test_lane_socket_when_its_path_is_as_long_as_a_socket_s_may_be_then_it_is_used_and_a_longer_one_not() -> None:
    longest = "/" + "r" * (paths.SOCKET_PATH_BYTES - len("//lane.sock"))
    assert paths.lane_socket(longest) == f"{longest}/lane.sock"
    assert paths.lane_socket(f"{longest}r").startswith(f"{paths.short_lanes()}/")
    accented = "/" + "é" * 60  # bytes count, not signs
    assert paths.lane_socket(accented).startswith(f"{paths.short_lanes()}/")
