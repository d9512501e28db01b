"""A plan that is compiled again: replaced while nothing has begun, else added to."""

from ...command import Command, commands_in, rule_of
from ...errors import RefusedError
from ...log.event import Event
from ..document.patch import diff
from ..events import Place, Source, SprintCompiled
from ..state.sprint import Sprint
from ..state.tree import Data
from ..state.words import NOT_STARTED, PENDING
from .changes import changes
from .create import CreateSprint, check_same_id, create_sprint, prepare
from .injection import injection_of


class TakePlan(Command, frozen=True):
    """Take in a plan, the first one or one that was compiled again.

    A sprint that has not begun gets the new plan in place of the old one. One that has
    takes what is new where it stands in the definition; raise `RefusedError`, with the
    differences, when anything else is different.
    """

    plan: Data
    place: Place | None = None
    sources: tuple[Source, ...] = ()


def take_plan(sprint: Sprint, command: TakePlan, at: str) -> list[Event]:
    """Decide on `TakePlan`."""
    if not sprint.exists:
        created = CreateSprint(command.plan, command.place, command.sources)
        return create_sprint(sprint, created, at)
    check_same_id(sprint, command.plan)
    document = prepare(command.plan, sprint_id=sprint.id)
    if has_begun(sprint):
        return _added(sprint, document, at)
    if not diff(sprint.plan.derive(), document):
        return []
    # Where the state file is written is not the plan's business any more.
    return [SprintCompiled(document, sprint.plan.place, command.sources)]


def _added(sprint: Sprint, document: Data, at: str) -> list[Event]:
    """Return the injections of all that is new; refuse whatever is otherwise."""
    if sprint.plan.last.goal is not None:
        # The goal was said anew since, which is in no definition.
        document |= {key: sprint.plan.document[key] for key in ("mode", "goal", "ralph")}
    found = changes(sprint.plan.document, document)
    if found.differences:
        count = len(found.differences)
        raise RefusedError(
            f"sprint {sprint.id} has begun and takes additions only; "
            f"{'1 thing is' if count == 1 else f'{count} things are'} different",
            hint="take these changes back, or compile as another sprint with --id",
            sprint=sprint.id,
            command="compile",
            differences=found.differences,
        )
    events: list[Event] = []
    for addition in found.additions:
        command = injection_of(addition.level, addition.nodes, addition.position)
        events += rule_of(command)(sprint, command, at)
    return events


def has_begun(sprint: Sprint) -> bool:
    """Tell whether anything was recorded that a new plan would throw away."""
    document, tree = sprint.plan.document, sprint.plan.tree
    return (
        sprint.plan.status != NOT_STARTED
        or any(leaf.status != PENDING for leaf in tree.leaves)
        or any(node.data.get("injected") is True for node in tree.nodes.values())
        or any(document.get(key) for key in _RECORDED)
        or bool(sprint.plan.decisions)
        or bool(sprint.plan.last)
    )


_RECORDED = ("dynamic-steps", "hook-tasks", "operator-queue")
"""Lists of a plan that events fill."""

COMMANDS = commands_in(globals())
