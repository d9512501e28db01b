"""What a file or a folder is that somebody gives to `import` without saying so."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.adapters.agents.output import Hearing
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError

from ..files import read_bytes
from .found import json_of
from .prd import is_feature_list
from .transcript import NOT_TRANSCRIPTS

BEGINNING = 256 * 1024
"""So much of a file is looked at."""
WHOLE_MAX = 8 * 1024 * 1024
"""A longer file is no document: it is told by its first lines."""
IN_FOLDERS = (
    ("prd.json", "prd"),
    ("feature_list.json", "prd"),
    (".ralph/history.jsonl", "orchestrator"),
    ("history.jsonl", "orchestrator"),
    (".aiwg/ralph-external", "aiwg"),
    (".aiwg/ralph/loops", "aiwg"),
    (".aiwg/ralph/analytics", "aiwg"),
    ("ralph-external", "aiwg"),
    ("session-state.json", "aiwg"),
    (".claude/ralph-loop.local.md", "ralph-loop"),
    ("ralph-loop.local.md", "ralph-loop"),
    ("PROGRESS.yaml", "progress"),
)
_WHOLE = ("aiwg", "orchestrator")
"""Of these the folder is taken in: several files of it say something of a loop."""
_KNOWN = (
    "PROGRESS.yaml, progress.json, an export, prd.json, history.jsonl, session-state.json, "
    "iteration_metrics, ralph-loop.local.md, a transcript"
)


_KEYS = (
    ("progress", b"sprint-id"),
    ("aiwg", b"iteration_metrics"),
    ("ralph-loop", b"iteration", b"max_iterations"),
)


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
    content = read_bytes(path, bytes_max=WHOLE_MAX)
    kind = _of_document(content) or _of_lines(content[:BEGINNING])
    if kind is None:
        unknown = NOT_TRANSCRIPTS.get(path.name, "is nothing that import knows")
        problem = "is empty" if not content.strip() else unknown
        raise InvalidInputError(problem, file=str(path), hint=f"known are {_KNOWN}")
    return Recognised(kind, path)


def _folder(folder: Path) -> Recognised:
    found = [(folder / name, kind) for name, kind in IN_FOLDERS]
    there: dict[tuple[str, Path], Path] = {}
    for path, kind in found:
        if path.exists():
            whole = folder if kind == "aiwg" else path.parent
            what = (kind, whole if kind in _WHOLE else path)
            there.setdefault(what, path)
    if not there:
        problem = f"{folder}: nothing in it that import knows"
        raise NotFoundError(problem, hint=f"known are {_KNOWN}", file=str(folder))
    if len(there) > 1:
        names = [str(path) for path in there.values()]
        hint = f"give one of them: `sprintlog import {names[0]}`"
        problem = f"{folder}: which of them? {', '.join(names)}"
        raise RefusedError(problem, hint=hint, allowed=names)
    return Recognised(*next(iter(there)))


def _of_document(content: bytes) -> str | None:
    """Return what a file is that is one document."""
    if len(content) > WHOLE_MAX:
        return None
    if (found := json_of(content)) is None:
        return _of_text(content)
    if is_feature_list(found):
        return "prd"
    if not isinstance(found, dict):
        return None
    if "userStories" in found:
        return "prd"
    if "sprint-id" in found:
        return "progress"
    is_analytics = {"loop_id", "iterations"} <= found.keys()
    if is_analytics or not {"loopId", "iteration_metrics"}.isdisjoint(found):
        return "aiwg"
    return "journal" if {"entries", "learnings", "patterns"} & found.keys() else None


def _of_text(content: bytes) -> str | None:
    """Return what a file is that has its keys at the beginning of lines."""
    for kind, *keys in _KEYS:
        if all(re.search(rb"^%b\s*:" % key, content, re.MULTILINE) for key in keys):
            return str(kind)
    return None


def _of_lines(content: bytes) -> str | None:
    """Return what a file is that has a message on each line, by its first lines."""
    for line in content.split(b"\n")[:100]:
        found = json_of(line)
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
