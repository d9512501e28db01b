"""The recording of facts from other loops: each once, at its own time, as observed."""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import AgentRan, IterationStarted
from sprintlog.engine.sprint.iterations.facts import Ended, Fact, decision_on
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.document_fields import ralph_fields
from sprintlog.projections.health.kept_text import keep_lines
from sprintlog.projections.views.log import LoopTaken
from sprintlog.projections.workspace import Outcome

from ..intake.foreign_files import Unread
from ..intake.imported import ImportedLoop
from ..output import counted, print_answer, warn
from ..record import UNNAMED, Options, Recording

PLURALS = {"story": "stories", "passed": "passed", "entry": "entries"}


def options_of(given: Mapping[str, object], file: Path) -> Options:
    """Return the options of an import, whose events are caused by the file."""
    options = Options(given)
    # The current folder is given as `.`, which has no name.
    actor = f"import:{file.name or file.absolute().name}"[:128]
    return options.with_values(actor=actor) if options.actor in UNNAMED else options


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
    counts = [_counted(number, noun) for noun, number in found.items()]
    if unread:
        counts.append(f"{counted(len(unread), 'line')} not understood → {kept}")
    new = f"{counted(recorded, 'event')} recorded" if recorded else "nothing new"
    said = f"{file}: {kind}, {', '.join(counts)}; {sprint_id}: {new}"
    print_answer(answer, [said], as_json=run.options.as_json)


def warn_of_cut(file: Path) -> None:
    """Warn that a shallow clone lacks the older versions of a file."""
    warn(f"the repository was cloned in part: older versions of {file} are not there")


def _counted(number: int, noun: str) -> str:
    if number != 1 and noun in PLURALS:
        return f"{number} {PLURALS[noun]}"
    return counted(number, noun)


KIND = "imported-from"
"""The key in the document of a sprint that names its import."""


def take_facts(run: Recording, sprint_id: str, loop: ImportedLoop, *, kind: str) -> int:
    """Record the new facts of a loop; return the number of events."""
    recorded = _make_sprint(run, sprint_id, loop, kind=kind) if loop.facts else 0
    number: int | None = None
    for fact in loop.facts:
        outcome = _take(run, sprint_id, fact, number, kind=kind)
        recorded += 0 if outcome.duplicate else len(outcome.events)
        if found := number_of(outcome):
            number = found
    return recorded


def _make_sprint(run: Recording, sprint_id: str, loop: ImportedLoop, *, kind: str) -> int:
    """Create the sprint of a loop unless it exists; return the number of events."""
    if is_there(run, sprint_id, kind=kind):
        return 0
    plan = {**ralph_fields(loop.goal), **loop.more, KIND: kind}
    create = CreateSprint(plan, max_iterations=loop.max_iterations)
    # Two imports at a time make it once.
    options = run.options.with_values(
        at=loop.facts[0].at, key=key_of(sprint_id, "created", kind=kind)
    )
    outcome = Recording(run.name, options, run.workspace).handle_with(
        options.masked_command(create), sprint_id=sprint_id
    )
    return 0 if outcome.duplicate else len(outcome.events)


def is_there(run: Recording, sprint_id: str, *, kind: str) -> bool:
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


def _take(
    run: Recording, sprint_id: str, fact: Fact, number: int | None, *, kind: str
) -> Outcome:
    # A run of which more is known than before is another fact.
    ran = fact.run if isinstance(fact, Ended) else None
    version = f" {ran.output_sha256}" if ran and ran.output_sha256 else ""
    key = key_of(sprint_id, f"{fact.key}{version}", kind=kind)
    options = run.options.with_values(at=fact.at, key=key)
    once = Recording(run.name, options, run.workspace)

    runs = partial(run.workspace.repository.events, sprint_id, AgentRan)
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
