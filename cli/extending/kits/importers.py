"""What an importer has to do."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.extensions import Extension
from sprintlog.engine.sprint.plan.create import check_sprint_id

from ...begin.import_extended import read_with, record_imported
from ...intake.others.imported import Imported, document_of, facts_of
from ...record import Options
from .ground import must, plain, refused, tree_of, workspace

Importing = Callable[[Path], Imported]


def check_importer(
    name: str, read: Importing, path: Path, *, refuses: Sequence[Path] = ()
) -> dict[str, Any]:
    """Try an importer with a file or a folder; return what comes of it, as plain data.

    That fits a golden file. `refuses` are paths that it does not take. Raise
    `AssertionError` saying the rule that is broken.
    """
    before = tree_of(path)
    must(bool(before), f"{path} is there")
    extension = Extension("importer", name, "kit:kit", "kit", "0")
    imported = read_with(extension, read, path)
    must(read_with(extension, read, path) == imported, "the same source says the same")
    must(tree_of(path) == before, "nothing of the source is changed")
    for sprint in imported.sprints:
        check_sprint_id(sprint.id)
    _recorded(name, imported, path)
    for bad in refuses:
        with refused(f"{bad} has to be refused"):
            read_with(extension, read, bad)
    said = _described(name, imported, path)
    # As a stored result has it: lists for tuples.
    stored: dict[str, Any] = json.loads(plain(said, "what is imported is JSON"))
    return stored


def _recorded(name: str, imported: Imported, path: Path) -> None:
    options = Options({"actor": "import:kit", "as_json": True})
    with workspace() as made:
        try:
            first = record_imported(made, path, imported, options, kind=name)
        except SprintlogError as error:
            raise AssertionError(f"what is read can be recorded: {error}") from error
        must(first > 0, "something is recorded")
        again = record_imported(made, path, imported, options, kind=name)
        must(again == 0, "the same source again brings nothing")


def _described(name: str, imported: Imported, path: Path) -> dict[str, Any]:
    sprints = []
    for one in imported.sprints:
        document = document_of(one, kind=name, file=path) if one.phases else None
        facts = [[type(f).__name__, *f] for f in facts_of(one, file=path)]
        told = {"id": one.id, "goal": one.goal, "document": document, "facts": facts}
        sprints.append(told)
    said: dict[str, Any] = {"sprints": sprints, "found": imported.found}
    said["unread"] = [
        [x.file.removeprefix(str(path)), x.line, x.problem] for x in imported.unread
    ]
    return msgspec.to_builtins(said)  # type: ignore[no-any-return]
