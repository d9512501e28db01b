"""Reader for ralph-orchestrator's `history.jsonl` and `events-*.jsonl` in `.ralph`.

The history contains the times of iterations; the events contain the messages in between.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from sprintlog import extensions
from sprintlog.errors import InvalidInputError, NotFoundError
from sprintlog.formatting import parse_time

Data = dict[str, Any]
HISTORY = "history.jsonl"
EVENTS = "events-*.jsonl"
COMPLETED, FAILED = "completed", "failed"
TEXT_CHARS_MAX = 2_000
_SAID = {"loop_resumed", "event_published"}


def read_orchestrator(path: Path) -> extensions.Imported:
    """Return the loop in a folder, or the loop of one file.

    Raise `NotFoundError` if neither file exists, or `InvalidInputError` for a file in which
    no line can be read.
    """
    reading = _Reading()
    files = _files(path)
    for file in files:
        reading.take(extensions.ForeignFile(file, below=path if path.is_dir() else None))
    return reading.ended(files[0])


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    folder = path / ".ralph" if (path / ".ralph").is_dir() else path
    history = [folder / HISTORY] if (folder / HISTORY).is_file() else []
    files = [*history, *sorted(folder.glob(EVENTS))]
    if not files:
        problem = f"{path}: contains neither {HISTORY} nor {EVENTS}"
        raise NotFoundError(problem, file=str(path))
    return files


class _Reading:
    """The lines read so far."""

    def __init__(self) -> None:
        self.loop = extensions.ImportedLoop()
        self.unread: list[extensions.Unread] = []
        self._goal = ""
        self._open: tuple[str, int] | None = None
        self._seen: Counter[bytes] = Counter()
        self._found: Counter[str] = Counter()

    def take(self, source: extensions.ForeignFile) -> None:
        """Add the lines of a file; raise `InvalidInputError` if no line can be read."""
        is_history = not source.file.name.startswith("events")
        objects, unread = source.lines()
        understood = 0
        for number, line in objects:
            try:
                at = extensions.ForeignFile.normalised(_text(line, "ts"), field="ts")
                key = self._key(line)
                if is_history:
                    self._of_history(line, at, key)
                else:
                    self._of_events(line, at, key)
            except InvalidInputError as error:
                refused = extensions.Unread.of(str(source.file), error.message, line)
                unread.append(refused._replace(line=number))
            else:
                understood += 1
        if not understood:
            first = min(unread, key=lambda one: one.line, default=None)
            problem, at_line = (first.problem, first.line) if first else ("is empty", None)
            raise InvalidInputError(problem, file=str(source.file), line=at_line)
        self._found["line" if is_history else "event"] += understood
        self.unread += sorted(unread, key=lambda one: one.line)

    def ended(self, file: Path) -> extensions.Imported:
        """Return the imported sprint with its facts in chronological order."""
        folder = file.resolve().parent
        top = folder.parent if folder.name.startswith(".") else folder
        self.loop.sort()
        name = extensions.name_from(f"orchestrator-{top.name}")
        goal = self._goal or f"the loop in {top.name or 'this folder'}"
        found = {"iteration": self._found.pop("iteration", 0), **self._found}
        sprint = extensions.ImportedSprint(name, goal=goal, loop=self.loop)
        return extensions.Imported([sprint], found, self.unread)

    def _key(self, line: Data) -> str:
        """Return a unique key for a line: its digest and its occurrence number."""
        digest = sha256(msgspec.json.encode(line, order="sorted")).digest()
        self._seen[digest] += 1
        return f"{digest.hex()}:{self._seen[digest]}"

    def _of_history(self, line: Data, at: str, key: str) -> None:
        said = line.get("type")
        if not isinstance(said, dict):
            raise InvalidInputError("must be an object with a kind", field="type")
        kind, loop = _text(said, "kind", "type."), self.loop
        if kind == "loop_started":
            prompt = _text(said, "prompt", "type.")
            self._goal = self._goal or prompt
            loop.noted(key, at, f"the loop began: {prompt}"[:TEXT_CHARS_MAX])
        elif kind == "iteration_started":
            self._open = at, _number(said)
            loop.began(key, at, self._open[1])
            self._found["iteration"] += 1
        elif kind == "iteration_completed":
            self._end(said, at, key)
        elif kind == "loop_completed":
            loop.completed(key, at, f"the loop ended: {_word(said, 'reason')}")
        elif kind == "loop_terminated":
            loop.noted(key, at, f"the loop was ended by {_word(said, 'signal')}")
        elif kind in _SAID or kind.startswith("merge_"):
            more = {n: x for n, x in said.items() if n != "kind"} or line.get("data") or ""
            loop.noted(key, at, _short(kind, more))
        else:
            raise InvalidInputError(f"{kind[:40]!r} is unknown", field="type.kind")

    def _end(self, said: Data, at: str, key: str) -> None:
        number, success = _number(said), said.get("success")
        if not isinstance(success, bool):
            raise InvalidInputError("must be true or false", field="type.success")
        if self._open is None or self._open[1] != number:
            problem = f"iteration {number} ends but never started"
            raise InvalidInputError(problem, field="type.iteration")
        began, self._open = self._open[0], None
        took = parse_time(at) - parse_time(began)
        duration = max(0, round(took.total_seconds() * 1000))
        self.loop.ended(key, at, COMPLETED if success else FAILED, duration_ms=duration)

    def _of_events(self, line: Data, at: str, key: str) -> None:
        topic = _text(line, "topic")
        hat = line.get("hat")
        who = f"{hat}: {topic}" if isinstance(hat, str) and hat else topic
        self.loop.noted(key, at, _short(who, line.get("payload") or ""))


def _short(what: str, more: object) -> str:
    said = more if isinstance(more, str) else msgspec.json.encode(more).decode()
    return (f"{what}: {said}" if said else what)[:TEXT_CHARS_MAX]


def _text(line: Data, name: str, before: str = "") -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError("is missing or not a string", field=f"{before}{name}")
    return value


def _word(said: Data, name: str) -> str:
    return msgspec.json.encode(said.get(name)).decode().strip('"')[:TEXT_CHARS_MAX]


def _number(said: Data) -> int:
    value = said.get("iteration")
    if type(value) is not int or not 0 < value < 10**9:
        raise InvalidInputError("must be an iteration number", field="type.iteration")
    return value
