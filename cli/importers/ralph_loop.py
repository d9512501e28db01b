"""Reader for the state file of Claude Code's ralph-loop plugin.

The file has front matter, with one key per line, followed by the prompt. The loop
increments `iteration` and deletes the file when it ends.
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sprintlog import extensions
from sprintlog.errors import InvalidInputError

_PARTS = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$\n?(.*)", re.DOTALL | re.MULTILINE)
_PAIR = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")
_KEYS = (
    "active",
    "iteration",
    "max_iterations",
    "completion_promise",
    "session_id",
    "started_at",
)


def read_ralph_loop(file: Path) -> extensions.Imported:
    """Return the loop described by a file.

    Raise `InvalidInputError` naming the invalid field. The file does not state when later
    iterations began, so the file's modification time is used.
    """
    text = extensions.read_text(file)
    parts = _PARTS.match(text.replace("\r\n", "\n"))
    if parts is None:
        problem = "is empty" if not text.strip() else "has no front matter"
        raise InvalidInputError(problem, file=str(file))
    said, unread = _pairs(parts[1], file)
    reading = _Said(said, file)
    goal = parts[2].strip()
    if not goal:
        raise InvalidInputError("is missing", file=str(file), field="prompt")
    started = reading.moment("started_at")
    number = reading.number("iteration", at_most=extensions.ImportedLoop.ITERATIONS_MAX)
    milliseconds = file.stat().st_mtime_ns // 1_000_000
    written = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    promise = reading.text("completion_promise")
    loop = extensions.ImportedLoop()
    loop.max_iterations = reading.number("max_iterations", at_most=10**9)
    at = extensions.ForeignFile.normalised(written.isoformat())
    _add_facts(loop, reading, started, number, written=at)
    more = {"completion-promise": promise} if promise else {}
    name = extensions.name_from(f"ralph-loop-{started}")
    sprint = extensions.ImportedSprint(name, goal=goal, more=more, loop=loop)
    return extensions.Imported([sprint], {"iteration": number}, unread)


def _pairs(front: str, file: Path) -> tuple[dict[str, str], list[extensions.Unread]]:
    """Return the front matter as a mapping, and the lines that have no known key."""
    said: dict[str, str] = {}
    unread = []
    for number, line in enumerate(front.split("\n"), start=2):
        pair = _PAIR.fullmatch(line.rstrip())
        if pair is None or pair[1] not in _KEYS or pair[1] in said:
            if line.strip():
                problem = "is not a known key"
                unread.append(extensions.Unread(str(file), number, problem, line))
        else:
            said[pair[1]] = pair[2]
    return said, unread


class _Said:
    """The values of the front matter, converted to their types."""

    def __init__(self, said: dict[str, str], file: Path) -> None:
        self._said = said
        self._file = str(file)

    def text(self, name: str) -> str | None:
        """Return the value of a key as text, or None if the key is missing or `null`."""
        value = self._said.get(name, "").strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            return value[1:-1] or None
        return None if value in ("", "null", "~") else value

    def number(self, name: str, *, at_most: int) -> int:
        """Return the value of a required key as a number."""
        value = self.text(name) or ""
        if not re.fullmatch(r"[0-9]{1,10}", value, re.ASCII):
            problem = "is missing or not a whole number"
            raise InvalidInputError(problem, file=self._file, field=name)
        if int(value) > at_most:
            problem = f"{value} is more than {at_most}"
            raise InvalidInputError(problem, file=self._file, field=name)
        return int(value)

    def moment(self, name: str) -> str:
        """Return the value of a required key as a time."""
        value = self.text(name)
        if value is None:
            raise InvalidInputError("is missing", file=self._file, field=name)
        return extensions.ForeignFile.normalised(value, file=self._file, field=name)

    def flag(self, name: str) -> bool | None:
        """Return the value of a Boolean key, or None if the key is missing."""
        value = self.text(name)
        if value not in (None, "true", "false"):
            raise InvalidInputError("must be true or false", file=self._file, field=name)
        return None if value is None else value == "true"


def _add_facts(
    loop: extensions.ImportedLoop, said: _Said, started: str, number: int, *, written: str
) -> None:
    if session := said.text("session_id"):
        loop.noted(f"{started}:session", started, f"session {session}")
    for one in range(1, number + 1):
        loop.began(f"{started}:{one}:began", started if one == 1 else written, one)
    if said.flag("active") is False:
        loop.completed(f"{started}:over:{number}", written, "the loop is no longer active")
