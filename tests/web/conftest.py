"""A log with a started sprint, and the server of it in this process."""

import asyncio
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from sprintlog.cli.history.serve import served_by
from sprintlog.cli.web.actions import ACTIONS as ACTIONS
from sprintlog.cli.web.actions import TEXT_CHARS_MAX as TEXT_CHARS_MAX
from sprintlog.cli.web.app import Server as Server
from sprintlog.cli.web.app import ServerSettings
from sprintlog.cli.web.app import make_app as make_app
from sprintlog.cli.web.guard import Access, Guard, form_token
from sprintlog.cli.web.server import bound
from sprintlog.cli.web.server import made as made_to_serve
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.queue.requests import QueueRequests, SubmittedRequest
from sprintlog.projections.workspace import Workspace
from tests.leaks import open_files

from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import made as made
from ..cli.conftest import made_once as made_once
from ..cli.conftest import run as run
from ..cli.conftest import sprint as sprint

TOKEN = "t" * 43
PORT = 8642
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
KEY = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE_SECONDS = 20.0
FORM = {"form": form_token(TOKEN), "sprint": "auth"}

MakeServer = Callable[..., Server]


class Said(list[str]):
    """The stderr output of a server."""


def make_server(
    open_workspace: Callable[[], Workspace] | Mapping[str, Callable[[], Workspace]],
    said: list[str],
    *,
    writes: bool = False,
    port: int = PORT,
    actor: str = "operator:web",
) -> Server:
    """Return a server with a known token."""
    access = Access(TOKEN, port=port)
    settings = ServerSettings(access, served_by(), writes=writes, actor=actor)
    logs = {"": open_workspace} if callable(open_workspace) else open_workspace
    return Server(logs, settings, said.append)


@pytest.fixture
def server_of() -> MakeServer:
    """Return a function that creates a server of a folder's log."""

    def make(folder: Path, *, writes: bool = False) -> Server:
        return make_server(lambda: Workspace.open(folder), [], writes=writes)

    return make


def make_log(folder: Path) -> Path:
    """Create a log with the started sprint `auth` and one request."""
    plan = {
        "phases": [{"id": "setup", "prompt": "Set up"}, {"id": "build", "prompt": "Do"}]
    }
    asked = SubmittedRequest("Crash", "high", "bug", request="req-1")
    with Workspace.init(folder, here=True) as workspace:
        create = CreateSprint(plan=plan, place=Place("PROGRESS.yaml"))
        for command in (create, StartSprint(), QueueRequests((asked,))):
            workspace.handle(command, sprint_id="auth", at="2026-01-15T09:00:00Z")
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a folder with such a log."""
    return make_log(tmp_path)


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a browser before a server that only reads, which its tests share."""
    folder = make_log(tmp_path_factory.mktemp("read"))
    server = make_server(lambda: Workspace.open(folder), [])
    with TestClient(make_app(server), base_url=ORIGIN) as client:
        # The log is opened by the first request and by the thread that follows it, and
        # remains open: both have read it before the first test.
        client.get(f"/?token={TOKEN}")
        last = str(folder / ".sprintlog" / "log.db-wal")
        end = time.monotonic() + 10
        while [*open_files().values()].count(last) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        yield client


@pytest.fixture
def stranger(visitor: TestClient) -> TestClient:
    """Return a client that has never visited the server."""
    visitor.cookies.clear()
    return visitor


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    """Return a client that was admitted."""
    stranger.get(f"/?token={TOKEN}")
    return stranger


@pytest.fixture
def writer(log: Path, server_of: MakeServer) -> Iterator[TestClient]:
    """Return a browser admitted to a server that records."""
    with writing(server_of(log, writes=True)) as client:
        yield client


@contextmanager
def writing(server: Server) -> Iterator[TestClient]:
    """Provide an admitted browser whose forms the server accepts."""
    app = make_app(server)
    with TestClient(app, base_url=ORIGIN, headers={"Origin": ORIGIN}) as client:
        client.get(f"/?token={TOKEN}")
        yield client


def version_in(page: str) -> str:
    """Return the version that a page asks about."""
    found = re.search(r'name="version" value="(\d+)"', page)
    assert found is not None, page
    return found[1]


def agree(writer: TestClient, command: str, given: dict[str, str]) -> Any:
    """Send a form, and confirm the preview; return the last answer."""
    asked = writer.post("/act", params={"do": command}, data={**FORM, **given})
    assert asked.status_code == 200, asked.text
    again = {**FORM, **given, "version": version_in(asked.text)}
    return writer.post("/act", params={"do": command}, data=again, follow_redirects=False)


class Heard(NamedTuple):
    """One message of a stream of events."""

    event: str
    id: int
    data: dict[str, Any]


class Listener:
    """A page that listens, with its received events in order."""

    def __init__(self, app: Guard, *, after: int | None = None, seen: int | None = None):
        headers = [(b"host", HOST.encode())]
        headers += [(name.lower().encode(), x.encode()) for name, x in KEY.items()]
        headers += [] if seen is None else [(b"last-event-id", str(seen).encode())]
        self._scope = {
            "type": "http",
            "method": "GET",
            "path": "/events",
            "query_string": b"" if after is None else f"after={after}".encode(),
            "headers": headers,
        }
        self._app = app
        self._rest = ""
        self._gone = asyncio.Event()
        self._news = asyncio.Event()
        self.reads = asyncio.Event()
        """While cleared, the client stops reading."""
        self.reads.set()
        self.status = 0
        self.heard: list[Heard] = []
        self.task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        asked = False

        async def receive() -> Message:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
            else:
                self._take(message["body"].decode())
            self._news.set()
            await self.reads.wait()

        try:
            await self._app(self._scope, receive, send)
        finally:
            self._news.set()

    def _take(self, text: str) -> None:
        *whole, self._rest = (self._rest + text).split("\r\n\r\n")
        for message in whole:
            lines = [line.partition(": ") for line in message.splitlines()]
            fields = {name: value for name, _, value in lines if name}
            if "data" in fields:
                event = fields.get("event", "message")
                data = json.loads(fields["data"])
                self.heard.append(Heard(event, int(fields["id"]), data))

    @property
    def positions(self) -> list[int]:
        """Return the positions that were heard of."""
        return [one.id for one in self.heard]

    async def until(self, is_so: Callable[["Listener"], bool]) -> None:
        """Wait until a condition holds; fail if it never does."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so(self):
                assert not self.task.done(), self.heard
                self._news.clear()
                if not is_so(self):
                    await self._news.wait()

    async def until_at(self, position: int) -> None:
        """Wait until a position was heard of."""
        await self.until(lambda one: position in one.positions)

    async def ended(self) -> None:
        """Wait until the server ends it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.wait([self.task])

    async def leave(self) -> None:
        """Close the page."""
        self._gone.set()
        self.reads.set()
        await self.ended()


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Guard]:
    """Give the application of a server while it follows its log."""
    app = make_app(server)
    async with server.running(app):  # type: ignore[arg-type]
        yield app


@contextmanager
def listening(
    folder: Path | Server, *, writes: bool = False, port: int = 0
) -> Iterator[int]:
    """Give the port of a server of a folder's log, which is in a thread of this process."""
    taken = bound("127.0.0.1", port)
    port = taken.getsockname()[1]
    if isinstance(folder, Path):
        opens = partial(Workspace.open, folder)
        server = make_server(opens, [], writes=writes, port=port)
    else:
        server = folder
    serves, loop = made_to_serve(make_app(server)), asyncio.new_event_loop()

    def run() -> None:
        loop.run_until_complete(serves.serve(sockets=[taken]))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield port
    finally:
        serves.should_exit = True
        # A signal normally ends a server's streams; here there is none.
        loop.call_soon_threadsafe(server.close)
        thread.join()
        taken.close()


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine in a thread, because a browser may have a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(test())).result()
