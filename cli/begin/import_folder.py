"""`sprintlog import FOLDER`: all records of other tools in a folder, with their status."""

import os
import sys
from collections import deque
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.errors import NotFoundError, RefusedError, SprintlogError
from sprintlog.engine.extensions import installed, load
from sprintlog.projections.views.log import NotTaken

from .. import typed
from ..context import open_workspace, with_actor, with_json
from ..intake.foreign_files import check_no_link
from ..output import print_answer
from .import_extended import command_of, read_with, take_imported
from .loop_facts import options_of
from .recognise import KNOWN, PLACES, in_folder, recognise

TOOLS: dict[str, str] = PLACES["tools"]
IN_TOOLS: list[str] = PLACES["folders"]["names"]
FILES_MAX = 50
OPENED_MAX = 50_000
Tools = dict[str, set[Path]]
"""The importers of extensions that were used, with the places that each has read."""


@typed.command("folder", epilog="Example: sprintlog import .")
@typed.argument("folder", type=click.Path(path_type=Path), default=Path())
@with_actor
@with_json
def folder(folder: Path, as_json: bool, actor: str) -> None:
    """Import all records of other tools in a folder and report the status of each.

    A record is imported, known but not imported, or unknown. Installed importers of
    extensions are used as well. Links are not followed.
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
        except SprintlogError as error:
            left.append(NotTaken(str(path), kind, error.message))
    for sign, tool in TOOLS.items():
        if tool not in tools and (place := folder / sign).exists():
            problem = f"{place}: the importer {tool} is not installed, or did not read it"
            left.append(NotTaken(str(place), tool, problem))
    left += _others(folder, [*(path for _, path in there), *(folder / x for x in TOOLS)])
    if not (imported or left):
        problem = f"{folder}: nothing in it that import knows"
        raise NotFoundError(problem, hint=f"known are {KNOWN}", file=str(folder))
    for one in left:
        state = f"known as {one.kind}" if one.kind else "unknown"
        print_answer(one, [f"not imported, {state}: {one.reason}"], as_json=as_json)
    if not imported:
        raise RefusedError(f"{folder}: nothing was imported", file=str(folder))


def _extensions(
    folder: Path, places: set[Path], left: list[NotTaken], given: dict[str, Any]
) -> Tools:
    """Import what installed importers read, each place by the first that reads it."""
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
                options = options_of(given, folder)
                take_imported(workspace, folder, imported, options, kind=extension.name)
            tools[extension.name] = own
        except NotFoundError:
            continue
        except SprintlogError as error:
            left.append(NotTaken(str(folder), extension.name, error.message))
    return tools


def _check_unread(places: set[Path], tools: Tools) -> None:
    """Raise `RefusedError` if an importer has read one of some places before."""
    for name, read in tools.items():
        for place in sorted(places & read):
            raise RefusedError(f"{place}: read by the importer {name} instead")


@cache
def _opened() -> deque[Path]:
    """Return a queue to which each file is added that this process opens from now on.

    An importer need not use our readers, so the interpreter reports what it opens. An
    audit hook cannot be removed: it is installed once.
    """
    opened = deque[Path](maxlen=OPENED_MAX)

    def hear(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[0], str | bytes):
            opened.append(Path(os.path.abspath(os.fsdecode(given[0]))))

    sys.addaudithook(hear)
    return opened


def _others(folder: Path, known: Collection[Path]) -> Iterator[NotTaken]:
    """Yield the files in the folders of tools that have no usual place."""
    places = [folder] if folder.resolve().name in IN_TOOLS else []
    for place in [*places, *(folder / name for name in IN_TOOLS)]:
        files = sorted(place.iterdir()) if place.is_dir() else []
        for path in [one for one in files if one.is_file() and one not in known][
            :FILES_MAX
        ]:
            try:
                check_no_link(path, below=folder)
                kind, _ = recognise(path)
                problem = f"{path}: name it to import it"
            except SprintlogError as error:
                kind, problem = "", error.message
            yield NotTaken(str(path), kind, problem)
