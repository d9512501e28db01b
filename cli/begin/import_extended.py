"""`sprintlog import NAME PATH`: what an importer of an extension reads, recorded here."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.extensions import Extension, ExtensionError, loaded, named
from sprintlog.engine.sprint.plan.create import ImportDocument, check_sprint_id
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import open_workspace, with_actor, with_json, with_sprint
from ..importers.markdown import READERS
from ..intake.imported import Imported, ImportedLoop, document_of, facts_of
from ..record import Options, Recording, refresh
from .import_prd import in_force
from .loop_facts import is_there, options_of, take_facts, tell


def command_of(group: click.Command, kind: str) -> click.Command:
    """Return the command of a kind that was recognised; raise if there is none."""
    root = click.get_current_context().find_root()
    if kind == "log" and (store := typed.below(root, "store")) is not None:
        group, kind = store.command, "import"
    assert isinstance(group, click.Group)
    command = group.commands.get(kind) or extended_command(kind)
    assert command is not None
    return command


def extended_command(name: str) -> click.Command | None:
    """Return the command of an importer, built in or of an extension; None without one."""
    if name in READERS:
        read, extension = READERS[name], Extension("importer", name, "", "sprintlog", "")
    else:
        try:
            extension, read = loaded("importer", name)
        except NotFoundError:
            return None

    @typed.command(name, epilog=f"Example: sprintlog import {name} PATH")
    @typed.argument("path", type=click.Path(path_type=Path))
    @with_sprint
    @with_actor
    @with_json
    def command(path: Path, **given: Any) -> None:
        """Import what this importer reads; the same source again brings nothing."""
        imported = read_with(extension, read, path)
        with open_workspace() as workspace:
            options = options_of(given, path)
            take_imported(workspace, path, imported, options, kind=extension.name)

    return command


def read_with(extension: Extension, read: Any, path: Path) -> Imported:
    """Return the result of an importer; raise an error naming it if it is unusable."""
    if not path.exists():
        raise NotFoundError(f"{path}: there is no such file", file=str(path))
    with named(extension):
        imported = read(path)
    if not isinstance(imported, Imported):
        kind = type(imported).__name__
        raise ExtensionError(f"{extension.described()} gives {kind}, and no Imported")
    if not imported.sprints:
        raise InvalidInputError("there is nothing to take in", file=str(path))
    return imported


def take_imported(
    workspace: Workspace, path: Path, imported: Imported, options: Options, *, kind: str
) -> None:
    """Record an import, update the state files, and print the result."""
    recorded = record_imported(workspace, path, imported, options, kind=kind)
    named_ids = [options.sprint_id or one.id for one in imported.sprints]
    for sprint_id in named_ids:
        refresh(workspace, sprint_id)
    run, found = Recording(f"import {kind}", options, workspace), dict(imported.found)
    names, unread = ", ".join(named_ids), imported.unread
    tell(run, path, kind, names, found=found, recorded=recorded, unread=unread)


def record_imported(
    workspace: Workspace, path: Path, imported: Imported, options: Options, *, kind: str
) -> int:
    """Record all sprints that were read, or none: all are checked before the first.

    Return the number of events.
    """
    if options.sprint_id is not None and len(imported.sprints) > 1:
        raise RefusedError(
            f"{path}: {len(imported.sprints)} sprints cannot be the one "
            f"{options.sprint_id}",
            hint="leave --sprint out",
            allowed=[one.id for one in imported.sprints],
        )
    checked = []
    for one in imported.sprints:
        sprint = one._replace(id=options.sprint_id or one.id)
        check_sprint_id(sprint.id)
        if not (sprint.phases or sprint.goal):
            raise InvalidInputError(
                f"{sprint.id} has no phases and no goal", file=str(path)
            )
        document = document_of(sprint, kind=kind, file=path) if sprint.phases else None
        facts = [*facts_of(sprint, file=path)]
        is_there(Recording(f"import {kind}", options, workspace), sprint.id, kind=kind)
        checked.append((sprint, document, facts))
    recorded = 0
    for sprint, document, facts in checked:
        run = Recording(f"import {kind}", options, workspace)
        if document is not None:
            recorded += _take_document(run, sprint.id, document, kind=kind)
        loop = ImportedLoop(sprint.id, sprint.goal)
        loop.facts, loop.more = facts, sprint.more
        recorded += take_facts(run, sprint.id, loop, kind=kind)
    return recorded


def _take_document(
    run: Recording, sprint_id: str, document: dict[str, Any], *, kind: str
) -> int:
    digest = sha256(msgspec.json.encode(document, order="sorted")).hexdigest()
    source = f"{kind}:{digest[:16]}"
    if sprint_id in run.workspace.sprints():
        known, _ = in_force(run.workspace, sprint_id)
        if source in known[-1:]:
            return 0
    command = ImportDocument(document, source, with_facts=True)
    outcome = run.handle_with(command, sprint_id=sprint_id, observed=True)
    return len(outcome.events)
