"""Read what ralph-orchestrator leaves: `history.jsonl` and `events-*.jsonl` of a `.ralph`.

The history says when each iteration began and ended; the events what was said in between.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.sprint.iterations import facts as f
from sprintlog.engine.sprint.state.times import normalise, parse
from sprintlog.engine.sprint.state.words import COMPLETED, FAILED

from ..intake.files import naming
from .found import FoundLoop, JsonLines, Unread, name_from

Data = dict[str, Any]
HISTORY = "history.jsonl"
EVENTS = "events-*.jsonl"
TEXT_CHARS_MAX = 2_000
_SAID = {"loop_resumed", "event_published"}


def read_orchestrator(path: Path) -> FoundLoop:
    """Return what a folder or one of its files says.

    Raise `NotFoundError` where neither file is there, `InvalidInputError` for a file of
    which no line is understood.
    """
    reading = _Reading()
    files = _files(path)
    for file in files:
        lines = JsonLines(file, below=path if path.is_dir() else None)
        reading.take(lines, is_history=not file.name.startswith("events"))
        lines.check()
        reading.unread += lines.unread
    return reading.loop(files[0])


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    folder = path / ".ralph" if (path / ".ralph").is_dir() else path
    history = [folder / HISTORY] if (folder / HISTORY).is_file() else []
    files = [*history, *sorted(folder.glob(EVENTS))]
    if not files:
        problem = f"{path}: neither {HISTORY} nor {EVENTS} is there"
        raise NotFoundError(problem, file=str(path))
    return files


class _Reading:
    """The lines that were understood so far."""

    def __init__(self) -> None:
        self.unread: list[Unread] = []
        self._goal = ""
        self._open: tuple[str, int] | None = None
        self._facts: list[f.Fact] = []
        self._seen: Counter[bytes] = Counter()
        self._found: Counter[str] = Counter()

    def take(self, lines: JsonLines, *, is_history: bool) -> None:
        """Take the lines of a file; those that say nothing known are told."""
        for number, line in lines:
            try:
                at = _moment(line)
                key = self._key(line)
                fact = (
                    self._of_history(line, at, key) if is_history else _event(line, at, key)
                )
            except InvalidInputError as error:
                lines.refuse(number, error.message, line)
                continue
            self._facts.append(fact)
            self._found["line" if is_history else "event"] += 1

    def loop(self, file: Path) -> FoundLoop:
        """Return all of it, in the order of its times."""
        order = {f.Began: 0, f.LoopSaid: 1, f.Ended: 2, f.LoopOver: 3}
        facts = sorted(self._facts, key=lambda fact: (fact.at or "", order[type(fact)]))
        iterations = sum(isinstance(fact, f.Began) for fact in facts)
        folder = file.resolve().parent
        top = folder.parent if folder.name.startswith(".") else folder
        goal = self._goal or f"the loop in {top.name or 'this folder'}"
        found = {"iteration": iterations, **self._found}
        return FoundLoop(
            name_from(f"orchestrator-{top.name}"), goal, facts, found, self.unread
        )

    def _key(self, line: Data) -> str:
        """Return what names a line, and the same one once more."""
        digest = sha256(msgspec.json.encode(line, order="sorted")).digest()
        self._seen[digest] += 1
        return f"{digest.hex()}:{self._seen[digest]}"

    def _of_history(self, line: Data, at: str, key: str) -> f.Fact:
        said = line.get("type")
        if not isinstance(said, dict):
            raise InvalidInputError("is no object with a kind", field="type")
        kind = _text(said, "kind", "type.")
        if kind == "loop_started":
            prompt = _text(said, "prompt", "type.")
            self._goal = self._goal or prompt
            return f.LoopSaid(key, at, f"the loop began: {prompt}"[:TEXT_CHARS_MAX])
        if kind == "iteration_started":
            self._open = at, _number(said)
            return f.Began(key, at, self._open[1])
        if kind == "iteration_completed":
            return self._ended(said, at, key)
        if kind == "loop_completed":
            reason = _word(said, "reason")
            return f.LoopOver(key, at, f"the loop ended: {reason}")
        if kind == "loop_terminated":
            return f.LoopSaid(key, at, f"the loop was ended by {_word(said, 'signal')}")
        if kind in _SAID or kind.startswith("merge_"):
            more = {n: x for n, x in said.items() if n != "kind"} or line.get("data") or ""
            return f.LoopSaid(key, at, _short(kind, more))
        raise InvalidInputError(f"{kind[:40]!r} is unknown", field="type.kind")

    def _ended(self, said: Data, at: str, key: str) -> f.Fact:
        number, success = _number(said), said.get("success")
        if not isinstance(success, bool):
            raise InvalidInputError("is not true or false", field="type.success")
        if self._open is None or self._open[1] != number:
            problem = f"iteration {number} ends, which did not begin"
            raise InvalidInputError(problem, field="type.iteration")
        began, self._open = self._open[0], None
        took = parse(at) - parse(began)
        duration = max(0, round(took.total_seconds() * 1000))
        run = f.run_of(COMPLETED if success else FAILED, duration_ms=duration)
        return f.Ended(key, at, run)


def _event(line: Data, at: str, key: str) -> f.Fact:
    topic = _text(line, "topic")
    hat = line.get("hat")
    who = f"{hat}: {topic}" if isinstance(hat, str) and hat else topic
    return f.LoopSaid(key, at, _short(who, line.get("payload") or ""))


def _short(what: str, more: object) -> str:
    said = more if isinstance(more, str) else msgspec.json.encode(more).decode()
    return (f"{what}: {said}" if said else what)[:TEXT_CHARS_MAX]


def _moment(line: Data) -> str:
    with naming(None, "ts"):
        return normalise(_text(line, "ts"))


def _text(line: Data, name: str, before: str = "") -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError("is missing or not text", field=f"{before}{name}")
    return value


def _word(said: Data, name: str) -> str:
    return msgspec.json.encode(said.get(name)).decode().strip('"')[:TEXT_CHARS_MAX]


def _number(said: Data) -> int:
    value = said.get("iteration")
    if type(value) is not int or not 0 < value < 10**9:
        raise InvalidInputError("is no number of an iteration", field="type.iteration")
    return value
