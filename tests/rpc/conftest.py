"""A client of the server, in this process over a pipe, or in another process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, Protocol, Self

import pytest

from sprintlog.cli.agents.rpc import host
from sprintlog.cli.rpc.frames import Channel
from sprintlog.cli.rpc.methods import Asking
from sprintlog.cli.rpc.session import ClientSession
from sprintlog.cli.rpc.worker import LogWorker

from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import made as made
from ..cli.conftest import made_once as made_once
from ..cli.conftest import run as run
from ..cli.conftest import sprint as sprint


class RefusedAnswer(Exception):  # noqa: N818 - an answer
    """An answer that is an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code, self.message = error["code"], error["message"]
        self.data = error.get("data")


class Client:
    """Sends requests, and stores the notifications separately from the answers."""

    def __init__(self, write: Callable[[bytes], object], read: Callable[[], bytes]) -> None:
        self._write, self._read = write, read
        self._number = 0
        self.told: list[dict[str, Any]] = []
        self.answers: dict[Any, dict[str, Any]] = {}

    def send(self, method: str, **params: Any) -> int:
        """Ask without waiting; return the id."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._write(json.dumps(request).encode())
        return self._number

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification, which has no answer."""
        request = {"jsonrpc": "2.0", "method": method, "params": params}
        self._write(json.dumps(request).encode())

    def line(self, content: bytes) -> dict[str, Any]:
        """Send a line unchanged; return the next message."""
        self._write(content)
        return self.next()

    def next(self) -> dict[str, Any]:
        """Return the next message of any kind."""
        line = self._read()
        if not line:
            raise EOFError("the server has ended")
        found: dict[str, Any] = json.loads(line)
        assert found.pop("jsonrpc") == "2.0"
        return found

    def wait(self, number: int) -> Any:
        """Return the answer to a request; raise `RefusedAnswer` for an error."""
        while number not in self.answers:
            found = self.next()
            if "method" in found:
                self.told.append(found)
            else:
                self.answers[found["id"]] = found
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RefusedAnswer(answer["error"])
        return answer["result"]

    def ask(self, method: str, **params: Any) -> Any:
        """Ask and wait."""
        return self.wait(self.send(method, **params))

    def record(
        self, tag: str, *, about: dict[str, Any] | None = None, **fields: Any
    ) -> Any:
        """Record a command."""
        return self.ask("record", command={"type": tag, **fields}, **(about or {}))

    def refused(self, method: str, **params: Any) -> RefusedAnswer:
        """Return the error that a request is answered with."""
        with pytest.raises(RefusedAnswer) as raised:
            self.ask(method, **params)
        return raised.value

    def events(self, count: int) -> list[dict[str, Any]]:
        """Return a number of notified events, including earlier ones."""
        while len(found := [x for x in self.told if x["method"] == "event"]) < count:
            self.told.append(self.next())
        return [one["params"]["event"] for one in found]


class Here:
    """A server in this process: a session with a pipe for its answers."""

    def __init__(self, *, actor: str = "runtime", sprint: str | None = None) -> None:
        reading, self._writing = os.pipe()
        self._reading = os.fdopen(reading, "rb")
        served = host()
        self._worker = LogWorker(served)
        self.session = ClientSession(
            Channel(self._writing), Asking(served, actor, sprint), self._worker
        )
        self.client = Client(self.session.take, self._reading.readline)

    def __enter__(self) -> Client:
        self._worker.start()
        self.session.start()
        return self.client

    def __exit__(self, *error: object) -> None:
        self.session.finish()
        self._worker.end()
        os.close(self._writing)
        self._reading.close()


class AnyServer(Protocol):
    """A server in another process, used by a single client."""

    process: "subprocess.Popen[bytes]"
    client: Client
    has_processes: bool
    files_max: int
    """More open files than these were never closed."""

    def send_line(self, line: bytes) -> None:
        """Send a line unchanged."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Beside:
    """A server in a separate process."""

    has_processes = True
    # The log requires four files, and pipes require three.
    files_max = 16

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-P", "-m", "sprintlog.cli", "rpc", *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.client = Client(self.send_line, self.process.stdout.readline)

    def send_line(self, line: bytes) -> None:
        """Send a line unchanged."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> int:
        """End its input, and return its exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if not self.process.stdin.closed:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


@pytest.fixture
def client(sprint: Any) -> Iterator[Client]:
    """Return a client of a server in this process, with the sprint `auth`."""
    with ExitStack() as held:
        yield held.enter_context(Here())
