"""Recording what other loops say happened: each fact once, at its own time, as observed."""

from collections.abc import Iterable
from hashlib import sha256

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import IterationStarted
from sprintlog.engine.sprint.goal.settings import ralph_fields
from sprintlog.engine.sprint.iterations.facts import Fact
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.workspace import Outcome

from ..record import Recording

KIND = "imported-from"
"""The key in its document that says which import a sprint is of."""


def take_facts(
    run: Recording, sprint_id: str, facts: Iterable[Fact], *, kind: str, goal: str
) -> int:
    """Record facts of a loop that are new; return how many events came of them."""
    before = run.workspace.log.head().position
    number: int | None = None
    for fact in facts:
        if run.workspace.log.head().position == before:
            _make_sprint(run, sprint_id, fact.at, kind=kind, goal=goal)
        outcome = _take(run, sprint_id, fact, number, kind=kind)
        if found := _number(outcome):
            number = found
    return run.workspace.log.head().position - before


def _make_sprint(
    run: Recording, sprint_id: str, at: str | None, *, kind: str, goal: str
) -> None:
    """Make the sprint of a loop where there is none yet.

    Raise `RefusedError` where one of its name is there that nobody named.
    """
    workspace = run.workspace
    if sprint_id in workspace.sprints():
        is_of_it = workspace.sprint(sprint_id).plan.document.get(KIND) == kind
        if is_of_it or run.options.sprint_id == sprint_id:
            return
        raise RefusedError(
            f"there is a sprint {sprint_id} already, which is not of {kind}",
            hint="name it, or another one, with --sprint",
            sprint=sprint_id,
        )
    create = CreateSprint({**ralph_fields(goal), KIND: kind}, max_iterations=0)
    dated = Recording(run.name, run.options.with_values(at=at), workspace)
    dated.handle_with(run.options.masked_command(create), sprint_id=sprint_id)


def _take(
    run: Recording, sprint_id: str, fact: Fact, number: int | None, *, kind: str
) -> Outcome:
    digest = sha256(f"{sprint_id}\n{fact.key}".encode()).hexdigest()[:40]
    options = run.options.with_values(at=fact.at, key=f"import:{kind}:{digest}")
    once = Recording(run.name, options, run.workspace)
    return once.handle_with(
        lambda sprint, at: fact.events(sprint, number), sprint_id=sprint_id, observed=True
    )


def _number(outcome: Outcome) -> int | None:
    """Return the number of the iteration that began, now or when it was first recorded."""
    for recorded in outcome.events:
        if recorded.type == IterationStarted.type:
            event = CODEC.decode(recorded)
            assert isinstance(event, IterationStarted)
            return event.number
    return None
