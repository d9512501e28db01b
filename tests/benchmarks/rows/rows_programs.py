"""Rows about servers of programs: a question by JSON-RPC, and the start of MCP's tools."""

import json
import os
import selectors
import socket
import subprocess
import sys
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from ..logs import Bench, make_started
from ..measure import (
    OURS,
    PROCESSES,
    WALL_OF_PROCESSES,
    Figure,
    Skip,
    duration,
    rate,
    side_by_side,
    speed_up,
)
from ..samples import PHASES
from .rows_process import Shell, command

QUESTIONS, COMMANDS = 200, 3
WRITERS, ROUNDS = 32, 5
NOTE = b"""{"jsonrpc":"2.0","id":1,"method":"record","params":{"command":\
{"type":"add-note","text":"the form is there"}}}\n"""
SDK = "import mcp.server.mcpserver"
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def question(bench: Bench) -> Figure:
    """Measure `status` requests to `sprintlog rpc` against one command per request."""
    folder = bench.new_folder("asked")
    make_started(folder, PHASES)
    shell = Shell(bench, folder)
    shell.sprintlog("status", "--json")

    def commands() -> None:
        for _ in range(COMMANDS):
            shell.sprintlog("status", "--json")

    with RpcServer(shell) as server:
        server.ask("status")

        def questions() -> None:
            for _ in range(QUESTIONS):
                server.ask("status")

        sides = side_by_side(
            questions,
            commands,
            rounds=bench.sizes.processes,
            by=WALL_OF_PROCESSES,
            units=(QUESTIONS, COMMANDS),
        )
    return speed_up(sides, f"{OURS}one command per question")


def tools(bench: Bench) -> Figure:
    """Measure `sprintlog mcp` from its start to its first answer and end."""
    if find_spec("mcp") is None:
        raise Skip("mcp is not installed")
    folder = bench.new_folder("tools")
    make_started(folder, PHASES)
    shell, given = Shell(bench, folder), folder / "handshake.json"
    given.write_text(json.dumps(HANDSHAKE) + "\n")

    def serve() -> None:
        with given.open("rb") as told:
            shell.run(*command(), "mcp", given=told)

    serve()
    shell.run(sys.executable, "-c", SDK)
    sides = side_by_side(
        serve,
        lambda: shell.run(sys.executable, "-c", SDK),
        rounds=bench.sizes.processes,
        by=PROCESSES,
    )
    return duration(sides, f'python -c "{SDK}"')


def writers(bench: Bench) -> Figure:
    """Measure 32 programs that record through one server against a single program."""
    folder = bench.new_folder("listened")
    make_started(folder, PHASES)
    alone, together = bench.sizes.appends // 50, max(bench.sizes.appends // 5, WRITERS)
    with Listening(Shell(bench, folder)) as server:
        server.record(1, alone)
        sides = side_by_side(
            lambda: server.record(WRITERS, together),
            lambda: server.record(1, alone),
            rounds=ROUNDS if bench.sizes.appends > 1_000 else 1,
            by=WALL_OF_PROCESSES,
            units=(together, alone),
        )
    return rate(sides, f"{OURS}one writer there")


class Listening:
    """`sprintlog rpc --listen`, with writers that each await every answer."""

    def __init__(self, shell: Shell) -> None:
        self._process = subprocess.Popen(
            [*command(), "rpc", "--listen"],
            cwd=shell.folder,
            env=shell.environment,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        path = os.fsdecode(self._process.stdout.readline().rstrip(b"\n"))
        self._sockets = [socket.socket(socket.AF_UNIX) for _ in range(WRITERS)]
        for one in self._sockets:
            one.connect(path)

    def record(self, writers: int, count: int) -> None:
        """Let some writers record a number of notes in total."""
        with selectors.DefaultSelector() as answered:
            for one in self._sockets[:writers]:
                answered.register(one, selectors.EVENT_READ)
                one.sendall(NOTE)
            left, waiting = count - writers, writers
            while waiting:
                for key, _ in answered.select():
                    assert isinstance(key.fileobj, socket.socket)
                    line = key.fileobj.recv(1 << 16)
                    assert b'"result"' in line, line
                    waiting -= 1
                    if left > 0:
                        key.fileobj.sendall(NOTE)
                        left, waiting = left - 1, waiting + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self._sockets:
            one.close()
        self._process.terminate()
        self._process.communicate(timeout=60)


class RpcServer:
    """`sprintlog rpc`, queried by a caller that awaits every answer."""

    def __init__(self, shell: Shell) -> None:
        self._number = 0
        self._process = subprocess.Popen(
            [*command(), "rpc"],
            cwd=shell.folder,
            env=shell.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, name: str) -> Any:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": "ask"}
        line = json.dumps({**request, "params": {"question": name}})
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "result" in answer, answer
        return answer["result"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=60)
