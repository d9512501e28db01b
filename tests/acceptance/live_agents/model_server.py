"""A scripted model server on this machine: four dialects, one set of plays.

`python -m tests.acceptance.live_agents.model_server [PORT] [LEDGER]` serves until it is
stopped, and writes a line per answer to the ledger.
"""

import json
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, Self

from . import anthropic, chat, gemini, responses
from .dialects import Asked
from .plays import TITLE, Act, Linger, Refuse, Say, Stage
from .tokens import Answered, Ledger
from .tools import call_of

_DIALECTS = {"anthropic": anthropic, "responses": responses, "gemini": gemini, "chat": chat}
_OF_GEMINI = re.compile(r"/models/([^/:]+):(\w+)$")
_PAUSE_SECONDS = 0.25


class ModelServer:
    """Serve on a port of 127.0.0.1, in separate threads."""

    def __init__(
        self, *, port: int = 0, ledger: Ledger | None = None, thinks: float = 0
    ) -> None:
        """Listen on a port; `thinks` is the time in seconds before a play's first act."""
        self.thinks = thinks
        self.ledger = ledger or Ledger()
        self.stage = Stage()
        self.numbers = count(1)
        self.requests: list[Any] = []
        self.lingers = threading.Event()
        """Set once the model delays its answer, while the agent is working."""
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler_of(self))
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def serve(self) -> None:
        """Serve until stopped."""
        self._http.serve_forever(poll_interval=0.1)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler_of(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        scripted = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: ModelServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (inherited name)
        """Print nothing."""

    def do_HEAD(self) -> None:
        """Confirm that the server is running."""
        self._send(200, {})

    def do_GET(self) -> None:
        """Return the list of models."""
        if self.path.partition("?")[0].endswith("/models"):
            self._send(200, {"object": "list", "data": [], "models": []})
        else:
            self._unknown()

    def do_POST(self) -> None:
        """Return the next act."""
        body = json.loads(self._body() or b"{}")
        self.scripted.requests.append(body)
        path = self.path.partition("?")[0]
        if path.endswith("/messages/count_tokens"):
            self._send(200, {"input_tokens": 100})
        elif path.endswith(":countTokens"):
            self._send(200, {"totalTokens": 100})
        elif path.endswith("/messages"):
            self._answer(anthropic.read(body), streams=body.get("stream") is True)
        elif path.endswith("/responses"):
            self._answer(responses.read(body), streams=body.get("stream") is True)
        elif path.endswith("/chat/completions"):
            self._answer(chat.read(body), streams=body.get("stream") is True)
        elif found := _OF_GEMINI.search(path):
            streams = found[2] == "streamGenerateContent"
            self._answer(gemini.read(body, found[1]), streams=streams)
        else:
            self._unknown()

    def _answer(self, asked: Asked, *, streams: bool) -> None:
        dialect: Any = _DIALECTS[asked.dialect]
        act: Act = TITLE
        if asked.play is not None:
            act = self.scripted.stage.act(
                asked.play, asked.step, of=asked.dialect + asked.conversation
            )
            if asked.step == 0:
                time.sleep(self.scripted.thinks)
        number = next(self.scripted.numbers)
        if isinstance(act, Refuse):
            self._enter(asked, act, status=act.status, is_whole=True)
            self._send(act.status, dialect.refused(act.status), wait=act.retry_after)
        elif not streams:
            text = act if isinstance(act, Say) else Say("I cannot do this at once.")
            self._enter(asked, act, is_whole=True)
            self._send(200, dialect.whole(text, asked, number))
        else:
            if isinstance(act, Linger):
                self.scripted.lingers.set()
            is_whole = self._stream(_frames(act, asked, dialect, number))
            self._enter(asked, act, is_whole=is_whole)

    def _stream(self, frames: Iterable[bytes]) -> bool:
        """Send frame after frame; return whether the client received all of them."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for frame in frames:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True
            return False
        return True

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = bytearray()
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return bytes(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _send(self, status: int, content: Any, *, wait: int | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if wait is not None:
            self.send_header("Retry-After", str(wait))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _unknown(self) -> None:
        path = self.path.partition("?")[0]
        self.scripted.ledger.enter(Answered("", "", None, 0, "", 404, True, path))
        self.close_connection = True
        self._send(404, {"error": {"message": "not part of any play"}})

    def _enter(self, asked: Asked, act: Act, *, is_whole: bool, status: int = 200) -> None:
        name = type(act).__name__
        self.scripted.ledger.enter(
            Answered(
                asked.dialect, asked.model, asked.play, asked.step, name, status, is_whole
            )
        )


def _frames(act: Act, asked: Asked, dialect: Any, number: int) -> Iterator[bytes]:
    if call := call_of(act, asked.tools, asked.folder):
        yield from dialect.called(call, asked, number)
    elif isinstance(act, Linger):
        words = ["still "] * round(act.seconds / _PAUSE_SECONDS)
        for frame in dialect.said(words, asked, number):
            time.sleep(_PAUSE_SECONDS)
            yield frame
    else:
        text = act.text if isinstance(act, Say) else "There is no tool for this."
        yield from dialect.said([text], asked, number)


def main() -> None:
    """Serve until stopped."""
    port, file = [*sys.argv[1:], "0", ""][:2]
    ledger = Ledger(Path(file) if len(sys.argv) > 2 else None)
    server = ModelServer(port=int(port), ledger=ledger)
    print(server.url, flush=True)
    server.serve()


if __name__ == "__main__":
    main()
