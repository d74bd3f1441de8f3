"""A stand-in for the two APIs, on this machine alone: every request gets one short answer, streamed.

It speaks as much of the Messages API and of the Responses API as an agent needs for one turn. It holds no key and asks
for none.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

REPLY = "Hello from the stand-in."


class StandIn:
    """The server, while it is entered; `asked` are the bodies of the turns."""

    def __init__(self, pause_s: float = 0.0) -> None:
        """`pause_s` is how long each piece of a slow answer is waited for: that of a turn which the wake began."""
        self.asked: list[dict[str, Any]] = []
        self.streaming = threading.Event()
        """Set while a slow answer is under way."""
        asked, streaming = self.asked, self.streaming

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                said = json.loads(body) if body.startswith(b"{") else {}
                if self.path.partition("?")[0].endswith("/messages"):
                    asked.append(said)
                    # What has no tools is no turn: a title is asked for beside it.
                    is_turn = bool(said.get("tools")) and "[sot-comm]" in json.dumps(said.get("messages"))
                    slow = pause_s if is_turn else 0.0
                    self._stream(_claude(said, slow > 0), slow) if said.get("stream") else self._json(_message(said))
                elif self.path.partition("?")[0].endswith("/responses"):
                    asked.append(said)
                    self._stream(_codex())
                else:
                    self._json({"input_tokens": 1})

            def do_GET(self) -> None:
                self._json({"data": [], "models": []})

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def _json(self, said: object) -> None:
                data = json.dumps(said).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, events: list[dict[str, Any]], slow: float = 0.0) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                if slow:
                    streaming.set()
                for event in events:
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                    self.wfile.flush()
                    time.sleep(slow)
                if slow:
                    streaming.clear()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


_USAGE = {"input_tokens": 1, "output_tokens": 1}


def _message(said: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": said.get("model", ""), "usage": _USAGE,
        "content": [{"type": "text", "text": REPLY}], "stop_reason": "end_turn", "stop_sequence": None,
    }  # fmt: skip


def _claude(said: dict[str, Any], is_long: bool = False) -> list[dict[str, Any]]:
    more = [f"\n\nParagraph {number} of a slow answer." for number in range(4)] if is_long else []
    return [
        {"type": "message_start", "message": {**_message(said), "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
            for text in (REPLY, *more)
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": _USAGE},
        {"type": "message_stop"},
    ]


def _codex() -> list[dict[str, Any]]:
    item = {
        "type": "message", "role": "assistant", "id": "item_1",
        "content": [{"type": "output_text", "text": REPLY}],
    }  # fmt: skip
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]
