"""Requests to a log and its guarantees, and whether they were kept."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.place.location import find
from sprintlog.engine.sprint.events import EditObserved
from sprintlog.projections.health import verify
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.workspace import Workspace

SHOWN_MAX = 20
PLAN = {"phases": [{"id": f"phase-{number}", "prompt": "Do it"} for number in range(4)]}


class Line(msgspec.Struct, frozen=True):
    """A request for one event, recognizable by a token in key and payload."""

    token: str
    sprint: str
    type: str
    data: dict[str, str]

    @property
    def fields(self) -> dict[str, Any]:
        """Return it as a line for `sprintlog append`."""
        return {
            "type": self.type,
            "stream": f"sprint/{self.sprint}",
            "data": self.data,
            "key": self.token,
            "observed": True,
        }


def make_line(token: str, sprint: str, number: int) -> Line:
    """Return a command; three of four change the state file, too."""
    phase = f"phase-{number % 4}"
    kinds: list[tuple[str, dict[str, str]]] = [
        ("note-added", {"text": token}),
        ("phase-started", {"phase": phase, "model": token}),
        ("phase-completed", {"phase": phase, "summary": token}),
        ("phase-blocked", {"phase": phase, "reason": token}),
    ]
    return Line(token, sprint, *kinds[number % len(kinds)])


class Ledger:
    """All requests, and all answers that were read."""

    def __init__(self) -> None:
        self.asked: dict[str, Line] = {}
        self.answers: dict[str, dict[str, Any]] = {}
        self.duplicates = 0
        self.problems: list[str] = []

    def ask(self, line: Line) -> None:
        """Record a command before it is sent."""
        self.asked[line.token] = line

    def hear(self, token: str, answer: bytes) -> None:
        """Record an answer; anything but an acknowledgement is a problem."""
        try:
            fields = json.loads(answer)
        except ValueError:
            self.problems.append(f"{token}: torn answer {answer[:80]!r}")
            return
        if not isinstance(fields, dict) or "position" not in fields:
            self.problems.append(f"{token}: not acknowledged: {answer[:200]!r}")
            return
        self.duplicates += fields.pop("duplicate", False)
        if self.answers.setdefault(token, fields) != fields:
            self.problems.append(f"{token}: two answers that differ")

    def judge(self, root: Path) -> list[str]:
        """Return every violated guarantee as text; no one may have the log open."""
        problems = self.problems + _or_error(lambda: self._compare(_events(root)))
        return problems + _or_error(lambda: _unsound_at(root))

    def _compare(self, events: list[RecordedEvent]) -> list[str]:
        problems = gaps(events)
        found: dict[str, RecordedEvent] = {}
        for event in events:
            if event.type == EditObserved.type:
                problems.append(f"position {event.position}: nobody edited a file")
            token = _token(event)
            if token is None:
                continue
            if token in found:
                places = f"{found[token].position} and {event.position}"
                problems.append(f"{token} occurs twice: {places}")
            if token not in self.asked or event.key != token:
                problems.append(f"{token}: never asked for like this")
            found[token] = event
        for token, answer in self.answers.items():
            event_or_none = found.get(token)
            if event_or_none is None:
                problems.append(f"{token} was acknowledged and is lost")
            elif answer != _answer(event_or_none):
                problems.append(f"{token} is not at its acknowledged place")
        return problems


def gaps(events: list[RecordedEvent]) -> list[str]:
    """Return every gap between positions or versions."""
    problems = []
    versions: dict[str, int] = {}
    for position, event in enumerate(events, start=1):
        version = versions.get(event.stream, 0) + 1
        versions[event.stream] = version
        if (event.position, event.version) != (position, version):
            problems.append(
                f"position {event.position}, version {event.version} of {event.stream}"
                f" stands at {position}, {version}"
            )
    return problems[:SHOWN_MAX]


def unsound(workspace: Workspace) -> list[str]:
    """Return the findings of `verify`, except for files that are merely stale."""
    report = verify.verify(workspace)
    return [
        f"{finding.where}: {finding.what}"
        for finding in report.findings
        if finding.severity == "damage"
    ][:SHOWN_MAX]


def unlike_the_log(root: Path, sprints: list[str]) -> list[str]:
    """Return every state file that differs from the log, byte for byte."""
    return _or_error(lambda: _unlike(root, sprints))


def state_file(sprint: str) -> str:
    """Return the path of a sprint's state file in the work tree."""
    return f"{sprint}/PROGRESS.yaml"


def edits_kept(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every stored edit, with its name."""
    return {
        sha256(path.read_bytes()).hexdigest(): path.name
        for path in (folder / "edits").glob("*")
    }


def make_sprints(root: Path, names: list[str]) -> None:
    """Create a log with sprints in progress, each with a state file in its own folder."""
    from sprintlog.engine.sprint.events import Place
    from sprintlog.engine.sprint.phases.lifecycle import StartSprint
    from sprintlog.engine.sprint.plan.create import CreateSprint

    root.mkdir(parents=True, exist_ok=True)
    with Workspace.init(root, here=True) as workspace:
        for name in names:
            place = Place(state_file(name))
            document = {"sprint-id": name, **PLAN}
            workspace.handle_with(name, CreateSprint(plan=document, place=place))
            workspace.handle_with(name, StartSprint())
            workspace.refresh(name)


def _or_error(search: Callable[[], list[str]]) -> list[str]:
    try:
        return search()
    except SprintlogError as error:
        return [f"the log cannot be read: {error.message}"]


def _events(root: Path) -> list[RecordedEvent]:
    """Return the existing events, even if the head file has more."""
    location = find(root)
    log = SqliteLog(
        location.database, clock=lambda: 0, entropy=os.urandom, check_head=False
    )
    try:
        return list(log.read())
    finally:
        log.close()


def _unsound_at(root: Path) -> list[str]:
    with Workspace.open(root) as workspace:
        return unsound(workspace)


def _unlike(root: Path, sprints: list[str]) -> list[str]:
    with Workspace.open(root) as workspace:
        said = {name: render(workspace.repository.from_nothing(name)) for name in sprints}
    return [
        f"{name}: the state file differs from the log"
        for name in sprints
        if not (file := root / state_file(name)).exists() or file.read_bytes() != said[name]
    ]


def _token(event: RecordedEvent) -> str | None:
    data = json.loads(event.payload or b"{}")
    token = data.get("text") or data.get("model") or data.get("summary")
    token = token or data.get("reason")
    return token if isinstance(token, str) else None


def _answer(event: RecordedEvent) -> dict[str, Any]:
    return {
        "position": event.position,
        "stream": event.stream,
        "version": event.version,
        "id": event.id,
        "type": event.type,
        "hash": event.hash.hex(),
    }
