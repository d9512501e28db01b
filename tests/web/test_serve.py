"""`sprintlog serve` as a process: its output, its end, and its open files."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from sprintlog.cli.history import serve
from sprintlog.engine import extras
from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.projections.workspace import Workspace

from ..cli.conftest import Run
from .conftest import make_log

START = """
import signal, sys
from sprintlog.cli.__main__ import main
# A shell that starts it behind the tests would have it deaf.
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


class Serving(NamedTuple):
    """A server that runs."""

    process: "subprocess.Popen[str]"
    url: str
    port: int

    @property
    def token(self) -> str:
        """Return the token of the address."""
        return self.url.partition("token=")[2]

    def get(self, path: str, *headers: str) -> "socket.socket":
        """Request a path, and return the connection of the answer."""
        asked = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *headers, "", ""]
        asked.sendall("\r\n".join(lines).encode())
        return asked

    def listen(self, seen: int) -> "socket.socket":
        """Return a stream of events after a position."""
        key = f"Cookie: sprintlog-{self.port}={self.token}"
        return self.get("/events", key, f"Last-Event-ID: {seen}")

    def end(self, number: int) -> tuple[int, str]:
        """End it by a signal; return its exit status, and its stderr."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=20)
        return self.process.returncode, err


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Serving]:
    """Provide a server of a folder's log, ended with this context."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, "-v", "serve", "--json", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()
        said = json.loads(line)
        yield Serving(process, said["url"], said["port"])
    finally:
        process.kill()
        process.communicate()


def read_until(stream: "socket.socket", position: int) -> list[int]:
    """Return the positions in a stream up to a given one."""
    text = ""
    while f"\nid: {position}\r" not in text:
        got = stream.recv(65536)
        assert got, text
        text += got.decode()
    return [int(number) for number in re.findall(r"\nid: (\d+)\r", text)]


def note(folder: Path, text: str) -> None:
    """Append a note from elsewhere."""
    with Workspace.open(folder) as workspace:
        workspace.handle(AddNote(text), sprint_id="auth")


class ServerStory(NamedTuple):
    """The history of two consecutive servers, shared because processes start slowly."""

    urls: list[str]
    port: int
    token: str
    heard: list[list[int]]
    """What a page heard of the first, and five pages of the second."""
    codes: list[int]
    """How they ended: by SIGTERM, and by Ctrl-C."""
    said: list[str]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> ServerStory:
    """Return the screens of a server that is stopped and started with pages open."""
    log = make_log(tmp_path_factory.mktemp("served"))
    with serving(log, "--port", "0", "--write") as first:
        key = f"Cookie: sprintlog-{first.port}={first.token}"
        for path in (f"/?token={first.token}", f"/nowhere?token={first.token}", "/x"):
            with first.get(path, key) as answer:
                answer.recv(65536)
        with first.listen(0) as stream:
            heard = [read_until(stream, 3)]
            ended = [first.end(signal.SIGTERM)]
    note(log, "while nobody served")
    with serving(log, "--port", str(first.port)) as second:
        streams = [second.listen(3) for _ in range(5)]
        note(log, "and now")
        heard += [read_until(stream, 5) for stream in streams]
        ended.append(second.end(signal.SIGINT))
        for stream in streams:
            stream.close()
    codes, said = zip(*ended, strict=True)
    urls = [first.url, second.url]
    return ServerStory(urls, first.port, first.token, heard, [*codes], [*said])


def test_a_signal_ends_it_at_once_with_streams_open(story: ServerStory) -> None:
    """A server ends although pages listen, without complaint; Ctrl-C has its exit code."""
    assert story.codes[0] in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert story.codes[1] == 130
    assert not re.search("Traceback|warning", "".join(story.said))


def test_pages_go_on_after_a_restart(story: ServerStory) -> None:
    """With the same port and cookie, a page receives all missed events once."""
    url = f"http://127.0.0.1:{story.port}/?token={story.token}"
    assert story.urls == [url, url]
    assert story.heard == [[1, 2, 3], *[[4, 5]] * 5]


def test_no_token_is_in_what_it_says(story: ServerStory) -> None:
    """A log of requests contains neither parameters nor headers."""
    assert all(path in story.said[0] for path in ('"/nowhere"', '"/x"'))
    assert story.token not in "".join(story.said)


def test_a_port_that_is_taken_is_one_line(log: Path, run: Run) -> None:
    """If another program listens, it is reported with a command."""
    os.chdir(log)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--port", port)
    assert result.code == 1
    assert result.err.splitlines() == [
        f"error: cannot listen on 127.0.0.1, port {port}: Address already in use",
        "hint: run `sprintlog serve --port 0` to use a free port",
    ]


def test_what_is_not_installed_is_one_line(
    log: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the extra the error names it, and the command that installs it."""
    os.chdir(log)
    monkeypatch.setattr(
        extras, "find_spec", lambda name: None if name in serve.NEEDED else name
    )
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    result = run("serve")
    assert result.code == 1
    assert result.err.splitlines() == [
        "error: starlette, uvicorn, sse_starlette: not installed, and a live page needs it",
        "hint: `pip install 'sse-starlette>=2.1' 'starlette>=0.49' 'uvicorn>=0.30'`",
    ]


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        (["--actor", "agent:x"], 2, "--actor 'agent:x': must be operator or operator:NAME"),
        (["--port", "70000"], 2, "--port"),
        (["--host", "256.1.1.1"], 1, "cannot listen on 256.1.1.1"),
    ],
)
def test_wrong_options_are_refused(
    log: Path, run: Run, typed: list[str], code: int, said: str
) -> None:
    """An actor that is not a person, an invalid port, a foreign address."""
    os.chdir(log)
    result = run("serve", *typed)
    assert result.code == code
    assert said in result.err
    assert not list(log.glob(".sprintlog/serve.token"))


def test_without_a_log_there_is_nothing_to_serve(folder: Path, run: Run) -> None:
    """It is reported before anything listens, as by every command."""
    result = run("serve")
    assert result.code == 3
    assert "there is no log" in result.err
