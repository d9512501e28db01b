"""Clients that ask without a pause, send invalid lines, and lose their servers."""

import json
import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import sprintlog
from sprintlog.engine.log.chain import check_chain

from .conftest import AnyServer, Beside
from .test_frames import HOSTILE

UNDER_WAY_MAX = 40
CALL_EVERY = 1_000
"""Of so many requests one is done by a process."""
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("status", {}),
    ("next", {}),
    ("log", {"limit": 5}),
    ("show progress", {}),
    ("status", {"at": "version:2"}),
    ("nothing", {}),
)
LINES = [
    line for name, (line, _) in HOSTILE.items() if line and name not in ("huge", "deep")
]


Connect = Callable[[], AnyServer]


class StormClient(threading.Thread):
    """One client with a separate server, which is killed at times."""

    def __init__(
        self, name: str, *, requests: int, kills: int, seed: int, connect: Connect
    ) -> None:
        super().__init__(name=name)
        self._connect = connect
        self._chance = random.Random(f"{name} {seed}")
        self._left = requests
        self._kills = {*self._chance.sample(range(requests), kills)}
        self._under_way: dict[int, dict[str, Any]] = {}
        # Some hostile lines have an id.
        self._number = 1_000
        self.counts: Counter[str] = Counter()
        self.positions: dict[str, int] = {}
        """The position at which each key was acknowledged."""
        self.problems: list[str] = []

    def run(self) -> None:
        """Ask until all is answered."""
        again: list[dict[str, Any]] = []
        while self._left or again or self._under_way:
            with self._connect() as server, suppress(EOFError, ConnectionError):
                # If another thread kills the server in the meantime, all requests are sent
                # again.
                self._under_way = {request["id"]: request for request in again}
                for request in again:
                    self._ask(server, request)
                again = []
                while self._left:
                    self._send_one(server)
                while self._under_way:
                    self._take(server)
                if (count := open_files(server)) > server.files_max:
                    self.problems.append(f"{count} files are open")
            again = [*self._under_way.values()]
            self._under_way.clear()

    def _send_one(self, server: AnyServer) -> None:
        self._left -= 1
        kind = self._chance.random()
        if self._left in self._kills:
            self.counts["kills"] += 1
            self._request(server, "record", self._note())
            server.process.kill()
            server.process.wait()
        elif self._left % CALL_EVERY == 0 and server.has_processes:
            self._request(server, "call", {"words": ["status"]})
        elif kind < 0.6:
            self._request(server, "record", self._note())
        elif kind < 0.85:
            question, given = self._chance.choice(QUESTIONS)
            self._request(server, "ask", {"question": question, "given": given})
        elif kind < 0.9:
            self._request(server, "cancel", {"id": -1})
        else:
            self.counts["hostile"] += 1
            server.send_line(self._chance.choice(LINES))
        while len(self._under_way) > UNDER_WAY_MAX:
            self._take(server)

    def _note(self) -> dict[str, Any]:
        key = f"{self.name}-{self._left}"
        return {"command": {"type": "add-note", "text": key}, "key": key, "sprint": "auth"}

    def _request(self, server: AnyServer, method: str, params: dict[str, Any]) -> None:
        self._number += 1
        self.counts[method] += 1
        self._ask(
            server,
            {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params},
        )

    def _ask(self, server: AnyServer, request: dict[str, Any]) -> None:
        self._under_way[request["id"]] = request
        server.send_line(json.dumps(request).encode())

    def _take(self, server: AnyServer) -> None:
        """Read an answer, and compare it with the request."""
        answer = server.client.next()
        if "method" in answer:
            return
        request = self._under_way.pop(answer["id"], None)
        if request is None:
            if "error" not in answer:
                self.problems.append(f"an answer without a request: {answer}")
            return
        params = request["params"]
        if request["method"] == "record":
            if "error" in answer:
                self.problems.append(f"{params['key']}: {answer['error']['message']}")
                return
            self.positions[params["key"]] = answer["result"]["position"]
        elif ("error" in answer) != (params.get("question") == "nothing"):
            self.problems.append(f"{request['method']}: {answer}")


def open_files(server: AnyServer) -> int:
    """Return the number of a server's open files; 0 if the system does not report it."""
    folder = Path(f"/proc/{server.process.pid}/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0


def storm(
    folder: Path,
    *,
    requests: int,
    kills: int,
    seed: int,
    clients_count: int = 2,
    connect: Connect = Beside,
) -> tuple[str, list[str]]:
    """Let clients send requests; return results, and lost, duplicate or wrong answers."""
    clients = [
        StormClient(
            f"client-{number}",
            requests=requests // clients_count,
            kills=kills // clients_count,
            seed=seed,
            connect=connect,
        )
        for number in range(clients_count)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    problems = [problem for client in clients for problem in client.problems]
    acknowledged = {k: v for client in clients for k, v in client.positions.items()}
    with sprintlog.open(folder) as workspace:
        events = [*workspace.log.read()]
        problems += [str(problem) for problem in check_chain(events)]
    kept: dict[str, list[int]] = {}
    for event in events:
        if event.type == "note-added":
            kept.setdefault(str(event.key), []).append(event.position)
    wanted = sum(client.counts["record"] for client in clients)
    if {key: [position] for key, position in acknowledged.items()} != kept:
        problems.append(f"{len(acknowledged)} acknowledged, {len(kept)} kept")
    if len(kept) != wanted:
        problems.append(f"{wanted} asked for, {len(kept)} kept")
    counts = sum((client.counts for client in clients), Counter[str]())
    said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return f"{requests} lines of {clients_count} clients: {said}", problems
