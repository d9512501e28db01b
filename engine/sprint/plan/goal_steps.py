"""The commands for dynamic steps towards a goal (LOOP-020 to LOOP-024)."""

from collections.abc import Iterable

from ...command import Command, Events
from ...errors import NotFoundError, RefusedError
from ...log.event import Event, Takers
from ..answers.items import OpenStep
from ..events import DynamicStepAdded, DynamicStepUpdated, NoteAdded
from ..phases.leaves import check_word
from ..state import document_fields, transitions, tree
from ..state.sprint import Knowledge, Plan, Sprint
from ..state.words import COMPLETED, DYNAMIC_STEP_STATUSES, PENDING

PREFIX = "step-"
_ALLOTTED = "\nstep"
"""The key of the next step number; the line break distinguishes it from id prefixes."""


class AddStep(Command, frozen=True):
    """Add a step; its id defaults to the next unused `step-N`."""

    prompt: str
    step: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_goal(sprint, "add a step")
        _check_prompt(self.prompt)
        steps = document_fields.steps_of(sprint.plan.document)
        if self.step is not None:
            transitions.check_id(self.step, field="id")
            if self.step in steps:
                if steps[self.step].get("prompt") == self.prompt:
                    return []
                raise RefusedError(
                    f"step {self.step} already exists with a different prompt",
                    hint="use `sprintlog step update ID` to change it, or choose a "
                    "different id",
                    step=self.step,
                )
        return [_added(sprint, self.prompt, self.step or f"{PREFIX}{_next_number(sprint)}")]


class UpdateStep(Command, frozen=True):
    """Change the status of a step, its prompt, or both."""

    step: str
    status: str | None = None
    prompt: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_goal(sprint, "update a step")
        check_word("status", self.status, DYNAMIC_STEP_STATUSES)
        if self.prompt is not None:
            _check_prompt(self.prompt)
        if self.status is None and self.prompt is None:
            raise RefusedError(
                f"step {self.step}: neither a status nor a prompt is specified",
                hint=f"statuses: {', '.join(DYNAMIC_STEP_STATUSES)}",
                step=self.step,
            )
        steps = document_fields.steps_of(sprint.plan.document)
        if self.step not in steps:
            raise NotFoundError(
                f"there is no step {self.step} in sprint {sprint.id}",
                hint=f"known: {', '.join(list(steps)[:20])}" if steps else None,
                step=self.step,
            )
        return _changed(self.step, steps[self.step], self.status, self.prompt)


def _adds(event: DynamicStepAdded) -> AddStep:
    return AddStep(event.prompt, event.id or None)


def _updates(event: DynamicStepUpdated) -> UpdateStep:
    return UpdateStep(event.id, event.status, event.prompt)


def take_steps(
    sprint: Sprint, *, completed: Iterable[str], pending: Iterable[OpenStep]
) -> list[Event]:
    """Return the events for the steps that an agent reports at the end of an iteration.

    A pending step with a known id, or with the prompt of an open step, refers to that step;
    a completed step is reopened. Invalid steps are recorded as notes.
    """
    steps = document_fields.steps_of(sprint.plan.document)
    events: list[Event] = []
    done = dict.fromkeys(completed)
    for identity in done:
        if identity in steps:
            events += _changed(identity, steps[identity], COMPLETED, None)
        else:
            events.append(_unknown(identity, "completed"))
    prompts = {
        step.get("prompt")
        for identity, step in steps.items()
        if identity not in done and step.get("status") != COMPLETED
    }
    number = _next_number(sprint)
    for prompt, given in pending:
        if given in done or (given is None and prompt in prompts):
            continue
        if given in steps:
            again = PENDING if steps[given].get("status") == COMPLETED else None
            events += _changed(given, steps[given], again, prompt)
            steps[given] = {**steps[given], "prompt": prompt or steps[given].get("prompt")}
            continue
        if prompt is None:
            events.append(_unknown(str(given), "pending"))
            continue
        identity = given or f"{PREFIX}{number}"
        number = max(number, _number_of(identity) + 1)
        events.append(_added(sprint, prompt, identity))
        steps[identity] = {"id": identity, "prompt": prompt, "status": PENDING}
        prompts.add(prompt)
    return events


def _step(document: tree.Data, identity: str) -> tree.Data | None:
    """Return the step with the given id, or None."""
    for step in reversed(document_fields.list_of(document, "dynamic-steps")):
        if isinstance(step, dict) and step.get("id") == identity:
            return step
    return None


def open_steps(sprint: Sprint, events: Iterable[Event] = ()) -> tuple[str, ...]:
    """Return the ids of the steps that are not completed after the given events."""
    steps = {
        identity: step.get("status")
        for identity, step in document_fields.steps_of(sprint.plan.document).items()
    }
    for event in events:
        if isinstance(event, DynamicStepAdded):
            steps[event.id] = PENDING
        elif isinstance(event, DynamicStepUpdated) and event.status is not None:
            steps[event.id] = event.status
    return tuple(identity for identity, status in steps.items() if status != COMPLETED)


def _check_prompt(prompt: str) -> None:
    if not prompt.strip():
        raise RefusedError("prompt is empty", field="prompt")


def _added(sprint: Sprint, prompt: str, identity: str) -> Event:
    return DynamicStepAdded(identity, prompt, sprint.plan.iteration)


def _changed(
    identity: str, step: tree.Data, status: str | None, prompt: str | None
) -> list[Event]:
    """Return the event for a change; empty if nothing changes (SPR-042)."""
    now = None if status == step.get("status") else status
    text = None if prompt == step.get("prompt") else prompt
    return [] if now is None and text is None else [DynamicStepUpdated(identity, now, text)]


def _unknown(identity: str, word: str) -> Event:
    return NoteAdded(f"the agent names step {identity!r} as {word}: there is no such step")


def _next_number(sprint: Sprint) -> int:
    ids = document_fields.steps_of(sprint.plan.document)
    given = sprint.knowledge.allotted.get(_ALLOTTED, 0)
    return max([given, *(_number_of(identity) + 1 for identity in ids)])


def _number_of(identity: str) -> int:
    """Return N for the id `step-N`, or -1 for any other id."""
    number = identity.removeprefix(PREFIX)
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    return int(number) if is_number and number != identity else -1


def _evolve_added(plan: Plan, event: DynamicStepAdded, at: str) -> None:
    steps = plan.document.get("dynamic-steps")
    if not isinstance(steps, list):
        steps = plan.document["dynamic-steps"] = []
    steps.append(
        {
            "id": event.id,
            "prompt": event.prompt,
            "status": PENDING,
            "added-at": at,
            "added-in-iteration": event.iteration,
        }
    )
    plan.turns.move()


def _evolve_updated(plan: Plan, event: DynamicStepUpdated, at: str) -> None:
    # An observed event may refer to a step that does not exist.
    if (step := _step(plan.document, event.id)) is None:
        return
    if event.prompt is not None:
        step["prompt"] = event.prompt
    if event.status is not None and event.status != step.get("status"):
        step["status"] = event.status
        if event.status == COMPLETED:
            plan.turns.move()


def record_added(knowledge: Knowledge, event: DynamicStepAdded, version: int) -> None:
    """Record the highest N of any `step-N`, so that no id is assigned twice."""
    number = max(knowledge.allotted.get(_ALLOTTED, 0), _number_of(event.id) + 1)
    knowledge.allotted[_ALLOTTED] = number


EVOLVE: Takers = {DynamicStepAdded: _evolve_added, DynamicStepUpdated: _evolve_updated}
LEARN: Takers = {DynamicStepAdded: record_added}


CAUSED: Events = {DynamicStepAdded: _adds, DynamicStepUpdated: _updates}
