"""What a file or a folder is that somebody gives to `import` without saying so."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.adapters.agents.output import Hearing
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log.stores.descriptors import read_whole

from .prd import is_feature_list

BEGINNING = 256 * 1024
"""So much of a file is looked at."""
WHOLE_MAX = 8 * 1024 * 1024
"""A longer file is no document: it is told by its first lines."""
IN_FOLDERS = (
    ("prd.json", "prd"),
    ("feature_list.json", "prd"),
    (".ralph/history.jsonl", "orchestrator"),
    ("history.jsonl", "orchestrator"),
    ("PROGRESS.yaml", "progress"),
)
_KNOWN = "PROGRESS.yaml, progress.json, an export, prd.json, history.jsonl, a transcript"


class Recognised(NamedTuple):
    """What something is taken for, and what of it is given to that import."""

    kind: str
    path: Path


def recognise(path: Path) -> Recognised:
    """Return what a file or folder is, by what is in it.

    Raise `RefusedError` for a folder with several things, `InvalidInputError` for what
    no import takes.
    """
    if path.is_dir():
        return _folder(path)
    try:
        content = read_whole(path, at_most=WHOLE_MAX + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: there is no such file", file=str(path)) from error
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise InvalidInputError(problem, file=str(path)) from error
    kind = _of_document(content) or _of_lines(content[:BEGINNING])
    if kind is None:
        problem = "is empty" if not content.strip() else "is nothing that import knows"
        raise InvalidInputError(problem, file=str(path), hint=f"known are {_KNOWN}")
    return Recognised(kind, path)


def _folder(folder: Path) -> Recognised:
    found = [(folder / name, kind) for name, kind in IN_FOLDERS]
    there = [(path, kind) for path, kind in found if path.is_file()]
    if not there:
        problem = f"{folder}: nothing in it that import knows"
        raise NotFoundError(problem, hint=f"known are {_KNOWN}", file=str(folder))
    if len(there) > 1:
        names = [str(path) for path, _ in there]
        hint = f"give one of them: `sprintlog import {names[0]}`"
        problem = f"{folder}: which of them? {', '.join(names)}"
        raise RefusedError(problem, hint=hint, allowed=names)
    path, kind = there[0]
    # Beside the history stand the events of the same loop.
    return Recognised(kind, path.parent if kind == "orchestrator" else path)


def _of_document(content: bytes) -> str | None:
    """Return what a file is that is one document."""
    if len(content) > WHOLE_MAX:
        return None
    try:
        found: Any = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        is_progress = re.search(rb"^sprint-id\s*:", content, re.MULTILINE)
        return "progress" if is_progress else None
    if is_feature_list(found):
        return "prd"
    if not isinstance(found, dict):
        return None
    if "userStories" in found:
        return "prd"
    if "sprint-id" in found:
        return "progress"
    return "journal" if {"entries", "learnings", "patterns"} & found.keys() else None


def _of_lines(content: bytes) -> str | None:
    """Return what a file is that has a message on each line, by its first lines."""
    for line in content.split(b"\n")[:100]:
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(found, dict) and (kind := _of_line(found)):
            return kind
    hearing = Hearing()
    hearing.feed(content)
    return "transcript" if hearing.heard()[1].agent else None


def _of_line(line: dict[str, Any]) -> str | None:
    if {"position", "stream", "hash"} <= line.keys():
        return "log"
    kind = line.get("type")
    is_history = isinstance(kind, dict) and "kind" in kind
    is_event = "topic" in line and "iteration" in line
    return "orchestrator" if "ts" in line and (is_history or is_event) else None
