"""`sot-tui web`: the same dashboard in a browser of this machine, by the optional extra `sot-tui[web]`.

Whoever opens the page is the person, so it is served on the loopback alone, to the one browser that came with the
one-time token, and only to a page of its own: another site cannot reach it by a name of its own or by the socket. It
looks only, unless it is asked to do more. Each page is a dashboard process of its own, at the one engine.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import shlex
import signal
import sys
from typing import TYPE_CHECKING

from sot_tui.comm.errors import Exit
from sot_tui.verbs._session import ask, misused, named, say, tell

if TYPE_CHECKING:
    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware

USAGE = """\
Examples:
  sot-tui web                   serve the dashboard to a browser here, to look at only; open the address it prints
  sot-tui web --write           the same, and the page does all that a dashboard does
  sot-tui web --port 8123       on a port of your choice

Usage: sot-tui web [--write] [--port N]

It needs the extra: pip install 'sot-tui[web]'. It listens on 127.0.0.1 alone; its address opens once, in one browser.
"""
_HOST = "127.0.0.1"
_PORTS = range(1 << 16)


def main(argv: list[str]) -> int:
    """Serve until a signal; the exit code is 0, 1 (the extra is missing, or nothing could listen) or 2 (usage)."""
    if ask(argv, USAGE):
        return Exit.OK
    values, words, wrong = named([word for word in argv if word != "--write"], ("--port",))
    said = values.get("--port", "0")
    if wrong or words or not said.isdecimal() or int(said) not in _PORTS:
        return misused(USAGE, f"sot-tui web: {wrong or 'say --write, or --port and a number'}")
    try:
        return asyncio.run(_serve(int(said), writes="--write" in argv))
    except ImportError:
        tell("sot-tui web: the extra is not installed; pip install 'sot-tui[web]'")
    except OSError as error:
        tell(f"sot-tui web: {_HOST}:{said}: {error.strerror or error}")
    return Exit.FAILED


async def _serve(port: int, *, writes: bool) -> int:
    from aiohttp import web  # noqa: PLC0415  (the extra may be missing)
    from textual_serve.server import Server  # noqa: PLC0415  (as above)

    command = f"{shlex.quote(sys.executable)} -m sot_tui{'' if writes else ' --readonly'}"
    server = Server(command, host=_HOST, port=port, title="sot")
    door = _Door()
    app = await server._make_app()  # noqa: SLF001  (its own way to run says every address, tokens included, in a log)
    app.on_startup.clear()
    app.middlewares.append(door.guard())
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await web.TCPSite(runner, _HOST, port).start()
        place = f"{_HOST}:{runner.addresses[0][1]}"
        server.public_url = door.origin = f"http://{place}"
        say(f"{door.origin}/?token={door.token}\n")
        tell(f"sot-tui web: it {'does all that a dashboard does' if writes else 'looks only'}; Ctrl+C ends it")
        await ended.wait()
    finally:
        await runner.cleanup()
    return Exit.OK


class _Door:
    """Who is let in: the browser that came first with the token, on a page of ours."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self.origin = ""
        self._pass = secrets.token_urlsafe(32)
        self._spent = False

    def guard(self) -> Middleware:
        """Return what every request goes through."""
        from aiohttp import web  # noqa: PLC0415  (the extra may be missing)

        @web.middleware
        async def let_in(request: web.Request, handler: Handler) -> web.StreamResponse:
            if self._is_of_a_page_of_ours(request):
                if hmac.compare_digest(request.cookies.get("sot-pass", "").encode(), self._pass.encode()):
                    return await handler(request)
                said = request.query.get("token", "")
                if not self._spent and request.path == "/" and hmac.compare_digest(said.encode(), self.token.encode()):
                    self._spent = True
                    opened = web.HTTPSeeOther("/")
                    opened.set_cookie("sot-pass", self._pass, httponly=True, samesite="Strict", path="/")
                    return opened
            return web.Response(status=403, text="This page is opened once, by the address that sot-tui web printed.\n")

        return let_in

    def _is_of_a_page_of_ours(self, request: web.Request) -> bool:
        """Tell whether it names this very server, and comes from no other site's page."""
        origin = request.headers.get("Origin")
        return request.host == self.origin.removeprefix("http://") and origin in {None, self.origin}
