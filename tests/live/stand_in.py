"""A stand-in for the two APIs, on this machine alone: every request gets one short answer, streamed.

It speaks as much of the Messages API and of the Responses API as an agent needs for a turn. What a person asks for may
have a call of a tool for its answer; the tool's result then has the short one. It holds no key and asks for none.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedIOBase
    from types import TracebackType

REPLY = "Hello from the stand-in."


SLOWLY = "take your time"
"""What a person says for an answer that comes slowly."""


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: str
    arguments: dict[str, Any]


class StandIn:
    """The server, while it is entered; `asked` are the bodies of the turns."""

    def __init__(self, pause_s: float = 0.0, calls: Mapping[str, Call] | None = None) -> None:
        """`pause_s` is how long each piece of a slow answer is waited for: that of a turn which the wake began.

        `calls` are the answers to what a person asks for with these words.
        """
        self.asked: list[dict[str, Any]] = []
        self.streaming = threading.Event()
        """Set while a slow answer is under way."""
        asked, streaming = self.asked, self.streaming
        answer = partial(_answer, pause_s, calls or {})

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                said = json.loads(body) if body.startswith(b"{") else {}
                if self.path.partition("?")[0].endswith("/messages"):
                    asked.append(said)
                    slow, call = answer(said.get("messages", []) if said.get("tools") else [])
                    if said.get("stream"):
                        self._stream(_claude(said, call, is_long=slow > 0), slow)
                    else:
                        self._json(_message(said))
                elif self.path.partition("?")[0].endswith("/responses"):
                    asked.append(said)
                    slow, call = answer(said.get("input", []))
                    self._stream(_codex(call), slow)
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
                _send(self.wfile, events, slow)
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


def _send(file: BufferedIOBase, events: list[dict[str, Any]], pause_s: float) -> None:
    with suppress(ConnectionError):  # who asked was interrupted, and has left
        for event in events:
            file.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            file.flush()
            time.sleep(pause_s)


def _answer(pause_s: float, calls: Mapping[str, Call], said: list[dict[str, Any]]) -> tuple[float, Call | None]:
    """Return how slowly a turn is answered, and by which call; a request without tools is no turn."""
    newest = _newest(said)
    slow = pause_s if "[sot-comm]" in json.dumps(said) or SLOWLY in newest else 0.0
    return slow, next((call for text, call in calls.items() if text in newest), None)


def _newest(messages: list[dict[str, Any]]) -> str:
    """Return what a person has said last; empty where a tool has answered since."""
    said = [message for message in messages if message.get("role") == "user" or "output" in message]
    content = said[-1].get("content") if said else None
    if not isinstance(content, list):
        return content or ""
    return str(content[-1].get("text", ""))


_USAGE = {"input_tokens": 1, "output_tokens": 1}


def _message(said: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "usage": _USAGE,
        "model": said.get("model", ""),
        "content": [{"type": "text", "text": REPLY}], "stop_reason": "end_turn", "stop_sequence": None,
    }  # fmt: skip


def _claude(said: dict[str, Any], call: Call | None, *, is_long: bool = False) -> list[dict[str, Any]]:
    more = [f"\n\nParagraph {number} of a slow answer." for number in range(4)] if is_long else []
    stop = "tool_use" if call else "end_turn"
    return [
        {"type": "message_start", "message": {**_message(said), "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
            for text in (REPLY, *more)
        ),
        {"type": "content_block_stop", "index": 0},
        *(_claude_call(call) if call else []),
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": _USAGE},
        {"type": "message_stop"},
    ]


def _claude_call(call: Call) -> list[dict[str, Any]]:
    used = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": call.tool, "input": {}}
    given = {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}
    return [
        {"type": "content_block_start", "index": 1, "content_block": used},
        {"type": "content_block_delta", "index": 1, "delta": given},
        {"type": "content_block_stop", "index": 1},
    ]


def _codex(call: Call | None) -> list[dict[str, Any]]:
    item: dict[str, Any] = {
        "type": "message", "role": "assistant", "id": "item_1",
        "content": [{"type": "output_text", "text": REPLY}],
    }  # fmt: skip
    if call:
        item = {"type": "function_call", "id": "item_1", "call_id": f"call_{uuid.uuid4().hex}"}
        item |= {"name": call.tool, "arguments": json.dumps(call.arguments)}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]
