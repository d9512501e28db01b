"""The `sprintlog import PATH` command: detect a file's kind, or import a folder."""

import os
import re
import sys
from collections import deque
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click

from sprintlog.engine import errors
from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.extensions import Extension, installed, load, loaded
from sprintlog.engine.journal.progress_text import parse_text
from sprintlog.projections.views.log import NotTaken

from .. import typed
from ..context import open_workspace, with_actor, with_json, with_sprint
from ..importers.markdown import READERS
from ..importers.task_lists import is_task_file
from ..intake.files import read_bytes
from ..intake.foreign_files import check_no_link, json_of
from ..intake.transcript import NOT_TRANSCRIPTS
from ..output import print_answer
from ..record import Options
from .import_record import Import, read_with
from .suggestions import EXTENDED, KINDS, PLACES

BEGINNING = 256 * 1024
"""The size of the part that is examined to recognize a file of lines, in bytes."""
WHOLE_MAX = 8 * 1024 * 1024
"""The size above which a file is recognized by its first lines only."""
_SESSION = re.compile(rb'\s*\{[^\0]*?"(?:projectHash|responderUsername)"\s*:')
"""Matches the start of a session that is stored as a single document."""
USUAL = {one["kind"]: [*one["places"], *one.get("inside", ())] for one in KINDS}
_NAMES = dict.fromkeys(Path(x).name for places in USUAL.values() for x in places)
KNOWN = ", ".join([*_NAMES, "an export", "a transcript"])


def recognise(path: Path) -> str:
    """Return the kind of a file or folder according to its content.

    Raise `InvalidInputError` for a file that no importer accepts.
    """
    if path.is_dir():
        return "folder"
    content = read_bytes(path, bytes_max=WHOLE_MAX)
    kind = _of_document(content, path.name) or _of_lines(content[:BEGINNING])
    if kind is None:
        unknown = NOT_TRANSCRIPTS.get(path.name, "is not supported by import")
        problem = "is empty" if not content.strip() else unknown
        raise errors.InvalidInputError(
            problem, file=str(path), hint=f"supported formats: {KNOWN}"
        )
    return kind


def in_folder(folder: Path) -> dict[tuple[str, Path], Path]:
    """Return each record's first existing usual path in a folder, by kind and path.

    If several files of a kind belong to one loop, the path of the record is its folder.
    """
    there: dict[tuple[str, Path], Path] = {}
    for one in KINDS:
        for path in (folder / x for x in USUAL[one["kind"]] if (folder / x).exists()):
            whole = folder if one["kind"] == "aiwg" else path.parent
            found = one["kind"], whole if "is_folder" in one else path
            there.setdefault(found, path)
    return there


def _of_document(content: bytes, name: str) -> str | None:
    """Return the kind of a file that contains a single document, or None."""
    if len(content) > WHOLE_MAX:
        return None
    if (found := json_of(content)) is None:
        return _of_text(content, name)
    for one in KINDS if isinstance(found, dict) else ():
        if any({*keys} <= found.keys() for keys in one.get("keys", ())):
            return str(one["kind"])
    return "prd" if is_task_file(found) else None


def _of_text(content: bytes, name: str) -> str | None:
    """Return the kind of a text file from its lines or, for a journal, its dated headings.

    A file with the usual name of a checklist is a checklist, even if its headings contain
    dates.
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
    """Return the kind of a file with one message per line, based on its first lines."""
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


def command_of(group: click.Command, kind: str) -> click.Command:
    """Return the command for a detected kind; raise an error if it does not exist."""
    root = click.get_current_context().find_root()
    if kind == "log" and (store := typed.below(root, "store")) is not None:
        group, kind = store.command, "import"
    assert isinstance(group, click.Group)
    command = group.commands.get(kind) or extended_command(kind)
    assert command is not None
    return command


def extended_command(name: str) -> click.Command | None:
    """Return the import command of a built-in importer or an extension, or None."""
    if name in READERS:
        read, extension = READERS[name], Extension("importer", name, "", "sprintlog", "")
    else:
        try:
            extension, read = loaded("importer", name)
        except errors.NotFoundError:
            return None

    @typed.command(name, epilog=f"Example: sprintlog import {name} PATH")
    @typed.path_argument("path")
    @with_sprint
    @with_actor
    @with_json
    def command(path: Path, **given: Any) -> None:
        """Import a source; importing the same source again has no effect."""
        imported = read_with(extension, read, path)
        with open_workspace() as workspace:
            Import(extension.name, path, Options(given), workspace).take(imported)

    return command


IN_TOOLS: list[str] = PLACES["folders"]["names"]
FILES_MAX = 50
OPENED_MAX = 50_000
Tools = dict[str, set[Path]]
"""The paths that each extension's importer has read, by importer."""


@typed.command("folder")
@typed.path_argument("folder", default=Path())
@with_actor
@with_json
def folder(folder: Path, as_json: bool, actor: str) -> None:
    """Import all of a folder's records from other tools, and report each record's status.

    A record is imported, known but not imported, or unknown. Installed importers from
    extensions are used as well. Links are not followed.

    Example: sprintlog import .
    """
    group = click.get_current_context().parent
    assert group is not None
    assert isinstance(group.command, click.Group)
    left: list[NotTaken] = []
    there = in_folder(folder)
    given = {"as_json": as_json, "actor": actor}
    tools = _extensions(folder, {*there.values()}, left, given)
    imported = len(tools)
    for (kind, path), place in there.items():
        try:
            _check_unread({place}, tools)
            check_no_link(path, below=folder)
            words = [str(path), "--actor", actor, *(["--json"] if as_json else [])]
            command = command_of(group.command, kind)
            with command.make_context(kind, words, parent=group) as context:
                command.invoke(context)
            imported += 1
        except errors.SprintlogError as error:
            left.append(NotTaken(str(path), kind, error.message))
    for sign, tool in EXTENDED.items():
        if tool not in tools and (place := folder / sign).exists():
            problem = f"{place}: the importer {tool} is not installed, or could not read it"
            left.append(NotTaken(str(place), tool, problem))
    left += _others(folder, [*(path for _, path in there), *(folder / x for x in EXTENDED)])
    if not (imported or left):
        problem = f"{folder}: contains nothing that import supports"
        raise errors.NotFoundError(
            problem, hint=f"supported formats: {KNOWN}", file=str(folder)
        )
    for one in left:
        state = f"recognized as {one.kind}" if one.kind else "unknown"
        print_answer(one, [f"not imported, {state}: {one.reason}"], as_json=as_json)
    if not imported:
        raise errors.RefusedError(f"{folder}: nothing was imported", file=str(folder))


def _extensions(
    folder: Path, places: set[Path], left: list[NotTaken], given: dict[str, Any]
) -> Tools:
    """Run the installed importers; the first that can read a path imports it."""
    tools: Tools = {}
    for extension in installed("importer"):
        try:
            read = load(extension)
            _opened().clear()
            imported = read_with(extension, read, folder)
            opened = {one for file in [*_opened()] for one in (file, *file.parents)}
            own = {place for place in places if Path(os.path.abspath(place)) in opened}
            _check_unread(own, tools)
            with open_workspace() as workspace:
                Import(extension.name, folder, Options(given), workspace).take(imported)
            tools[extension.name] = own
        except errors.NotFoundError:
            continue
        except errors.SprintlogError as error:
            left.append(NotTaken(str(folder), extension.name, error.message))
    return tools


def _check_unread(places: set[Path], tools: Tools) -> None:
    """Raise `RefusedError` if another importer has already read one of the paths."""
    for name, read in tools.items():
        for place in sorted(places & read):
            raise errors.RefusedError(f"{place}: already read by the importer {name}")


@cache
def _opened() -> deque[Path]:
    """Return a queue that receives the path of each file this process opens from now on.

    An importer need not use sprintlog's readers, so the interpreter reports opened files.
    An audit hook cannot be removed, so it is installed only once.
    """
    opened = deque[Path](maxlen=OPENED_MAX)

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[0], str | bytes):
            opened.append(Path(os.path.abspath(os.fsdecode(given[0]))))

    sys.addaudithook(hear)
    return opened


def _others(folder: Path, known: Collection[Path]) -> Iterator[NotTaken]:
    """Yield the files in known tools' folders that are not imported."""
    places = [folder] if folder.resolve().name in IN_TOOLS else []
    for place in [*places, *(folder / name for name in IN_TOOLS)]:
        every = sorted(place.iterdir()) if place.is_dir() else []
        files = [one for one in every if one.is_file() and one not in known]
        for path in files[:FILES_MAX]:
            try:
                check_no_link(path, below=folder)
                kind = recognise(path)
                problem = f"{path}: pass this path to import it"
            except errors.SprintlogError as error:
                kind, problem = "", error.message
            yield NotTaken(str(path), kind, problem)
