"""A local HTTP server that speaks the chat API by a script, and misbehaves where the script says so.

`with ScriptedServer(["Hello"]) as server: …` answers the requests sent to `server.base_url` with the acts of the
script, one each; the last act answers all that follow.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """A chat completion with this text; an object is sent as its JSON.

    `breaks_after` drops the connection of a streamed reply after so many pieces. `usage` false leaves
    the token counts out.
    """

    content: str | Mapping[str, Any]
    finish: str = "stop"
    refusal: str | None = None
    usage: bool = True
    breaks_after: int | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """An HTTP error in OpenAI's form."""

    status: int
    message: str = "scripted failure"
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Status 200 with this body, whatever it is."""

    body: str
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Hang:
    """Reply that never comes: silence for some seconds, or until the server closes."""

    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection is reset without an answer."""


@dataclass(frozen=True, slots=True)
class WithoutFormats:
    """A server that refuses the named response formats (all by default) and else acts as `act`."""

    act: Act
    refused: tuple[str, ...] = ("json_schema", "json_object")


Act: TypeAlias = str | Mapping[str, Any] | Say | Fail | Raw | Hang | Drop | WithoutFormats
ServerScript: TypeAlias = Sequence[Act] | Callable[[Mapping[str, Any]], Act]


@dataclass(frozen=True, slots=True)
class Received:
    """A request the server got: its path, headers (lower-case names) and JSON body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that went away before its reply was sent."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class ScriptedServer:
    """The server, running in a thread between `__enter__` and `__exit__`; `requests` are those it got."""

    def __init__(self, script: ServerScript) -> None:
        self._script = script
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self.requests: list[Received] = []
        self._server = _Listener(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        """The base URL of the API for a client."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def act(self, *script: Act) -> None:
        """Go on with another script."""
        self._script = script

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def receive(self, received: Received) -> Act:
        """Note a request and give the act that answers it."""
        with self._lock:
            self.requests.append(received)
            number = len(self.requests)
        if callable(self._script):
            return self._script(received.body)
        return self._script[min(number, len(self._script)) - 1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: ScriptedServer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._act(self.owner.receive(Received(self.path, headers, body)), body)

    def log_message(self, format: str, *args: Any) -> None:
        """No-op: no access log in the output of tests."""

    def _act(self, act: Act, body: Mapping[str, Any]) -> None:
        if isinstance(act, WithoutFormats):
            asked = (body.get("response_format") or {}).get("type")
            refused = Fail(400, f"response_format type {asked!r} is not supported")
            self._act(refused if asked in act.refused else act.act, body)
        elif isinstance(act, Fail):
            error = {"message": act.message, "type": "error", "param": None, "code": act.code}
            self._send(act.status, json.dumps({"error": error}), act.headers)
        elif isinstance(act, Raw):
            self._send(200, act.body, {"Content-Type": act.content_type})
        elif isinstance(act, Hang):
            self.owner.closing.wait(act.seconds)
            self.close_connection = True
        elif isinstance(act, Drop):
            self._reset()
        else:
            said = act if isinstance(act, Say) else Say(act)
            if body.get("stream"):
                self._stream(said, str(body.get("model")))
            else:
                self._send(200, json.dumps(_completion(said, body)), {})

    def _send(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | dict(headers)).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, said: Say, model: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        text = _text(said)
        pieces = [text[start : start + 8] for start in range(0, len(text), 8)]
        for number, piece in enumerate(pieces):
            if number == said.breaks_after:
                return self._reset()
            self._chunk(model, [{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        self._chunk(model, [{"index": 0, "delta": {"refusal": said.refusal}, "finish_reason": said.finish}])
        if said.usage:
            self._chunk(model, [], _usage(text))
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, model: str, choices: list[Any], usage: Mapping[str, int] | None = None) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": model}
        line = json.dumps(chunk | {"choices": choices, "usage": usage})
        self.wfile.write(f"data: {line}\n\n".encode())
        self.wfile.flush()

    def _reset(self) -> None:
        """Reset the connection, as a crash would, instead of closing it in good order."""
        self.close_connection = True
        self.wfile.flush()
        time.sleep(0.02)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def _text(said: Say) -> str:
    return said.content if isinstance(said.content, str) else json.dumps(said.content, ensure_ascii=False)


def _usage(text: str) -> dict[str, int]:
    return {"prompt_tokens": 100, "completion_tokens": len(text.split()), "total_tokens": 100 + len(text.split())}


def _completion(said: Say, body: Mapping[str, Any]) -> dict[str, Any]:
    text = _text(said)
    message = {"role": "assistant", "content": None if said.refusal else text, "refusal": said.refusal}
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    found = {"id": "c", "object": "chat.completion", "created": 0, "model": body.get("model"), "choices": [choice]}
    return found | ({"usage": _usage(text)} if said.usage else {})
