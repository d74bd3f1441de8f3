"""The dashboard in a browser: let in by the token once and by nothing else, and the same to look at and to click."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pyte
import pytest

from tests.screens.real import entry, put

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

pytestmark = pytest.mark.e2e

SOT_TUI = str(Path(sys.executable).with_name("sot-tui"))
DEADLINE_S = 30.0
DONE: dict[str, object] = {"state": "done", "done": True, "summary": "built"}


@pytest.fixture
def serve(comm_home: Path) -> Iterator[Callable[..., str]]:
    """Return what serves the page of a comm home, and returns its address."""
    put(comm_home, ready=DONE)
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> str:
        environ = {**os.environ, "SOT_SELF_HOST": "box"}
        pipe = subprocess.PIPE
        one = subprocess.Popen([SOT_TUI, "web", *words], env=environ, stdout=pipe, stderr=pipe, text=True)
        started.append(one)
        assert one.stdout is not None
        assert select.select([one.stdout], [], [], DEADLINE_S)[0], "it said no address"
        return one.stdout.readline().strip()

    yield start
    for one in started:
        one.send_signal(signal.SIGTERM)
        assert one.communicate(timeout=DEADLINE_S) is not None
        assert one.returncode == 0


def status(address: str, **headers: str) -> tuple[int, str]:
    """Ask without following, and return the status and the cookie."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    try:
        asked = urllib.request.Request(address, headers=headers)
        with urllib.request.build_opener(Stay).open(asked, timeout=DEADLINE_S) as answer:
            return answer.status, answer.headers.get("Set-Cookie", "")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("Set-Cookie", "")


def test_page_when_it_is_asked_for_then_only_the_first_with_the_token_is_let_in(serve: Callable[..., str]) -> None:
    address = serve()
    place = address.partition("/?token=")[0]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", address)
    for other in (f"{place}/", f"{place}/?token=x", f"{place}/ws?width=80&height=24", f"{place}/static/js/textual.js"):
        assert status(other)[0] == 403, other
    assert status(address, Host="evil.example")[0] == 403
    assert status(address, Origin="http://evil.example")[0] == 403
    code, cookie = status(address)
    assert code == 303
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert status(address)[0] == 403, "the token is spent"
    mine = cookie.partition(";")[0]
    assert status(f"{place}/", Cookie=mine)[0] == 200
    assert status(f"{place}/ws", Cookie=mine, Origin="http://evil.example")[0] == 403


@pytest.mark.parametrize("words", [("--port", "x"), ("--port", "65536"), ("now",)])
def test_web_when_the_words_make_no_sense_then_the_usage(words: tuple[str, ...]) -> None:
    assert subprocess.run([SOT_TUI, "web", *words], capture_output=True, check=False).returncode == 2


# -- in a browser -----------------------------------------------------------------------------------------------------


class Browser:
    """A page in headless Chromium, by its DevTools protocol; what its page is sent is drawn here as well."""

    def __init__(self, wire: aiohttp.ClientWebSocketResponse) -> None:
        self.wire = wire
        self.number = 0
        self.answers: dict[int, Any] = {}
        self.screen = pyte.Screen(80, 24)
        self.stream = pyte.ByteStream(self.screen)

    async def hear(self) -> None:
        async for message in self.wire:
            said = json.loads(message.data)
            if "id" in said:
                self.answers[said["id"]] = said.get("result")
            elif said["method"] == "Network.webSocketFrameReceived":
                frame = said["params"]["response"]
                data = base64.b64decode(frame["payloadData"]) if frame["opcode"] == 2 else b""
                self.stream.feed(data)
            elif said["method"] == "Network.webSocketFrameSent":
                found = re.search(
                    r'\["resize",\{"width":(\d+),"height":(\d+)', said["params"]["response"]["payloadData"]
                )
                if found:
                    self.screen.resize(int(found[2]), int(found[1]))

    async def do(self, method: str, **params: object) -> Any:
        self.number += 1
        number = self.number
        await self.wire.send_json({"id": number, "method": method, "params": params})
        await self.until(lambda: number in self.answers, method)
        return self.answers[number]

    async def until(self, fact: Callable[[], object], what: str) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + DEADLINE_S
        while not fact():
            assert loop.time() < end, f"it never came: {what}\n" + "\n".join(self.screen.display)
            await asyncio.sleep(0.02)

    def row_of(self, words: str) -> int:
        return next((at for at, line in enumerate(self.screen.display) if words in line), -1)

    async def click(self, row: int) -> None:
        """Click in a row of the terminal that the page shows."""
        box = "JSON.stringify(document.querySelector('.xterm-screen').getBoundingClientRect())"
        found = json.loads((await self.do("Runtime.evaluate", expression=box))["result"]["value"])
        x, y = found["left"] + 100, found["top"] + (row + 0.5) * found["height"] / self.screen.lines
        for kind in ("mousePressed", "mouseReleased"):
            await self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


@asynccontextmanager
async def browser(address: str, folder: Path) -> AsyncIterator[Browser]:
    """Open a page of its own at the address."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "this test needs Chromium"
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]
    process = await asyncio.create_subprocess_exec(
        chromium, *words, f"--user-data-dir={folder}", "about:blank", stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(DEADLINE_S):
            while not (found := re.search(rb"ws://(127\.0\.0\.1:\d+)/", await process.stderr.readline())):
                pass
        async with aiohttp.ClientSession() as session:
            listed = await (await session.get(f"http://{found[1].decode()}/json")).json()
            page = next(one for one in listed if one["type"] == "page")
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as wire:
                opened = Browser(wire)
                hearing = asyncio.create_task(opened.hear())
                await opened.do("Network.enable")
                await opened.do("Page.navigate", url=address)
                yield opened
                hearing.cancel()
    finally:
        process.kill()
        await process.communicate()


@pytest.mark.timeout(120)
async def test_page_when_it_may_write_then_shows_the_nav_and_a_click_clears_a_done(
    serve: Callable[..., str], comm_home: Path, tmp_path: Path
) -> None:
    home = put(comm_home)
    async with browser(await asyncio.to_thread(serve, "--write"), tmp_path) as page:
        await page.until(lambda: page.row_of("ready") >= 0 and page.row_of("operator-box") >= 0, "the nav")
        await page.click(page.row_of("ready"))
        await page.until(lambda: "done" not in entry(home, "ready"), "a click clears a done")


@pytest.mark.timeout(120)
async def test_page_when_it_only_looks_then_says_so_and_a_click_clears_nothing(
    serve: Callable[..., str], comm_home: Path, tmp_path: Path
) -> None:
    home = put(comm_home)
    async with browser(await asyncio.to_thread(serve), tmp_path) as page:
        await page.until(lambda: page.row_of("ready") >= 0 and page.row_of("read-only") >= 0, "the nav")
        await page.click(page.row_of("ready"))
        await page.until(lambda: page.row_of("nothing was written") >= 0, "it says why")
        assert entry(home, "ready")["done"] is True
