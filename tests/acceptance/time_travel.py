"""The past of real sprints: diff, replay and blame against the files themselves.

The files are read by another YAML reader; what they say of who set a field is worked out
by comparing each with the one before.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from sprintlog.engine.sprint.document.field_path import MISSING, find, parse_path
from sprintlog.engine.sprint.document.patch import apply
from sprintlog.projections import Workspace
from sprintlog.projections.history.blame import search
from sprintlog.projections.history.blame_lines import line_fields
from sprintlog.projections.history.differences import difference
from sprintlog.projections.history.timeline import replay

from .commands import answers, run
from .criterion import Verdict
from .documents import parsed, real_sprints, scratch_folder


def agrees_with_the_files(data: Path, seed: int) -> Verdict:
    """Every pair of versions differs, replays and is blamed as the files say."""
    problems: list[str] = []
    versions = fields = 0
    for sprint in real_sprints(data):
        with scratch_folder() as folder:
            files = sorted(sprint.glob("*.yaml"))
            run(folder, "init", "--here")
            given = answers(folder, "import", "progress", "--sprint-dir", "s", *files)
            documents: list[Any] = [{}] * (1 + given[-1]["version"])
            for file, answer in zip(files, given, strict=True):
                documents[answer["version"]] = parsed(file.read_bytes())
            with Workspace.open(folder) as workspace:
                name = workspace.choose(None)
                versions += len(documents) - 1
                found = [*_moved(workspace, name, documents)]
                for until in range(1, len(documents)):
                    fields += len({*line_fields(documents[until])})
                    found += _blamed(workspace, name, documents, until)
            problems += [f"{sprint.name}: {problem}" for problem in found]
    counts = f"{versions} versions compared and replayed, {fields} fields blamed"
    return Verdict(not problems and fields > 0, counts, problems)


def _moved(workspace: Workspace, name: str, documents: list[Any]) -> Iterator[str]:
    """Yield where diff or replay lead elsewhere than to the next file."""
    for step in replay(workspace, name):
        version = step.event.version
        before, after = documents[version - 1], documents[version]
        if not _same(apply(deepcopy(before), step.json_patch()), after):
            yield f"replay leads elsewhere than to version {version}"
        if version == 1:
            continue
        found = difference(workspace, f"version:{version - 1}", f"version:{version}")
        if not _same(apply(deepcopy(before), found.json_patch()), after):
            yield f"diff leads elsewhere than to version {version}"
        told = {change.field for change in found.changes() if change.what == "changed"}
        for field in told:
            old, new = (find(one, parse_path(field)) for one in (before, after))
            if _same(old, new):
                yield f"diff names {field}, which is the same in version {version}"


def _blamed(
    workspace: Workspace, name: str, documents: list[Any], until: int
) -> Iterator[str]:
    """Yield the fields of a file whose blame is not what the files say."""
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
    """Return a value as text that tells numbers from text and keeps the order."""
    return "" if value is MISSING else json.dumps(value)
