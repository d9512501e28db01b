"""Real documents: each is imported, each version is reproduced, each file is rebuilt."""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.interop.test_node_readers import Readings, node_modules, read_with_node

from ..commands import answers, run
from ..criterion import Skip, Verdict

Imported = list[tuple[Path, bytes, bytes]]
"""Each file, its own bytes, and the bytes shown for its position."""


def come_back(data: Path, seed: int) -> Verdict:
    """Every version of every sprint, shown and parsed, equals the original parsed."""
    problems, count, names = [], 0, 0
    for sprint in real_sprints(data):
        names += 1
        with scratch_folder() as folder:
            for file, original, shown in _imported(folder, sprint):
                count += 1
                if _exact(parsed(original)) != _exact(parsed(shown)):
                    problems.append(f"{file.parent.name}/{file.name} is not the same")
    return Verdict(not problems, f"{count} documents of {names} sprints", problems)


def same_bytes(data: Path, seed: int) -> Verdict:
    """Documents in js-yaml's format are reproduced byte for byte."""
    problems, own, count = [], 0, 0
    for sprint in real_sprints(data):
        with scratch_folder() as folder:
            imported = _imported(folder, sprint)
        pairs = [(new.decode(), _exact(parsed(old))) for _, old, new in imported]
        dumps = _by_node(pairs).dumps
        for (file, original, shown), theirs in zip(imported, dumps, strict=True):
            count += 1
            own += original == theirs.encode()
            if shown != theirs.encode():
                problems.append(f"{file.parent.name}/{file.name} differs from js-yaml's")
    counts = (
        f"{own} of {count} are js-yaml's own output, {count} come out as it writes them"
    )
    return Verdict(not problems and own > 0, counts, problems)


def read_by_node(data: Path, seed: int) -> Verdict:
    """js-yaml 4, js-yaml 5 and yaml 2 read every file we write as we do."""
    pairs = []
    for sprint in real_sprints(data):
        with scratch_folder() as folder:
            for _, _, shown in _imported(folder, sprint):
                pairs.append((shown.decode(), _exact(parsed(shown))))
            # The sprint continues, and from here on sprintlog writes its file.
            run(folder, "note", "going on", "--at", "2026-02-01T00:00:00Z")
            shown = run(folder, "show", "progress")
            pairs.append((shown.decode(), _exact(parsed(shown))))
    problems = _by_node(pairs).failures
    return Verdict(
        not problems, f"{len(pairs)} files by js-yaml 4, js-yaml 5, yaml 2", problems
    )


def _by_node(pairs: list[tuple[str, str]]) -> Readings:
    """Return the values that the Node readers load from our files; skip without Node."""
    try:
        return read_with_node(pairs, node_modules())
    except pytest.skip.Exception as reason:
        raise Skip(str(reason)) from reason


def rebuilt_anywhere(data: Path, seed: int) -> Verdict:
    """Delete files and rebuild them in other environments: the bytes must be the same."""
    problems, count = [], 0
    environments = [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "77", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"},
        {"PYTHONHASHSEED": str(seed), "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"},
    ]
    for sprint in real_sprints(data):
        with scratch_folder() as folder:
            _imported(folder, sprint)
            _go_on(folder)
            file = folder / "sprint" / "PROGRESS.yaml"
            digest = sha256(file.read_bytes()).hexdigest()
            for environment in environments:
                file.unlink()
                run(folder, "rebuild", **environment)
                count += 1
                if sha256(file.read_bytes()).hexdigest() != digest:
                    problems.append(f"{sprint.name} differs with {environment}")
    return Verdict(not problems, f"{count} rebuilds", problems)


def _go_on(folder: Path) -> None:
    """Continue an unfinished sprint of another tool under sprintlog's rules."""
    status = answers(folder, "status")[0]["status"]
    way = {"completed": "reopen", "not-started": "start"}.get(status)
    if way is None and status != "in-progress":
        run(folder, "sprint", "resume", "--by", "x", "--why", "y")
    elif way is not None:
        run(folder, "sprint", way)
    run(folder, "iteration", "start")


def real_sprints(data: Path) -> list[Path]:
    """Return the folders of the real sprints; skip the test if there are none."""
    folders = sorted(path for path in (data / "sprints").glob("*") if path.is_dir())
    if not folders:
        raise Skip(f"there are no real sprints in {data}")
    return folders


def _imported(folder: Path, sprint: Path) -> Imported:
    """Import all versions of a sprint into a fresh log and show each again."""
    files = sorted(sprint.glob("*.yaml"))
    run(folder, "init", "--here")
    given = answers(folder, "import", "progress", "--sprint-dir", "sprint", *files)
    return [
        (
            file,
            file.read_bytes(),
            run(folder, "show", "progress", "--at", f"position:{answer['position']}"),
        )
        for file, answer in zip(files, given, strict=True)
    ]


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        yield Path(name)


class _Core(yaml.SafeLoader):
    """PyYAML as a YAML 1.2 reader: an independent reader of documents."""


_Core.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "float",
        r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$",
        "-+.0123456789",
    ),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _Core.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first)
    )


def parsed(content: bytes) -> Any:
    """Return the values of a document, read by an independent reader."""
    return yaml.load(content, _Core)


def _exact(document: Any) -> str:
    """Return a document as text that separates numbers from text and keeps the order."""
    return json.dumps(document)
