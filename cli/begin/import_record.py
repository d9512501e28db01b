"""The recording of imports: documents and facts, each once, at its own time."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.service.state_file_owner import loop_holder
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import AgentRan, IterationStarted, Place, SprintImported
from sprintlog.engine.sprint.iterations.facts import Ended, Fact, decision_on
from sprintlog.engine.sprint.plan.create import (
    CreateSprint,
    ImportDocument,
    check_sprint_id,
)
from sprintlog.engine.sprint.state.document_fields import ralph_fields
from sprintlog.engine.sprint.state.effective_history import effective_ranges, is_effective
from sprintlog.projections.health.kept_text import keep_lines
from sprintlog.projections.views.log import LoopTaken
from sprintlog.projections.workspace import Outcome, Workspace

from ..intake.foreign_files import Unread
from ..intake.imported import Imported, ImportedSprint, document_of, facts_of
from ..output import counted, print_answer, warn
from ..record import UNNAMED, Options, Recording, refresh

PLURALS = {"story": "stories", "passed": "passed", "entry": "entries"}
KIND = "imported-from"
"""The key in the document of a sprint that names its import."""


def options_of(given: Mapping[str, object], file: Path) -> Options:
    """Return the options of an import, whose events are caused by the file."""
    return caused_by(file, Options(given))


def caused_by(file: Path, options: Options) -> Options:
    """Return options whose actor is a file, unless the user names another actor."""
    # The current folder is given as `.`, which has no name.
    actor = f"import:{file.name or file.absolute().name}"[:128]
    return options.with_values(actor=actor) if options.actor in UNNAMED else options


def take_imported(
    workspace: Workspace, path: Path, *several: Imported, options: Options, kind: str
) -> None:
    """Record imports, update the state files, and print each result.

    All sprints are checked before the first is recorded.
    """
    run = Recording(f"import {kind}", options, workspace)
    ids = [sprint.id for imported in several for sprint in imported.sprints]
    check_name(
        path, ids, options.sprint_id, noun="sprints" if len(several) == 1 else "loops"
    )
    checked = [_checked(run, path, imported, kind=kind) for imported in several]
    for imported, sprints in zip(several, checked, strict=True):
        recorded = sum(_record(run, one, kind=kind) for one in sprints)
        named_ids = [one.sprint.id for one in sprints]
        for sprint_id in named_ids:
            refresh(workspace, sprint_id)
        found, unread = dict(imported.found), imported.unread
        names = ", ".join(named_ids)
        tell(run, path, kind, names, found=found, recorded=recorded, unread=unread)


def record_imported(
    workspace: Workspace, path: Path, imported: Imported, options: Options, *, kind: str
) -> int:
    """Record all sprints of an import, or none; return the number of events."""
    run = Recording(f"import {kind}", options, workspace)
    checked = _checked(run, path, imported, kind=kind)
    return sum(_record(run, one, kind=kind) for one in checked)


def check_name(
    path: Path, ids: Collection[str], sprint_id: str | None, *, noun: str
) -> None:
    """Raise `RefusedError` if several sprints are to have one name."""
    if sprint_id is not None and len(ids) > 1:
        raise RefusedError(
            f"{path}: {len(ids)} {noun} cannot be the one sprint {sprint_id}",
            hint="leave --sprint out, or import the file of one",
            allowed=[*ids],
        )


class Checked(NamedTuple):
    """A sprint that can be recorded."""

    sprint: ImportedSprint
    document: dict[str, Any] | None
    facts: Sequence[Fact]


def _checked(run: Recording, path: Path, imported: Imported, *, kind: str) -> list[Checked]:
    checked = []
    for one in imported.sprints:
        sprint = one._replace(id=run.options.sprint_id or one.id)
        check_sprint_id(sprint.id)
        if not (sprint.phases or sprint.goal):
            raise InvalidInputError(
                f"{sprint.id} has no phases and no goal", file=str(path)
            )
        document = document_of(sprint, kind=kind, file=path) if sprint.phases else None
        facts = [*facts_of(sprint, file=path)]
        _is_there(run, sprint.id, kind=kind)
        measured = sprint.loop and sprint.loop.measured_as
        if measured and (own := loop_holder(run.workspace, measured)):
            raise RefusedError(
                f"{path}: the measurements of {measured} are those of sprint {own} here",
                hint="they are recorded already",
                sprint=own,
            )
        checked.append(Checked(sprint, document, facts))
    return checked


def _record(run: Recording, checked: Checked, *, kind: str) -> int:
    """Record the new content of a sprint; return the number of events."""
    sprint, document, facts = checked
    recorded = 0
    if document is not None:
        digest = sha256(msgspec.json.encode(document, order="sorted")).hexdigest()
        source = f"{kind}:{digest[:16]}"
        if source not in known_sources(run.workspace, sprint.id).in_force[-1:]:
            recorded += len(record_document(run, sprint.id, document, source).events)
    if facts and not _is_there(run, sprint.id, kind=kind):
        recorded += _new_events(_make_sprint(run, sprint, facts[0].at, kind=kind))
    number: int | None = None
    for fact in facts:
        outcome = _take_fact(run, sprint.id, fact, number, kind=kind)
        recorded += _new_events(outcome)
        number = number_of(outcome) or number
    return recorded


def record_document(
    run: Recording,
    sprint_id: str,
    document: dict[str, Any],
    source: str,
    *,
    place: Place | None = None,
    at: str | None = None,
    committed_at: str | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> Outcome:
    """Record a version of a sprint's document; `source` names the version."""
    command = ImportDocument(document, source, place, committed_at, with_facts=True)
    dated = Recording(run.name, run.options.with_values(at=at), run.workspace)
    return dated.handle_with(command, arguments, sprint_id=sprint_id, observed=True)


class KnownSources(NamedTuple):
    """The versions of a sprint's document that were imported, by their sources."""

    every: list[str]
    in_force: list[str]
    """Those that no rollback discarded; a discarded one may be imported again."""


def known_sources(workspace: Workspace, sprint_id: str) -> KnownSources:
    """Return the recorded versions of a sprint's document."""
    sprint = workspace.sprint(sprint_id)
    stretches = effective_ranges(sprint.knowledge.rollbacks, sprint.version)
    known = KnownSources([], [])
    for recorded in workspace.events(sprint_id):
        if recorded.type != SprintImported.type:
            continue
        event = CODEC.decode(recorded)
        assert isinstance(event, SprintImported)
        known.every.append(event.source)
        if is_effective(stretches, recorded.version):
            known.in_force.append(event.source)
    return known


def _make_sprint(
    run: Recording, sprint: ImportedSprint, at: str | None, *, kind: str
) -> Outcome:
    """Create the sprint of a loop."""
    plan = {**ralph_fields(sprint.goal), **sprint.more, KIND: kind}
    limit = sprint.loop.max_iterations if sprint.loop else 0
    # Two imports at a time make it once.
    key = key_of(sprint.id, "created", kind=kind)
    options = run.options.with_values(at=at, key=key)
    create = options.masked_command(CreateSprint(plan, max_iterations=limit))
    once = Recording(run.name, options, run.workspace)
    return once.handle_with(create, sprint_id=sprint.id)


def _is_there(run: Recording, sprint_id: str, *, kind: str) -> bool:
    """Return whether the sprint of an import exists.

    Raise `RefusedError` for one of its name that is of another import and was not named.
    """
    workspace = run.workspace
    if sprint_id not in workspace.sprints():
        return False
    is_of_it = workspace.sprint(sprint_id).plan.document.get(KIND) == kind
    if is_of_it or run.options.sprint_id == sprint_id:
        return True
    raise RefusedError(
        f"there is a sprint {sprint_id} already, which is not of {kind}",
        hint="name it, or another one, with --sprint",
        sprint=sprint_id,
    )


def _take_fact(
    run: Recording, sprint_id: str, fact: Fact, number: int | None, *, kind: str
) -> Outcome:
    # A run of which more is known than before is another fact.
    ran = fact.run if isinstance(fact, Ended) else None
    version = f" {ran.output_sha256}" if ran and ran.output_sha256 else ""
    key = key_of(sprint_id, f"{fact.key}{version}", kind=kind)
    options = run.options.with_values(at=fact.at, key=key)
    runs = partial(run.workspace.repository.events, sprint_id, AgentRan)
    once = Recording(run.name, options, run.workspace)
    decide = decision_on(fact, number, runs)
    return once.handle_with(decide, sprint_id=sprint_id, observed=True)


def key_of(sprint_id: str, fact: str, *, kind: str) -> str:
    """Return the idempotency key of a fact: each is recorded once."""
    digest = sha256(f"{sprint_id}\n{fact}".encode()).hexdigest()[:40]
    return f"import:{kind}:{digest}"


def number_of(outcome: Outcome) -> int | None:
    """Return the number of the iteration that began, now or when it was first recorded."""
    for recorded in outcome.events:
        if recorded.type == IterationStarted.type:
            event = CODEC.decode(recorded)
            assert isinstance(event, IterationStarted)
            return event.number
    return None


def _new_events(outcome: Outcome) -> int:
    return 0 if outcome.duplicate else len(outcome.events)


def tell(
    run: Recording,
    file: Path,
    kind: str,
    sprint_id: str,
    *,
    found: dict[str, int],
    recorded: int,
    unread: Sequence[Unread],
) -> None:
    """Print the contents of a source, and keep the parts that were not understood."""
    kept = None
    if unread:
        lines = [line._asdict() for line in unread]
        kept = str(keep_lines(run.workspace, file.name, lines))
    answer = LoopTaken(
        file=str(file),
        kind=kind,
        sprint=sprint_id,
        found=found,
        recorded=recorded,
        unread=len(unread),
        kept=kept,
    )
    counts = [
        f"{number} {PLURALS[noun]}"
        if number != 1 and noun in PLURALS
        else counted(number, noun)
        for noun, number in found.items()
    ]
    if unread:
        counts.append(f"{counted(len(unread), 'line')} not understood → {kept}")
    new = f"{counted(recorded, 'event')} recorded" if recorded else "nothing new"
    said = f"{file}: {kind}, {', '.join(counts)}; {sprint_id}: {new}"
    print_answer(answer, [said], as_json=run.options.as_json)


def warn_of_cut(file: Path) -> None:
    """Warn that a shallow clone lacks the older versions of a file."""
    warn(f"the repository was cloned in part: older versions of {file} are not there")
