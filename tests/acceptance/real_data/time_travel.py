"""The past of real sprints: compare diff, replay and blame with the files themselves.

An independent YAML reader reads the files; the setter of each field is determined by
comparing each file with the previous one.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

from sprintlog.engine.sprint.state.patch import MISSING, apply, find, parse_path
from sprintlog.projections import Workspace
from sprintlog.projections.history.blame import search
from sprintlog.projections.history.blame_lines import line_fields
from sprintlog.projections.history.differences import difference
from sprintlog.projections.history.replay import replay

from ..commands import answers, run
from ..criterion import Verdict
from .documents import parsed, real_sprints, scratch_folder


def agrees_with_the_files(data: Path, seed: int) -> Verdict:
    """Diff, replay and blame of each pair of files match the files.

    A file becomes several events: the replay covers the difference between two files.
    """
    problems: list[str] = []
    versions = fields = 0
    for sprint in real_sprints(data):
        with scratch_folder() as folder:
            files = sorted(sprint.glob("*.yaml"))
            run(folder, "init", "--here")
            given = answers(folder, "import", "progress", "--sprint-dir", "s", *files)
            read = {
                answer["version"]: parsed(file.read_bytes())
                for file, answer in zip(files, given, strict=True)
            }
            with Workspace.open(folder) as workspace:
                name = workspace.choose(None)
                found: list[str] = []
                documents = _replayed(workspace, name, read, found)
                versions += len(documents) - 1
                found += _differing(workspace, read)
                for until in read:
                    fields += len({*line_fields(documents[until])})
                    found += _blamed(workspace, name, documents, until)
            problems += [f"{sprint.name}: {problem}" for problem in found]
    counts = f"{versions} versions compared and replayed, {fields} fields blamed"
    return Verdict(not problems and fields > 0, counts, problems)


def _replayed(
    workspace: Workspace, name: str, read: dict[int, Any], problems: list[str]
) -> list[Any]:
    """Return the document at each version; record differences from the file."""
    documents: list[Any] = [{}]
    for step in replay(workspace, name):
        version = step.event.version
        document = apply(deepcopy(documents[-1]), step.json_patch())
        if version in read and not _same(document, read[version]):
            problems.append(f"replay leads elsewhere than to version {version}")
        documents.append(read.get(version, document))
    return documents


def _differing(workspace: Workspace, read: dict[int, Any]) -> Iterator[str]:
    """Yield where applying the diff of two files does not produce the second file."""
    for (old, before), (new, after) in pairwise(read.items()):
        found = difference(workspace, f"version:{old}", f"version:{new}")
        if not _same(apply(deepcopy(before), found.json_patch()), after):
            yield f"diff leads elsewhere than to version {new}"
        told = {change.field for change in found.changes() if change.what == "changed"}
        for field in told:
            path = parse_path(field)
            if _same(find(before, path), find(after, path)):
                yield f"diff names {field}, which is the same in version {new}"


def _blamed(
    workspace: Workspace, name: str, documents: list[Any], until: int
) -> Iterator[str]:
    """Yield the fields of a file whose blame contradicts the files."""
    fields = sorted({*line_fields(documents[until])})
    paths = [parse_path(field) for field in fields]
    settings = search(workspace.repository, name, paths, until=until)
    for field, path, setting in zip(fields, paths, settings, strict=True):
        values = [_text(find(document, path)) for document in documents[: until + 1]]
        differing = [n for n in range(1, until + 1) if values[n] != values[n - 1]]
        if setting.changed != differing[-1]:
            yield f"{field} at {until}: {setting.changed} instead of {differing[-1]}"


def _same(one: Any, other: Any) -> bool:
    return _text(one) == _text(other)


def _text(value: Any) -> str:
    """Return a value as text that distinguishes numbers from text and keeps the order."""
    return "" if value is MISSING else json.dumps(value)
