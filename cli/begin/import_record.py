"""Recording of imports: each document and fact is recorded once, with its own time."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.extensions import Extension, ExtensionError, named
from sprintlog.engine.service.from_transcripts import KnownSessions
from sprintlog.engine.service.state_file_owner import loop_holder
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.streams.evaluation import StreamEvents
from sprintlog.engine.sprint.events import AgentRan, IterationStarted, SprintImported
from sprintlog.engine.sprint.iterations.facts import Ended, Fact, decision_on
from sprintlog.engine.sprint.plan import create as plans
from sprintlog.engine.sprint.state.document_fields import ralph_fields
from sprintlog.engine.sprint.state.effective_history import effective_ranges, is_effective
from sprintlog.projections.health.kept_text import keep_lines
from sprintlog.projections.views.log import LoopTaken
from sprintlog.projections.workspace import Decide, Outcome, Workspace

from ..intake.foreign_files import Unread
from ..intake.imported import Imported, ImportedSprint, facts_of
from ..intake.transcript import TranscriptRead
from ..output import counted, print_answer, warn
from ..record import UNNAMED, Options, Recording, refresh

PLURALS = {"story": "stories", "passed": "passed", "entry": "entries"}
KIND = "imported-from"
"""The key in a sprint's document that states the kind of import."""


Checked = tuple[ImportedSprint, dict[str, Any] | None, Sequence[Fact]]
"""A valid sprint, with its document and its facts."""


class Import(Recording):
    """An import in progress; the imported file is the actor of the import's events."""

    def __init__(
        self, kind: str, file: Path, options: Options, workspace: Workspace
    ) -> None:
        if options.actor in UNNAMED:
            # The current folder is passed as `.`, which has no name.
            actor = f"import:{file.name or file.absolute().name}"[:128]
            options = options.with_values(actor=actor)
        super().__init__(f"import {kind}", options, workspace)
        self.kind, self.file = kind, file

    def take(self, *several: Imported) -> None:
        """Record imports, update the state files, and print each result.

        All sprints are checked before the first is recorded.
        """
        self.check_name(sprint.id for imported in several for sprint in imported.sprints)
        checked = [self._checked(imported) for imported in several]
        for imported, sprints in zip(several, checked, strict=True):
            recorded = sum(self._record(*one) for one in sprints)
            ids = [sprint.id for sprint, _, _ in sprints]
            for sprint_id in ids:
                refresh(self.workspace, sprint_id)
            self.tell(", ".join(ids), dict(imported.found), recorded, imported.unread)

    def record(self, imported: Imported) -> int:
        """Record all sprints of an import, or none; return the number of new events."""
        return sum(self._record(*one) for one in self._checked(imported))

    def check_name(self, found: Iterable[str]) -> None:
        """Raise `RefusedError` if several sprints would share one name."""
        ids = [*found]
        if self.options.sprint_id is not None and len(ids) > 1:
            raise RefusedError(
                f"{self.file}: {len(ids)} sprints cannot be imported as the "
                f"single sprint {self.options.sprint_id}",
                hint="omit --sprint",
                allowed=ids,
            )

    def _checked(self, imported: Imported) -> list[Checked]:
        checked: list[Checked] = []
        for one in imported.sprints:
            sprint = one._replace(id=self.options.sprint_id or one.id)
            plans.check_sprint_id(sprint.id)
            document = None
            if sprint.phases:
                document = sprint.document(kind=self.kind, file=self.file)
            elif not sprint.goal:
                problem = f"{sprint.id} has no phases and no goal"
                raise InvalidInputError(problem, file=str(self.file))
            facts = [*facts_of(sprint, file=self.file)]
            self._is_there(sprint.id)
            measured = sprint.loop and sprint.loop.measured_as
            if measured and (own := loop_holder(self.workspace, measured)):
                raise RefusedError(
                    f"{self.file}: the measurements of {measured} already belong to "
                    f"sprint {own}",
                    hint="the measurements are already recorded",
                    sprint=own,
                )
            checked.append((sprint, document, facts))
        return checked

    def _is_there(self, sprint_id: str) -> bool:
        """Return whether the import's sprint exists.

        Raise `RefusedError` if a sprint with that name was created by another import,
        unless the user specified the name.
        """
        if sprint_id not in self.workspace.sprints():
            return False
        is_of_it = self.workspace.sprint(sprint_id).plan.document.get(KIND) == self.kind
        if is_of_it or self.options.sprint_id == sprint_id:
            return True
        raise RefusedError(
            f"sprint {sprint_id} already exists and was not imported from {self.kind}",
            hint="specify that sprint or another one with --sprint",
            sprint=sprint_id,
        )

    def _record(
        self, sprint: ImportedSprint, document: dict[str, Any] | None, facts: Sequence[Fact]
    ) -> int:
        """Record a sprint's new content; return the number of recorded events."""
        recorded = 0
        if document is not None:
            digest = sha256(msgspec.json.encode(document, order="sorted")).hexdigest()
            source = f"{self.kind}:{digest[:16]}"
            command = plans.ImportDocument(document, source, with_facts=True)
            if source not in known_sources(self.workspace, sprint.id).in_force[-1:]:
                at = self.options.at
                recorded += new_events(self.record_fact(sprint.id, command, at=at))
        if facts and not self._is_there(sprint.id):
            plan = {**ralph_fields(sprint.goal), **sprint.more, KIND: self.kind}
            limit = sprint.loop.max_iterations if sprint.loop else 0
            create = self.options.masked_command(
                plans.CreateSprint(plan, max_iterations=limit)
            )
            created = self.record_fact(
                sprint.id, create, fact="created", at=facts[0].at, is_observed=False
            )
            recorded += new_events(created)
        number: int | None = None
        runs = partial(self.workspace.repository.events, sprint.id, AgentRan)
        for one in facts:
            # A run with more known data than before is a different fact.
            ran = one.run if isinstance(one, Ended) else None
            version = f" {ran.output_sha256}" if ran and ran.output_sha256 else ""
            decide, fact = decision_on(one, number, runs), f"{one.key}{version}"
            outcome = self.record_fact(sprint.id, decide, fact=fact, at=one.at)
            recorded += new_events(outcome)
            number = number_of(outcome) or number
        return recorded

    def record_fact(
        self,
        sprint_id: str,
        decide: Decide,
        arguments: Mapping[str, Any] | None = None,
        *,
        at: str | None,
        fact: str | None = None,
        is_observed: bool = True,
    ) -> Outcome:
        """Append the events that `decide` returns; a given `fact` is recorded only once."""
        options = self.options.with_values(at=at)
        if fact is not None:
            digest = sha256(f"{sprint_id}\n{fact}".encode()).hexdigest()[:40]
            options.key = f"import:{self.kind}:{digest}"
        run = Recording(self.name, options, self.workspace)
        return run.handle_with(decide, arguments, sprint_id=sprint_id, observed=is_observed)

    def tell(
        self,
        sprint_id: str,
        found: dict[str, int],
        recorded: int,
        unread: Sequence[Unread],
        *,
        kind: str | None = None,
    ) -> None:
        """Print the source's contents, and save the parts that could not be read."""
        kept, kind = None, kind or self.kind
        if unread:
            lines = [line._asdict() for line in unread]
            kept = str(keep_lines(self.workspace, self.file.name, lines))
        answer = LoopTaken(
            file=str(self.file),
            kind=kind,
            sprint=sprint_id,
            found=found,
            recorded=recorded,
            unread=len(unread),
            kept=kept,
        )
        counts = [counted(n, noun, PLURALS.get(noun)) for noun, n in found.items()]
        if unread:
            counts.append(f"{counted(len(unread), 'line')} not understood → {kept}")
        new = f"{counted(recorded, 'event')} recorded" if recorded else "nothing new"
        said = f"{self.file}: {kind}, {', '.join(counts)}; {sprint_id}: {new}"
        print_answer(answer, [said], as_json=self.options.as_json)


def take_sessions(
    workspace: Workspace, sessions: Sequence[TranscriptRead], options: Options
) -> None:
    """Record agent sessions, earliest first."""
    known = KnownSessions(workspace)
    for session in sorted(sessions, key=lambda one: one.began_at or ""):
        run = Import("transcript", session.file, options, workspace)
        _take_session(run, known, session)


def _take_session(run: Import, known: KnownSessions, session: TranscriptRead) -> None:
    """Record the new part of a session as an iteration."""
    ran, summary = session.ran()
    options, at = run.options, session.began_at
    sprint_id = known.sprint_of(ran, options.sprint_id, actor=options.actor, at=at)
    recorded = 0
    if before := known.before(sprint_id, ran):
        number = before[-1].iteration
    else:
        fact = f"{session.key}:began"
        began = run.record_fact(sprint_id, known.begins, fact=fact, at=at)
        number, recorded = number_of(began), new_events(began)
    ends = partial(known.ends, replace(ran, iteration=number), summary)
    fact = f"{session.key}:{session.sha256}"
    recorded += new_events(run.record_fact(sprint_id, ends, fact=fact, at=session.ended_at))
    found = {"line": session.activity.lines, "tool call": session.activity.tool_calls}
    if session.subagents:
        found["subagent"] = session.subagents
    kind = f"transcript of {session.activity.agent}"
    run.tell(sprint_id, found, recorded, session.unread, kind=kind)
    refresh(run.workspace, sprint_id)


def read_with(extension: Extension, read: Any, path: Path) -> Imported:
    """Return an importer's result; if it is invalid, raise an error naming the importer."""
    if not path.exists():
        raise NotFoundError(f"{path}: there is no such file", file=str(path))
    with named(extension):
        imported = read(path)
    if not isinstance(imported, Imported):
        kind = type(imported).__name__
        raise ExtensionError(f"{extension.described()} returned {kind}, not Imported")
    if not imported.sprints:
        raise InvalidInputError("contains nothing to import", file=str(path))
    return imported


class KnownSources(NamedTuple):
    """The sources of the imported versions of a sprint's document."""

    every: list[str]
    in_force: list[str]
    """The sources that no rollback has discarded; discarded ones may be imported again."""


def known_sources(workspace: Workspace, sprint_id: str) -> KnownSources:
    """Return the sources of the recorded versions of a sprint's document."""
    sprint = workspace.sprint(sprint_id)
    stretches = effective_ranges(sprint.knowledge.rollbacks, sprint.version)
    found = StreamEvents(workspace.log, sprint_id, sprint.version).all(SprintImported)
    sources = [(version, event.source) for version, _, event in found]
    in_force = [source for version, source in sources if is_effective(stretches, version)]
    return KnownSources([source for _, source in sources], in_force)


def number_of(outcome: Outcome) -> int | None:
    """Return the number of the started iteration, even if it was recorded earlier."""
    events = map(CODEC.decode, outcome.events)
    return next((one.number for one in events if isinstance(one, IterationStarted)), None)


def new_events(outcome: Outcome) -> int:
    """Return the number of events recorded by this call."""
    return 0 if outcome.duplicate else len(outcome.events)


def warn_of_cut(file: Path) -> None:
    """Warn that a shallow clone lacks the older versions of a file."""
    warn(f"the repository is a partial clone: older versions of {file} are missing")
