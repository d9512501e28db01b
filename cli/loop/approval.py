"""What comes of an approval: the phases that the loop works on because of it."""

from collections.abc import Iterable, Iterator

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import Injection
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.engine.sprint.queue.decisions import ApproveRequest
from sprintlog.engine.sprint.queue.rules import Ruling
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.tree import takes_part
from sprintlog.projections.views import queue as views
from sprintlog.projections.views.back import decoded
from sprintlog.projections.workspace import Handled

from ..output import fitting, print_answer, print_text
from ..record import Recording

APPROVE = "approve"


def show_approval(run: Recording, command: ApproveRequest) -> None:
    """Show what an approval would put into the plan; record nothing."""
    sprint, at = run.workspace.sprint(run.sprint_id), run.options.at
    events = run.workspace.preview(command, sprint_id=run.sprint_id, at=at)
    would = Ruling(command.request, None, APPROVE, events)
    lines = [*_coming(sprint, events)] or ["nothing to do, it is so already"]
    print_answer(views.ruling(would), lines, as_json=run.options.as_json)


def tell_approval(run: Recording, outcome: Handled[Sprint]) -> None:
    """Say what the loop works on because of an approval."""
    if not run.options.as_json:
        print_text(*_coming(outcome.state, decoded(outcome.events)))


def _coming(sprint: Sprint, events: Iterable[Event]) -> Iterator[str]:
    first = ", before it goes on towards its goal" if sprint.plan.is_ralph else ""
    for injection in events:
        if not isinstance(injection, Injection):
            continue
        nodes = filter(takes_part, injection.nodes)
        for address, node in zip(addresses(injection), nodes, strict=True):
            asked = str(node.get("prompt") or "").partition("\n")[0]
            said = f": {asked}" if asked else ""
            yield fitting(f"the loop works on phase {address}{first}{said}")
