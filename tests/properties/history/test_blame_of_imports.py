"""Blame of an imported history names the file version that changed a field.

The other side knows nothing of events: it compares each version with the previous one.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given

from sprintlog.cli.intake.progress import read_progress
from sprintlog.engine.log.stores.memory import MemoryLog
from sprintlog.engine.service.streams.catalogue import SPRINTS, new_event, sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.state.patch import MISSING, find, parse_path
from sprintlog.projections.history.blame import search, told_by
from sprintlog.projections.history.blame_lines import line_fields, search_all

from ..sprint_histories import World, worlds
from .test_exchange_laws import laws
from .test_observation_laws import PICKS, versions

Document = dict[str, Any]
ROOT = Path(__file__).parents[3]


def imported(documents: list[Document]) -> tuple[Repository[Any], list[int]]:
    """Return a log with the versions of a file, and the last event of each."""
    log, ends = MemoryLog(clock=lambda: 0, entropy=bytes), [0]
    repository = Repository(log, SPRINTS, log.checkpoints)
    for number, document in enumerate(documents, start=1):
        command = ImportDocument(document, f"version {number}", with_facts=True)
        at = f"2026-01-15T09:{number:02}:00Z"
        sprint = Repository(log, SPRINTS, log.checkpoints).at_version("s", ends[-1])
        events = command.decide(sprint, at)
        drafts = [
            # As recorded by a workspace: only the event with the document is our own.
            new_event(event, at=at, actor="import:x", observed=event is not events[-1])
            for event in events
        ]
        if drafts:
            log.append(sprint_stream("s"), drafts, expect=ends[-1])
        ends.append(ends[-1] + len(drafts))
    return repository, ends


def wrong_answers(documents: list[Document]) -> tuple[int, list[Any]]:
    """Return the number of questions asked, and the wrong answers."""
    documents = [{**document, "sprint-id": "s"} for document in documents]
    repository, ends = imported(documents)
    every = [{}, *documents]
    fields = sorted({name for one in every for name in line_fields(one)} - {""})
    wanted = {}
    for field in fields:
        path = parse_path(field)
        values = [token(find(one, path)) for one in every]
        changed = [n for n, (a, b) in enumerate(pairwise(values), start=1) if a != b]
        wanted[field] = changed[-1], values[changed[-1] - 1]
    paths = [parse_path(field) for field in fields]
    found = dict(zip(fields, search(repository, "s", paths, until=ends[-1]), strict=True))
    lines = search_all(
        repository, "s", {*line_fields(documents[-1])} - {""}, until=ends[-1]
    )
    wrong: list[Any] = []
    for field, (number, before) in wanted.items():
        one = found[field]
        is_in = ends[number - 1] < one.changed <= ends[number] and one.set == one.changed
        if not is_in or token(told_by(one.before)) != before:
            wrong.append((field, number, before, one, ends))
        if field in lines:
            value = find(documents[-1], parse_path(field))
            at = lines[field].changed
            if not (isinstance(value, dict | list) and value) and not (
                ends[number - 1] < at <= ends[number]
            ):
                wrong.append(("line", field, number, at, ends))
    return len(wanted) + len(lines), wrong


def token(value: Any) -> Any:
    """Return a token that is equal only for equal values."""
    return value if value is MISSING else msgspec.json.encode(value)


@laws
@given(worlds("inject", "iterate", "queue", "import"), PICKS)
def test_names_the_version_that_changed_a_field(world: World, picks: list[int]) -> None:
    """Blame names the last version that differs in a field, and its value before."""
    _, wrong = wrong_answers(versions(world, picks))
    assert wrong == []


def test_names_it_among_stored_documents() -> None:
    """Blame is exact if each stored state file is a version of one sprint's file."""
    files = sorted((ROOT / "fixtures" / "expected").glob("*.PROGRESS.yaml"))
    stored = [
        read_progress(file.read_bytes(), file=file.name, sprint_id="s").document
        for file in files
    ]
    asked, wrong = wrong_answers(stored[::3] + stored[::-2])
    assert wrong == []
    assert asked > 400
