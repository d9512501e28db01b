"""The cost of a LangGraph checkpointer on a log: the figures of ADR 0085.

`pip install langgraph langgraph-checkpoint-sqlite langgraph-checkpoint-conformance`, then
`python -m tests.benchmarks.langgraph_saver`. The saver is minimal, so that the log is
measured: an event for each `put` and each `put_writes`, and an erasure for each deleted
thread. It stores the states in memory, as a fold of its events.
"""

import asyncio
import json
import os
import sqlite3
import statistics
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sprintlog.stores import Expect, NewEvent, create_log, open_log

if TYPE_CHECKING:
    # The libraries are installed only for this, so types are checked without them.
    SqliteSaver: Any
    StateGraph: Any
    checkpointer_test: Any
    validate: Callable[..., Any]

    class InMemorySaver:
        """The library's in-memory saver."""

        storage: Any
        writes: Any
        blobs: Any
        put: Callable[..., Any]
        put_writes: Callable[..., None]
        delete_thread: Callable[..., None]
else:
    from langgraph.checkpoint.conformance import checkpointer_test, validate
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import StateGraph

TURNS, MESSAGE_CHARS, PLAN_CHARS, PAIRS = 100, 500, 50_000, 5
THREAD = {"configurable": {"thread_id": "night", "checkpoint_ns": ""}}
AT = "2026-01-01T00:00:00Z"


def clock() -> int:
    """Return the wall clock in milliseconds."""
    return time.time_ns() // 1_000_000


class LogSaver(InMemorySaver):
    """Checkpoints in a log: a stream for each thread."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        # A log belongs to the thread that opened it, but the library uses many threads.
        self._worker = ThreadPoolExecutor(1)
        is_new = not path.exists()
        make = create_log if is_new else open_log
        self._log = self._own(
            lambda: make(f"sqlite:{path}", clock=clock, entropy=os.urandom)
        )
        self._own(self._fold)

    def _own(self, work: Callable[[], Any]) -> Any:
        return self._worker.submit(work).result()

    def close(self) -> None:
        """Close the log."""
        self._own(self._log.close)
        self._worker.shutdown()

    def put(
        self, config: Any, checkpoint: Any, metadata: Any, new_versions: dict[str, Any]
    ) -> Any:
        """Store the changes in a checkpoint."""
        configured = super().put(config, checkpoint, metadata, new_versions)
        thread, place = _place(config)
        saved = self.storage[thread][place][checkpoint["id"]]
        blobs = [
            [channel, version, *_text(self.blobs[thread, place, channel, version])]
            for channel, version in new_versions.items()
        ]
        said = {
            "place": place,
            "id": checkpoint["id"],
            "saved": [*map(_text, saved[:2]), saved[2]],
            "blobs": blobs,
        }
        self._record(thread, "checkpoint-put", said)
        return configured

    def put_writes(
        self, config: Any, writes: Sequence[Any], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task."""
        thread, place = _place(config)
        key = (thread, place, config["configurable"]["checkpoint_id"])
        before = dict(self.writes[key])
        super().put_writes(config, writes, task_id, task_path)
        new = [
            [*inner, one[0], one[1], _text(one[2]), one[3]]
            for inner, one in self.writes[key].items()
            if before.get(inner) != one
        ]
        if new:
            said = {"place": place, "id": key[2], "writes": new}
            self._record(thread, "writes-put", said)

    def delete_thread(self, thread_id: str) -> None:
        """Erase the texts of a thread; a record that the thread existed remains."""
        super().delete_thread(thread_id)
        self._own(lambda: self._erase(f"thread/{thread_id}"))

    def _record(self, thread: str, type_: str, said: dict[str, Any]) -> None:
        new = NewEvent(type_, json.dumps(said).encode(), at=AT, actor="runtime")
        self._own(lambda: self._log.append(f"thread/{thread}", [new], expect=Expect.ANY))

    def _erase(self, stream: str) -> None:
        # Erased events are identified by version, in a stream for the whole log.
        from sprintlog.engine.log.envelope import ERASURES, Span

        if last := self._log.version(stream):
            said = NewEvent("thread-deleted", b"{}", at=AT, actor="runtime")
            self._log.erase([Span(stream, 1, last)], stream=ERASURES, said=said)

    def _fold(self) -> None:
        for event in self._log.read():
            if event.payload is None or not event.stream.startswith("thread/"):
                continue
            said, thread = json.loads(event.payload), event.stream.removeprefix("thread/")
            place = said["place"]
            if event.type == "checkpoint-put":
                for channel, version, *value in said["blobs"]:
                    self.blobs[thread, place, channel, version] = _bytes(value)
                checkpoint, metadata, parent = said["saved"]
                saved = (_bytes(checkpoint), _bytes(metadata), parent)
                self.storage[thread][place][said["id"]] = saved
            else:
                for task, index, *one in said["writes"]:
                    kept = (one[0], one[1], _bytes(one[2]), one[3])
                    self.writes[thread, place, said["id"]][task, index] = kept


def _place(config: Any) -> tuple[str, str]:
    known = config["configurable"]
    return str(known["thread_id"]), known.get("checkpoint_ns", "")


def _text(typed: tuple[str, bytes]) -> list[str]:
    return [typed[0], b64encode(typed[1]).decode()]


def _bytes(typed: Sequence[str]) -> tuple[str, bytes]:
    return typed[0], b64decode(typed[1])


def graph(saver: Any) -> Any:
    """Return a loop of one step, with a growing list and an unchanged plan."""
    from operator import add
    from typing import Annotated, TypedDict

    class State(TypedDict):
        """The state that persists between turns."""

        messages: Annotated[list[str], add]
        plan: str

    made = StateGraph(State)
    made.add_node("work", lambda state: {"messages": ["m" * MESSAGE_CHARS]})
    made.set_entry_point("work")
    made.set_finish_point("work")
    return made.compile(checkpointer=saver)


def turns(saver: Any) -> float:
    """Run all turns in one thread; return milliseconds a turn."""
    compiled, first = graph(saver), {"plan": "p" * PLAN_CHARS, "messages": []}
    compiled.invoke(first, THREAD, durability="sync")
    began = time.perf_counter()
    for _ in range(TURNS):
        compiled.invoke({"messages": ["q" * MESSAGE_CHARS]}, THREAD, durability="sync")
    return (time.perf_counter() - began) * 1000 / TURNS


def is_left(folder: Path) -> bool:
    """Return whether a file still contains a message, in plain text or Base64."""
    forms = (b"m" * 30, b"bW1t" * 10)
    whole = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return any(form in whole for form in forms)


def size(folder: Path) -> int:
    """Return how many bytes are in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def theirs(folder: Path) -> dict[str, float]:
    """Return the figures of the library's saver in SQLite."""
    file = folder / "checkpoints.sqlite"
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        spent = turns(SqliteSaver(connection))
    kept = size(folder)
    assert is_left(folder)
    began = time.perf_counter()
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        assert saver.get_tuple(THREAD) is not None
        read = (time.perf_counter() - began) * 1000
        saver.delete_thread("night")
    return {
        "turn ms": spent,
        "MB": kept / 1e6,
        "open ms": read,
        "left": float(is_left(folder)),
    }


def ours(folder: Path) -> dict[str, float]:
    """Return the same figures for a saver over a log."""
    saver = LogSaver(folder / "log.db")
    spent = turns(saver)
    saver.close()
    kept = size(folder)
    assert is_left(folder)
    began = time.perf_counter()
    saver = LogSaver(folder / "log.db")
    assert saver.get_tuple(THREAD) is not None  # type: ignore[attr-defined]
    read = (time.perf_counter() - began) * 1000
    saver.delete_thread("night")
    saver.close()
    return {
        "turn ms": spent,
        "MB": kept / 1e6,
        "open ms": read,
        "left": float(is_left(folder)),
    }


def conformance() -> None:
    """Print the result of the library's own test suite for the saver."""

    async def made() -> AsyncIterator[LogSaver]:
        with TemporaryDirectory() as folder:
            saver = LogSaver(Path(folder) / "log.db")
            yield saver
            saver.close()

    report = asyncio.run(validate(checkpointer_test(name="LogSaver")(made)))
    report.print_report()


def main() -> None:
    """Measure both in turn, several times; print medians and their ratio."""
    figures: dict[str, list[dict[str, float]]] = {"SqliteSaver": [], "LogSaver": []}
    for _ in range(PAIRS):
        for name, measure in (("SqliteSaver", theirs), ("LogSaver", ours)):
            with TemporaryDirectory() as folder:
                figures[name].append(measure(Path(folder)))
    for what in figures["LogSaver"][0]:
        both = [statistics.median(x[what] for x in found) for found in figures.values()]
        print(f"{what:10} {both[0]:10.2f} {both[1]:10.2f} {both[1] / (both[0] or 1):8.2f}")
    conformance()


if __name__ == "__main__":
    main()
