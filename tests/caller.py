"""A client of the control socket that speaks as the scripts do: the wire's own bytes, written here by hand.

Nothing of the program's codec is used: a frame is a line of text, and what comes back is found by the text of its op.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

DEADLINE_S = 10.0
"""How long anything is waited for; it comes in a fraction of that."""


def hello(role: str = "cli", name: str = "", host: str = "atlas", **more: object) -> bytes:
    """Return a hello as the scripts write it."""
    said = {
        "client_id": "sot-comm",
        "last_seen_revision": 0,
        "protocol": 3,
        "app_version": "comm",
        "host": host,
        "os_user": f"uid:{os.geteuid()}",
        "role": role,
        "name": name,
        **more,
    }
    return request("hello", {key: value for key, value in said.items() if value is not None}, 1)


def request(op: str, payload: object, number: int = 1) -> bytes:
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return f'{{"v":1,"id":{number},"kind":"req","op":"{op}","payload":{body}}}\n'.encode()


class Caller:
    """One connection; an asynchronous context that ends with it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[bytes] = []
        """Every line that came."""

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_unix_connection(self.path, limit=4 << 20)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.transport.abort()

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    async def line(self) -> bytes:
        """Return the next line, b"" at the end."""
        async with asyncio.timeout(DEADLINE_S):
            try:
                found = await self.reader.readline()
            except ConnectionResetError:
                return b""
        if found:
            self.lines.append(found)
        return found

    async def frame(self, op: str, kind: str = "res") -> dict[str, Any]:
        """Return the next frame of an op, whatever comes before it."""
        while line := await self.line():
            if f'"op":"{op}"'.encode() in line and f'"kind":"{kind}"'.encode() in line:
                found: dict[str, Any] = json.loads(line)
                return found
        raise AssertionError(f"it ended before a {kind} of {op}; there came {self.lines}")

    async def event(self, op: str) -> Any:
        return (await self.frame(op, "evt"))["payload"]

    async def ends(self) -> bytes:
        """Return what came until the end."""
        async with asyncio.timeout(DEADLINE_S):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""

    async def greet(self, **more: Any) -> dict[str, Any]:
        """Say hello, and return the whole answer."""
        self.say(hello(**more))
        return await self.frame("hello")

    async def ask(self, op: str, payload: object, number: int = 7) -> Any:
        """Ask once more on an open connection; return the answer's payload."""
        self.say(request(op, payload, number))
        while True:
            found = await self.frame(op)
            if found["id"] == number:
                return found["payload"]


async def burst(path: str, op: str, payload: object, **more: Any) -> Any:
    """Ask as a script does: hello and request in one burst, both with id 1; return the answer's payload."""
    async with Caller(path) as one:
        one.say(hello(**more) + request(op, payload))
        return (await one.frame(op))["payload"]
