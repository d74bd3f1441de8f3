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
