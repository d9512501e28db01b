"""Recognition of a file or folder that `import` gets without a subcommand."""

import os
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.journal.progress_text import parse_text

from ..importers.task_lists import is_task_file
from ..intake.files import read_bytes
from ..intake.foreign_files import json_of
from ..intake.transcript import NOT_TRANSCRIPTS

BEGINNING = 256 * 1024
"""The length of the beginning that is examined."""
WHOLE_MAX = 8 * 1024 * 1024
"""A longer file is recognised by its first lines."""
PLACES = tomllib.loads(files(__package__).joinpath("places.toml").read_text("utf-8"))
"""Where the records of other tools are, and how a text is recognised."""
_SESSION = re.compile(rb'\s*\{[^\0]*?"(?:projectHash|responderUsername)"\s*:')
"""The beginning of a session that is one document."""
KINDS: list[dict[str, Any]] = PLACES["kinds"]
USUAL = {one["kind"]: [*one["places"], *one.get("inside", ())] for one in KINDS}
_NAMES = dict.fromkeys(Path(x).name for places in USUAL.values() for x in places)
KNOWN = ", ".join([*_NAMES, "an export", "a transcript"])


class Recognised(NamedTuple):
    """The kind of a record, and the path for the import of that kind."""

    kind: str
    path: Path


def recognise(path: Path) -> Recognised:
    """Return the kind of a file or folder, from its content.

    Raise `InvalidInputError` for a file that no import takes.
    """
    if path.is_dir():
        return Recognised("folder", path)
    content = read_bytes(path, bytes_max=WHOLE_MAX)
    kind = _of_document(content, path.name) or _of_lines(content[:BEGINNING])
    if kind is None:
        unknown = NOT_TRANSCRIPTS.get(path.name, "is nothing that import knows")
        problem = "is empty" if not content.strip() else unknown
        raise InvalidInputError(problem, file=str(path), hint=f"known are {KNOWN}")
    return Recognised(kind, path)


def in_folder(folder: Path) -> dict[Recognised, Path]:
    """Return the records of a folder, each with the usual place in which it was found.

    If several files of a kind belong to one loop, the folder is to be imported.
    """
    there: dict[Recognised, Path] = {}
    for one in KINDS:
        for path in (folder / x for x in USUAL[one["kind"]] if (folder / x).exists()):
            whole = folder if one["kind"] == "aiwg" else path.parent
            found = Recognised(one["kind"], whole if "is_folder" in one else path)
            there.setdefault(found, path)
    return there


def _of_document(content: bytes, name: str) -> str | None:
    """Return the kind of a file that is one document."""
    if len(content) > WHOLE_MAX:
        return None
    if (found := json_of(content)) is None:
        return _of_text(content, name)
    keys = found.keys() if isinstance(found, dict) else set[str]()
    if "sprint-id" in keys:
        return "progress"
    if {"loop_id", "iterations"} <= keys or {"loopId", "iteration_metrics"} & keys:
        return "aiwg"
    if {"entries", "learnings", "patterns"} & keys:
        return "journal"
    return "prd" if is_task_file(found) else None


def _of_text(content: bytes, name: str) -> str | None:
    """Return the kind of a text from its lines; of a journal from its dated headings.

    A text with the name of a checklist is one: its headings may have dates, too.
    """
    text = content.decode("utf-8", "replace")
    found = (
        one["kind"]
        for one in KINDS
        if "line" in one and re.search(one["line"], text, re.MULTILINE)
    )
    kind: str | None = next(found, None)
    if kind not in (None, "checklist"):
        return kind
    if name.lower() in map(os.path.basename, USUAL["checklist"]):
        return "checklist"
    parsed = parse_text(text)
    return "journal" if parsed.entries or parsed.patterns else kind


def _of_lines(content: bytes) -> str | None:
    """Return the kind of a file with a message on each line, from its first lines."""
    for line in content.split(b"\n")[:100]:
        found = json_of(line)
        if isinstance(found, dict) and (kind := _of_line(found)):
            return kind
    hearing = OutputReader()
    hearing.feed(content)
    return "transcript" if _SESSION.match(content) or hearing.heard()[1].agent else None


def _of_line(line: dict[str, Any]) -> str | None:
    if {"position", "stream", "hash"} <= line.keys():
        return "log"
    kind = line.get("type")
    is_history = isinstance(kind, dict) and "kind" in kind
    is_event = "topic" in line and "iteration" in line
    return "orchestrator" if "ts" in line and (is_history or is_event) else None
