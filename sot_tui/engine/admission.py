"""Admission: what a connection has to say before anything else, and why it is turned away.

Daemon wire 2.1. The first frame is a hello, and is checked in this order: it can be read, it speaks the protocol, it
names its host and account, the two agree with what that host has said before, and it is on the comm home that is served
here. There is exactly one refusal, and nothing else is served. Nothing here touches a socket.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sot_tui.comm.wire import PROTOCOL

if TYPE_CHECKING:
    from sot_tui.comm.wire import Frame

HOSTS_LIMIT = 4096
"""Hosts whose account is remembered; there are as many boxes as a person has."""
TEXT_LIMIT = 1024
"""Characters of any text of a hello."""
TWO_ACCOUNTS = "this host has said hello as two OS accounts"
"""The beginning of the refusal of a host with two accounts (contract, The one result)."""


class Role(StrEnum):
    """What a connection is for (daemon wire 2.1)."""

    CLI = "cli"
    AGENT = "agent"
    FE = "fe"
    BRIDGE = "bridge"
    HANDOFF = "handoff"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Hello:
    """Who a connection says it is. All of its text is foreign."""

    client_id: str
    protocol: int
    role: Role
    host: str = ""
    os_user: str = ""
    name: str = ""
    app_version: str = ""
    instance: str = ""
    session_id: str = ""
    last_seen_revision: int = 0
    comm_home: str = ""
    """The comm home of a client of ours; empty when it does not say."""


@dataclass(frozen=True, slots=True)
class Denied:
    """A connection is turned away."""

    code: str
    sentence: str
    extra: tuple[tuple[str, object], ...] = ()

    def payload(self) -> dict[str, object]:
        """Return the refusal as it is sent."""
        return {"error": self.sentence, "code": self.code, **dict(self.extra)}


class Admission:
    """The checks of one daemon; it remembers which account each host has named."""

    def __init__(self, version: str, host: str, comm_home: str) -> None:
        self._version, self._host, self._comm_home = version, host, comm_home
        self._accounts: dict[str, list[str]] = {}

    def judge(self, frame: Frame) -> Hello | Denied:
        """Return who the first frame says is there, or the one refusal."""
        hello = parsed(frame)
        if isinstance(hello, Denied):
            return hello
        return (
            self._other_protocol(hello) or _nameless(hello) or self._other_account(hello) or self._other_home(hello)
        ) or hello

    def _other_protocol(self, hello: Hello) -> Denied | None:
        if hello.protocol == PROTOCOL:
            return None
        theirs = hello.app_version or "<pre-versioning>"
        return Denied(
            "protocol_mismatch",
            f"protocol mismatch: backend {self._version} (protocol {PROTOCOL}) vs frontend {theirs} (protocol "
            f"{hello.protocol}) — update the older side",
            (
                ("backend_protocol", PROTOCOL),
                ("frontend_protocol", hello.protocol),
                ("backend_version", self._version),
                ("frontend_version", hello.app_version),
            ),
        )

    def _other_account(self, hello: Hello) -> Denied | None:
        """Refuse a host that has said hello as two accounts, from then on for both (daemon wire 2.1)."""
        host = hello.host.lower()
        known = self._accounts.get(host)
        if known is None:
            if len(self._accounts) >= HOSTS_LIMIT:
                return Denied("os_user_conflict", f"this daemon has heard of {HOSTS_LIMIT} hosts; restart it")
            known = self._accounts[host] = []
        if hello.os_user not in known and len(known) < 2:
            known.append(hello.os_user)
        if len(known) < 2:
            return None
        said = " and ".join(known)
        return Denied("os_user_conflict", f"{TWO_ACCOUNTS} ({hello.host}: {said}); restart this daemon to clear it")

    def _other_home(self, hello: Hello) -> Denied | None:
        """Refuse a client of this box that is on another comm home; another box has one of its own."""
        if not hello.comm_home or hello.comm_home == self._comm_home or hello.host.lower() != self._host.lower():
            return None
        return Denied(
            "comm_home_mismatch",
            f"this daemon serves the comm home {self._comm_home}, and you are on {hello.comm_home}: set SOT_COMM_HOME "
            "to the same folder on both sides, or give the other one a daemon of its own (its own XDG_STATE_HOME and "
            "XDG_RUNTIME_DIR)",
            (("comm_home", self._comm_home),),
        )


def parsed(frame: Frame) -> Hello | Denied:
    """Return the hello in a frame; one that is none, or has a blob, is not authenticated."""
    if frame.kind != "req" or frame.op != "hello":
        return _unauthenticated("the first frame has to be a hello")
    if not isinstance(frame.payload, dict):
        return _unauthenticated("hello payload: it is no object")
    if "blob" in frame.payload:
        return _unauthenticated("a hello carries no blob")
    said = frame.payload
    try:
        return Hello(
            client_id=_text(said, "client_id", needed=True),
            protocol=_number(said, "protocol"),
            role=_role(said),
            host=_text(said, "host"),
            os_user=_text(said, "os_user"),
            name=_text(said, "name"),
            app_version=_text(said, "app_version"),
            instance=_text(said, "instance"),
            session_id=_text(said, "session_id"),
            last_seen_revision=_number(said, "last_seen_revision"),
            comm_home=_text(said, "comm_home"),
        )
    except _BadError as error:
        return _unauthenticated(f"hello payload: {error}")


class _BadError(Exception):
    """A field of a hello is not what it may be."""


def _nameless(hello: Hello) -> Denied | None:
    missing = " and ".join(name for name in ("host", "os_user") if not getattr(hello, name))
    return Denied("identity_missing", f"this hello does not say its {missing}") if missing else None


def _unauthenticated(sentence: str) -> Denied:
    return Denied("unauthenticated", sentence)


def _text(said: dict[str, Any], key: str, *, needed: bool = False) -> str:
    value = said.get(key)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or len(value) > TEXT_LIMIT:
        raise _BadError(f"{key} is no text of up to {TEXT_LIMIT} characters")
    return value


def _number(said: dict[str, Any], key: str) -> int:
    value = said.get(key)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise _BadError(f"{key} is no whole number")
    return value


def _role(said: dict[str, Any]) -> Role:
    value = said.get("role", Role.CLI)
    try:
        return Role(value)
    except ValueError:
        raise _BadError(f"there is no role {value!r}") from None
