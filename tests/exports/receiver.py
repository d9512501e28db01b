"""Servers on this machine that receive messages, and helpers for their tests."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.projections.workspace import Workspace

from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import run as run
from .told import AUTH, told_log

SECRET = "whsec_" + "c3ByaW50bG9nLXRlc3RzLWtleQ=="
EVENTS = 24
Answer = Callable[[BaseHTTPRequestHandler], int | None]


class Receiver:
    """A server on this machine that stores its input."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, dict[str, str], bytes]] = []
        self.asked = 0
        self.answers: list[Answer] = []
        """The actions for the next requests; status None cuts the connection."""
        self.status = 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?x=1"
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.01,), daemon=True).start()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.asked += 1
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answers = receiver.answers
                status = answers.pop(0)(self) if answers else receiver.status
                if status is None:
                    with suppress(OSError):
                        self.connection.shutdown(socket.SHUT_RDWR)
                    return
                if 200 <= status < 300:
                    receiver.taken.append((self.path, dict(self.headers), body))
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(receiver.body)

            def log_message(self, *said: object) -> None:
                """Print nothing."""

        return Handler

    def secure(self, certificate: Path, key: Path) -> None:
        """Speak TLS from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()

    def events(self) -> list[int]:
        """Return the positions of the accepted events."""
        return [int(json.loads(body)["sequence"]) for _, _, body in self.taken]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Provide a server that accepts everything."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the requested pauses; none of them is made."""
    made: list[float] = []
    monkeypatch.setattr("time.sleep", made.append)
    return made


@pytest.fixture
def log(folder: Path, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the prepared log, in which webhooks have a secret."""
    told_log(folder).close()
    monkeypatch.setenv("SPRINTLOG_WEBHOOK_SECRET", SECRET)
    return folder


@contextmanager
def speaking(speak: Callable[[socket.socket], object]) -> Iterator[str]:
    """Return host and port of a server that sends arbitrary data to each client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connected, _ = server.accept()
                    with connected, suppress(OSError):
                        speak(connected)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def says(status: int | None) -> Answer:
    """Return an answer function with a given status."""
    return lambda handler: status


def append(folder: Path, *events: Event, stream: str = AUTH) -> None:
    """Append events to a stream."""
    with Workspace.open(folder) as workspace:
        new = [
            new_event(event, at="2026-04-03T09:00:00Z", actor="runtime") for event in events
        ]
        workspace.log.append(stream, new, expect=Expect.ANY)
