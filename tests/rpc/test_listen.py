"""A server on a socket: access, hostile clients, and its end."""

import json
import os
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import sprintlog
from sprintlog.cli.agents.rpc import SOCKET, host, met
from sprintlog.cli.rpc import listener, session
from sprintlog.cli.rpc.listener import Listener
from sprintlog.engine.errors import RefusedError, UnreadableError
from sprintlog.engine.log import append
from sprintlog.engine.log.stores.sqlite.database import Connection
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.projections import questions

from ..cli.conftest import Run
from .conftest import RefusedAnswer
from .sockets import SECONDS, Connected, Server
from .storm import LINES

CLIENTS = 8


@contextmanager
def listening(folder: Path, *, idle_seconds: float = SECONDS) -> Iterator[threading.Thread]:
    """Provide a server in this process, ended by removing its socket."""
    with met(folder) as place:
        server = Listener(host(), place, actor="runtime", sprint=None)
        thread = threading.Thread(
            target=server.serve, kwargs={"idle_seconds": idle_seconds}
        )
        thread.start()
        try:
            yield thread
        finally:
            (folder / SOCKET).unlink(missing_ok=True)
            thread.join(SECONDS)
            assert not thread.is_alive()


@pytest.fixture
def log_folder(sprint: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a log with the sprint `auth`; servers poll often."""
    monkeypatch.setattr(listener, "LOOK_SECONDS", 0.02)
    return sprint / ".sprintlog"


@pytest.fixture
def connect(log_folder: Path) -> Iterator[Any]:
    """Return a function that connects to a listening server."""
    with ExitStack() as held:
        held.enter_context(listening(log_folder))

        def connect() -> Connected:
            one = Connected(log_folder)
            held.callback(one.close)
            return one

        yield connect


def test_many_clients_share_one_log(connect: Any, log_folder: Path, done: Run) -> None:
    """Each client has its own actor and sees others' records; the folder is locked."""
    found = (log_folder / SOCKET).stat()
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert stat.S_ISSOCK(found.st_mode)
    one, other = connect(), connect()
    one.ask("initialize", actor="agent:one")
    one.record("add-note", text="hi")
    other.record("add-note", text="ho")
    log = other.ask("ask", question="log", given={"after": 2})
    assert [event["actor"] for event in log] == ["agent:one", "runtime"]
    assert done("doctor").code == 0


def test_a_socket_starts_no_process(connect: Any, sprint: Path) -> None:
    """A client, perhaps in a sandbox, gets access to the log alone."""
    client = connect()
    error = client.refused("call", words=["run", "--", "touch", "outside"])
    assert (error.code, error.message) == (-32001, session.NO_PROCESS)
    assert "call" not in client.ask("initialize")["methods"]
    assert not (sprint / "outside").exists()


def test_what_clients_record_at_once_is_committed_at_once(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are fewer commits than requests, and each answer has a distinct position."""
    commits: list[int] = []
    together = SqliteLog.together

    @contextmanager
    def counted(log: SqliteLog) -> Iterator[None]:
        with together(log):
            yield
        commits.append(1)

    monkeypatch.setattr(SqliteLog, "together", counted)
    clients = [connect() for _ in range(CLIENTS)]
    clients[0].ask("ask", question="status")
    numbers = [
        (client, client.send("record", command={"type": "add-note", "text": "x"}))
        for _ in range(10)
        for client in clients
    ]
    versions = [client.wait(number)["version"] for client, number in numbers]
    assert sorted(versions) == [*range(3, 3 + 10 * CLIENTS)]
    assert 0 < len(commits) < 10 * CLIENTS / 2


def test_each_is_done_in_its_order_and_refused_alone(connect: Any, sprint: Path) -> None:
    """Refusals, repeated keys and commands with side effects delay no other answer."""
    clients = [connect() for _ in range(4)]
    asked = []
    for client in clients:
        asked += [
            (client, client.send("record", command={"type": "add-note", "text": "1"})),
            (client, client.send("record", command={"type": "start-phase", "phase": "no"})),
            (client, client.send("record", command={"type": "start-iteration"})),
            (client, client.send("record", command={"type": "end-iteration"})),
            (
                client,
                client.send(
                    "record", command={"type": "add-note", "text": "same"}, key="same"
                ),
            ),
            (client, client.send("ask", question="status")),
        ]
    outcomes = []
    for client, number in asked:
        try:
            outcomes.append(client.wait(number))
        except RefusedAnswer as error:
            outcomes.append(error.code)
    by_client = [outcomes[n : n + 6] for n in range(0, len(outcomes), 6)]
    assert all(one[1] < 0 for one in by_client)
    assert sum(not one[4].get("duplicate", False) for one in by_client) == 1
    for one in by_client:
        known = [
            x["version"] for x in one if isinstance(x, dict) and not x.get("duplicate")
        ]
        assert known == sorted(known)
    with sprintlog.open(sprint) as workspace:
        notes = [e.key for e in workspace.events("auth") if e.type == "note-added"]
    assert (len(notes), notes.count("same")) == (5, 1)


def notes_at_once(clients: list[Connected], is_busy: threading.Event) -> list[Any]:
    """Let each client record a note while the server is busy; return the outcomes."""
    is_busy.clear()
    clients[0].send("ask", question="status")
    assert is_busy.wait(60)
    numbers = [
        (client, client.send("record", command={"type": "add-note", "text": f"{number}"}))
        for number, client in enumerate(clients)
    ]
    outcomes: list[Any] = []
    for client, number in numbers:
        try:
            outcomes.append(client.wait(number)["version"])
        except RefusedAnswer as error:
            outcomes.append(error.code)
    return outcomes


@pytest.fixture
def slow_question(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Slow `status` down so that all following requests wait for one round.

    The result waits until the server is busy with it.
    """
    answer = questions.QUESTIONS["status"].answer
    began = threading.Event()

    def slow(asked: Any) -> Any:
        began.set()
        time.sleep(0.5)
        return answer(asked)

    route = questions.QUESTIONS["status"]._replace(answer=slow)
    monkeypatch.setitem(questions.QUESTIONS, "status", route)
    return began


def test_a_fault_of_one_is_nobody_elses(
    connect: Any, slow_question: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All requests are reverted and handled separately: one gets the error, once."""
    tries: list[bytes] = []
    place = append.place

    def faulty(stream: str, events: Any, *more: Any) -> Any:
        tries.append(events[0].payload)
        if b'"2"' in events[0].payload:
            raise OSError(5, "Input/output error")
        return place(stream, events, *more)

    monkeypatch.setattr(append, "place", faulty)
    clients = [connect() for _ in range(CLIENTS)]
    outcomes = notes_at_once(clients, slow_question)
    assert len(tries) > CLIENTS
    assert outcomes.pop(2) == -32001
    assert sorted(outcomes) == [*range(3, 2 + CLIENTS)]
    log = clients[1].ask("ask", question="log", given={"after": 2})
    texts = [event["data"]["text"] for event in log]
    assert sorted(texts) == ["0", "1", *map(str, range(3, CLIENTS))]


def test_a_commit_that_fails_is_told_to_each(
    connect: Any, slow_question: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No client gets an acknowledgement; the next request continues from the log."""
    commit = Connection.commit
    faults = [UnreadableError("the disk is gone")]

    def failing(connection: Connection) -> None:
        if faults and connection.raw.total_changes > 2:
            connection.raw.rollback()
            raise faults.pop()
        commit(connection)

    clients = [connect() for _ in range(CLIENTS)]
    clients[0].ask("ask", question="status")
    monkeypatch.setattr(Connection, "commit", failing)
    outcomes = notes_at_once(clients, slow_question)
    assert not faults
    told = [outcome for outcome in outcomes if outcome < 0]
    assert len(told) >= 2
    assert {*told} == {-32004}
    assert clients[0].record("add-note", text="next")["version"] == 3 + CLIENTS - len(told)


def test_hostile_clients_hold_up_nobody(connect: Any) -> None:
    """Half a line, floods, invalid lines, and unread answers do not affect others."""
    half, flood, silent, good = (connect() for _ in range(4))
    half.socket.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "ask", "par')
    ask = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "ask", "params": {"question": "log"}}
    ).encode()
    for one, line in ((flood, b"\n".join(LINES)), (silent, ask)):
        one.socket.settimeout(0.2)
        with suppress(TimeoutError):
            for _ in range(100_000):
                one.socket.sendall(line + b"\n")
            pytest.fail("all requests were accepted, although the answers are not read")
    for number in range(5):
        assert good.record("add-note", text="x")["version"] == 3 + number
    flood.close()
    half.close()
    assert good.ask("ask", question="status")["version"] == 7


def test_there_are_not_too_many(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One client too many is refused, and the others continue."""
    monkeypatch.setattr(listener, "CLIENTS_MAX", 1)
    first = connect()
    first.ask("ask", question="status")
    assert connect().next()["error"]["message"] == "the limit of 1 clients is reached"
    first.ask("ask", question="status")


def test_nobody_else_is_let_in(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of another user gets no answer, whatever the socket's mode."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    stranger = connect()
    assert stranger.file.readline() == b""


def test_it_ends_when_nobody_is_there(log_folder: Path) -> None:
    """Without clients for the idle time, the server ends and removes its socket."""
    with listening(log_folder, idle_seconds=0.1) as thread:
        client = Connected(log_folder)
        client.ask("ask", question="status")
        time.sleep(0.3)
        assert client.ask("ask", question="status")["version"] == 2
        client.close()
        thread.join(SECONDS)
        assert not (log_folder / SOCKET).exists()


@pytest.mark.parametrize("wrong", ["link", "file", "open", "linked socket"])
def test_nothing_else_may_stand_in_its_place(tmp_path: Path, wrong: str) -> None:
    """A folder that is a link or open to others, or a stranger's file, is refused."""
    folder, elsewhere = tmp_path / "log", tmp_path / "elsewhere"
    folder.mkdir(mode=0o700)
    if wrong == "link":
        folder = tmp_path / "other"
        folder.symlink_to("log")
    elif wrong == "open":
        folder.chmod(0o777)
    elif wrong == "file":
        (folder / SOCKET).write_text("mine")
    else:
        (folder / SOCKET).symlink_to(elsewhere)
    with pytest.raises((RefusedError, OSError)), met(folder):
        pass
    assert not elsewhere.exists()
    assert wrong != "file" or (folder / SOCKET).read_text() == "mine"


def test_one_listens_and_a_dead_one_is_followed(tmp_path: Path) -> None:
    """A second server names the listener; remains of a killed one are removed."""
    folder = tmp_path / ("long" * 30) / "log"
    folder.mkdir(parents=True, mode=0o700)
    with met(folder) as place:
        with pytest.raises(RefusedError, match="is already listening on"), met(folder):
            pass
        assert place.is_there()
    assert not (folder / SOCKET).exists()
    with socket.socket(socket.AF_UNIX) as killed:
        before = Path.cwd()
        os.chdir(folder)
        killed.bind(SOCKET)
        os.chdir(before)
    assert (folder / SOCKET).exists()
    with met(folder) as place:
        assert place.is_there()
        (folder / SOCKET).unlink()
        (folder / SOCKET).write_text("another")
    assert (folder / SOCKET).read_text() == "another"


def test_what_a_killed_server_answered_is_there(sprint: Path, done: Run) -> None:
    """After a kill, no acknowledged event is lost or duplicated."""
    server = Server(sprint)
    acknowledged: dict[str, int] = {}
    enough = threading.Event()

    def write(number: int) -> None:
        client = Connected(server.path.parent)
        try:
            for count in range(10_000):
                key = f"{number}-{count}"
                answer = client.record("add-note", text=key, about={"key": key})
                acknowledged[key] = answer["position"]
                if len(acknowledged) > 60:
                    enough.set()
        except (EOFError, OSError):
            pass
        finally:
            client.close()

    writers = [threading.Thread(target=write, args=(n,)) for n in range(CLIENTS)]
    for writer in writers:
        writer.start()
    assert enough.wait(SECONDS)
    server.end(signal.SIGKILL)
    for writer in writers:
        writer.join(SECONDS)
    with sprintlog.open(sprint) as workspace:
        kept = [(str(e.key), e.position) for e in workspace.log.read() if e.key]
    assert len(dict(kept)) == len(kept)
    assert acknowledged.items() <= dict(kept).items()
    assert done("verify").code == 0
    # The remaining socket does not block the next server, which a signal ends.
    after = Server(sprint)
    client = Connected(after.path.parent)
    first = next(iter(acknowledged))
    again = client.record("add-note", text=first, about={"key": first})
    assert (again["duplicate"], again["position"]) == (True, acknowledged[first])
    client.close()
    assert after.end() == 128 + signal.SIGTERM
    assert not after.path.exists()
