"""Where a daemon is reached: what an endpoint may say, and who is asked in which order."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sot_tui.comm import endpoints
from sot_tui.comm.endpoints import Found, Local, Remote
from sot_tui.comm.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterator

DISCARDED = "comm-lib: discarding an endpoint this version cannot dial: "
BOXES = """\
hub = "atlas"
[host.atlas]
daemon = true
[host.desk]
daemon = true
frontend = true
[host.lab]
daemon = true
"""


@pytest.fixture
def home(comm_home: Path) -> Home:
    return Home(str(comm_home))


@contextmanager
def listening(label: str = "sot") -> Iterator[str]:
    """Let something listen where a daemon of this label would; yield its endpoint."""
    folder = Path(os.environ["XDG_RUNTIME_DIR"], "sot", "sessions")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / f"{label}.sock"))
        yield f"unix:{folder / label}.sock"


def boxes(text: str = BOXES) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"], "sot", "hosts.toml")
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("endpoint", "names"),
    [
        ("unix:/run/x.sock", Local("/run/x.sock")),
        ("unix:/a:b c", Local("/a:b c")),
        ("ssh:hub", Remote("hub", "")),
        ("ssh:hub/desk.lab-1", Remote("hub", "desk.lab-1")),
        ("unix:x.sock", None),
        ("unix:", None),
        ("unix:/a\0b", None),
        ("ssh:", None),
        ("ssh:hub/", None),
        ("ssh:Hub", None),
        ("ssh:-oX", None),
        ("ssh:hub/../x", None),
        ("ssh:hub desk", None),
        ("ssh:hub\n", None),
        ("tcp:1.2.3.4:5", None),
        ("pipe:sot", None),
        ("/run/x.sock", None),
        ("", None),
    ],
)
def test_endpoint_when_taken_apart_then_only_what_can_be_dialled(endpoint: str, names: object) -> None:
    assert endpoints.parsed(endpoint) == names


def test_own_daemon_when_nothing_listens_then_none(home: Home) -> None:
    assert endpoints.of_this_box(home, os.environ) == Found("")


def test_own_daemon_when_it_listens_where_it_should_then_found(home: Home) -> None:
    with listening() as endpoint:
        assert endpoints.of_this_box(home, os.environ) == Found(endpoint)
        assert endpoints.of_this_box(home, {**os.environ, "SOT_BACKEND_LABEL": "Other"}) == Found("")
    with listening("my_lab") as endpoint:
        assert endpoints.of_this_box(home, {**os.environ, "SOT_BACKEND_LABEL": "My.Lab"}) == Found(endpoint)


def test_own_daemon_when_a_file_lies_there_then_none(home: Home) -> None:
    folder = Path(os.environ["XDG_RUNTIME_DIR"], "sot", "sessions")
    folder.mkdir(mode=0o700, parents=True)
    (folder / "sot.sock").touch()
    assert endpoints.of_this_box(home, os.environ) == Found("")


@pytest.mark.parametrize(
    ("said", "endpoint"),
    [
        ({"SOT_SOCKET": "/a"}, "unix:/a"),
        ({"SOT_SOCKET": "a"}, ""),
        ({"SOT_SOCKET": "/a", "SOT_SPAWN_ENDPOINT": "unix:/b"}, "unix:/b"),
        ({"SOT_SOCKET": "/a", "SOT_SPAWN_ENDPOINT": ""}, "unix:/a"),
        ({"SOT_SOCKET": "/a", "SOT_RELAY_ENDPOINT": "unix:/b"}, "unix:/a"),
    ],
)
def test_own_daemon_when_variables_say_where_then_the_first_of_them(
    home: Home, said: dict[str, str], endpoint: str
) -> None:
    with listening() as own:
        assert endpoints.of_this_box(home, {**os.environ, **said}) == Found(endpoint)
        assert endpoints.of_this_box(home, {**os.environ, **said}, "ssh:hub") == Found("ssh:hub")
        assert endpoints.of_this_box(home, os.environ) == Found(own)


def test_own_daemon_when_the_given_one_cannot_be_dialled_then_none_in_its_place(home: Home) -> None:
    with listening():
        said = {**os.environ, "SOT_SPAWN_ENDPOINT": "tcp:x:1", "SOT_SOCKET": "/a"}
        assert endpoints.of_this_box(home, said) == Found("", (DISCARDED + "tcp:x:1",))
        assert endpoints.of_this_box(home, os.environ, "pipe:x") == Found("", (DISCARDED + "pipe:x",))
        assert endpoints.of_this_box_else_the_hub(home, {**said, "SOT_RELAY_ENDPOINT": "unix:/r"}, "box") == Found(
            "", (DISCARDED + "tcp:x:1",)
        )


@pytest.mark.parametrize("fault", ["open", "link", "missing", "relative"])
def test_session_socket_when_the_runtime_folder_is_not_private_then_another(home: Home, fault: str) -> None:
    folder = Path(os.environ["XDG_RUNTIME_DIR"])
    said = {"XDG_RUNTIME_DIR": str(folder)}
    assert endpoints.session_socket(home, said, "sot") == f"{folder}/sot/sessions/sot.sock"
    if fault == "open":
        folder.chmod(0o710)
    elif fault == "link":
        said = {"XDG_RUNTIME_DIR": str(folder.with_name("link"))}
        folder.with_name("link").symlink_to(folder)
    elif fault == "missing":
        said = {}
    else:
        said = {"XDG_RUNTIME_DIR": os.path.relpath(folder)}
    user = os.geteuid()
    assert endpoints.session_socket(home, said, "sot") in {
        f"/run/user/{user}/sot/sessions/sot.sock",
        f"/tmp/sot-{user}/sessions/sot.sock",
    }


# -- the hub ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"SOT_RELAY_ENDPOINT": "unix:/r", "SOT_SPAWN_ENDPOINT": "unix:/s"}, Found("unix:/r")),
        ({"SOT_SPAWN_ENDPOINT": "unix:/s"}, Found("unix:/s")),
        ({"SOT_RELAY_ENDPOINT": "tcp:r", "SOT_SPAWN_ENDPOINT": "unix:/s"}, Found("unix:/s", (DISCARDED + "tcp:r",))),
        (
            {"SOT_RELAY_ENDPOINT": "tcp:r", "SOT_SPAWN_ENDPOINT": "tcp:s"},
            Found("ssh:atlas", (DISCARDED + "tcp:r", DISCARDED + "tcp:s")),
        ),
        ({}, Found("ssh:atlas")),
        ({"SOT_SOCKET": "/own"}, Found("ssh:atlas")),
    ],
)
def test_hub_when_asked_from_another_box_then_by_variable_else_topology(
    home: Home, said: dict[str, str], found: Found
) -> None:
    boxes()
    with listening():
        assert endpoints.of_the_hub(home, {**os.environ, **said}, "desk") == found


def test_hub_when_the_box_is_the_hub_then_its_own_daemon(home: Home) -> None:
    boxes()
    assert endpoints.of_the_hub(home, os.environ, "atlas") == Found("")
    with listening() as endpoint:
        assert endpoints.of_the_hub(home, os.environ, "atlas") == Found(endpoint)
    assert endpoints.of_the_hub(home, {**os.environ, "SOT_SOCKET": "/own"}, "atlas") == Found("unix:/own")


def test_hub_when_the_box_is_no_frontend_then_the_link_of_its_account(home: Home) -> None:
    boxes()
    assert endpoints.of_the_hub(home, os.environ, "lab") == Found(f"unix:/run/user/{os.geteuid()}/sot-relay.sock")


def test_hub_when_there_is_no_topology_then_this_box_s_own_daemon(home: Home) -> None:
    assert endpoints.of_the_hub(home, os.environ, "box") == Found("")
    with listening() as endpoint:
        assert endpoints.of_the_hub(home, os.environ, "box") == Found(endpoint)


@pytest.mark.parametrize(("text", "why"), [(BOXES, "`far` is not a listed host"), ("hub = 7\n", "it names no hub")])
def test_hub_when_the_topology_gives_no_way_then_none_and_never_the_own_daemon(home: Home, text: str, why: str) -> None:
    boxes(text)
    with listening():
        found = endpoints.of_the_hub(home, {**os.environ, "SOT_SOCKET": "/own"}, "far")
    assert not found.endpoint
    assert len(found.notes) == 1
    assert found.notes[0].startswith("comm-lib: the topology gives no way to the hub: ")
    assert found.notes[0].endswith(why)


def test_owner_of_the_folder_when_both_are_there_then_the_own_daemon_first(home: Home) -> None:
    boxes()
    assert endpoints.of_this_box_else_the_hub(home, os.environ, "desk") == Found("ssh:atlas")
    with listening() as endpoint:
        assert endpoints.of_this_box_else_the_hub(home, os.environ, "desk") == Found(endpoint)


def test_session_socket_when_no_socket_can_have_the_path_then_a_short_name_of_its_own(home: Home) -> None:
    """Dependencies, 9: a path of 107 bytes at most (103 on macOS), else a short hashed name under `/tmp/sot-<uid>`."""
    run = Path(os.environ["XDG_RUNTIME_DIR"])
    found = set()
    for name in ("a" * 120, "b" * 120):
        deep = run / name
        deep.mkdir(mode=0o700)
        path = endpoints.session_socket(home, {"XDG_RUNTIME_DIR": str(deep)}, "sot")
        assert path == endpoints.session_socket(home, {"XDG_RUNTIME_DIR": str(deep)}, "sot"), "both sides find it"
        assert path.startswith(f"/tmp/sot-{os.geteuid()}/sessions/")
        found.add(path)
    assert len(found) == 2
    room = endpoints.PATH_LIMIT - len(f"{run}/") - len("/sot/sessions/sot.sock")
    for length in (room, room + 1):
        (run / ("c" * length)).mkdir(mode=0o700)
        path = endpoints.session_socket(home, {"XDG_RUNTIME_DIR": f"{run}/{'c' * length}"}, "sot")
        assert path.startswith(str(run)) is (length == room)
        assert len(path) <= endpoints.PATH_LIMIT


def test_path_when_as_long_as_a_socket_may_have_then_it_is_bound_and_one_more_is_not(comm_home: Path) -> None:
    path = f"{comm_home.parent}/".ljust(endpoints.PATH_LIMIT, "x")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)
    with socket.socket(socket.AF_UNIX) as one, pytest.raises(OSError, match="AF_UNIX path too long"):
        one.bind(f"{path}yy")  # Linux takes one more, without its closing NUL
