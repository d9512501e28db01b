"""What all recording commands do: decide, append, answer, refresh the state file."""

from collections.abc import Callable, Mapping
from copy import copy
from hashlib import sha256
from typing import Any, Self

import click
import msgspec

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import Recorded
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.log.port import Expected
from sprintlog.engine.masking import mask_texts
from sprintlog.engine.sprint.facts import Injection, PhaseInjected, StepInjected
from sprintlog.engine.sprint.injection import addresses
from sprintlog.engine.sprint.queue_facts import QUEUE_FACTS
from sprintlog.engine.sprint.ralph_facts import DynamicStepAdded
from sprintlog.engine.sprint.state import Sprint
from sprintlog.projections.catalogue import CODEC
from sprintlog.projections.workspace import Decide, Outcome, Workspace

from .output import print_json, print_text, reference, warn
from .wiring import diagnose, open_workspace

Rule = Callable[..., list[Fact]]

INJECTIONS = (PhaseInjected.type, StepInjected.type)
OF_QUEUE = frozenset(fact.type for fact in QUEUE_FACTS)
ACTORS = ("agent:", "operator:", "import:")


class Options:
    """The options of a recording command, as click hands them over."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.sprint_id: str | None = given.get("sprint_id")
        self.actor: str = check_actor(given["actor"])
        self.at: str | None = given["at"]
        self.key: str | None = given["key"]
        self.expect: Expected | None = given["expect"]
        self.correlation_id: str | None = given["correlation_id"]
        self.causation_id: str | None = given["causation_id"]
        self.as_json: bool = given["as_json"]
        self.masks: bool = not given["no_mask"]

    def masked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a command's arguments with secrets masked, unless that is off."""
        return mask_texts(dict(arguments)) if self.masks else dict(arguments)

    def with_values(self, **values: Any) -> Self:
        """Return the options with some of them replaced."""
        changed = copy(self)
        for name, value in values.items():
            setattr(changed, name, value)
        return changed


def check_actor(actor: str) -> str:
    """Return the actor; raise `click.UsageError` for a form that has no meaning."""
    if actor == "runtime" or (actor.startswith(ACTORS) and actor[-1] != ":"):
        return actor
    raise click.UsageError(
        f"--actor {actor[:40]!r}: give runtime, agent:NAME, operator:NAME or import:NAME"
    )


def key_digest(command: str, arguments: Mapping[str, Any]) -> bytes:
    """Return what an idempotency key stands for: the command and its arguments."""
    return sha256(msgspec.json.encode([command, dict(arguments)], order="sorted")).digest()


def record(
    command: str,
    given: Mapping[str, Any],
    rule: Rule,
    arguments: Mapping[str, Any],
    *,
    takes_time: bool = False,
) -> Sprint:
    """Run one recording command from its options to its answer; return the sprint.

    `rule` is the engine's command, called with the sprint and the arguments, and with
    `at` when it `takes_time`.
    """
    options = Options(given)
    wish = options.masked(arguments)

    def decide(sprint: Sprint, at: str) -> list[Fact]:
        return rule(sprint, **wish, at=at) if takes_time else rule(sprint, **wish)

    with open_workspace() as workspace:
        sprint_id = workspace.choose(options.sprint_id)
        outcome = act(workspace, sprint_id, command, decide, options, wish)
        answer_and_refresh(workspace, outcome, as_json=options.as_json)
        return outcome.sprint


def answer_and_refresh(workspace: Workspace, outcome: Outcome, *, as_json: bool) -> None:
    """Print what was recorded, then bring the state file up to date, come what may."""
    try:
        answer(outcome, as_json=as_json)
    finally:
        refresh(workspace, outcome.sprint.id)


def act(
    workspace: Workspace,
    sprint_id: str,
    command: str,
    decide: Decide,
    options: Options,
    arguments: Mapping[str, Any],
    *,
    observed: bool = False,
) -> Outcome:
    """Let the workspace act with a command's options."""
    outcome = workspace.act(
        sprint_id,
        decide,
        actor=options.actor,
        at=options.at,
        key=options.key,
        key_digest=key_digest(command, arguments) if options.key else None,
        expect=options.expect,
        correlation_id=options.correlation_id,
        causation_id=options.causation_id,
        observed=observed,
        masks=options.masks,
    )
    diagnose(
        command,
        sprint=sprint_id,
        version=outcome.sprint.version,
        recorded=[event.type for event in outcome.events],
        duplicate=outcome.duplicate,
    )
    return outcome


def answer(outcome: Outcome, *, as_json: bool) -> None:
    """Print what was recorded, in one write; the events are durable by now."""
    try:
        _print_answer(outcome, as_json=as_json)
    except OSError as error:
        what = "it was recorded" if outcome.events else "there was nothing to record"
        raise SprintlogError(
            f"{what}, but the answer could not be written: {error.strerror}",
            hint="the same --key answers again with what was recorded",
        ) from error


def _print_answer(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        print_json(answer_of(outcome))
        return
    sprint = outcome.sprint
    if not outcome.events:
        print_text(f"{sprint.id}: nothing to record, it is so already")
        return
    last = outcome.events[-1]
    said = ", ".join(_described(event) for event in outcome.events)
    before = " (recorded before under this key)" if outcome.duplicate else ""
    print_text(
        f"{sprint.id}: {said}{before}  [position {last.position}, version {last.version}]"
    )


def _described(event: Recorded) -> str:
    """Return an event's type and what it is about, in a few words."""
    payload = CODEC.today(event)
    data = msgspec.json.decode(payload) if payload else {}
    if came := injected(event):
        return f"{event.type} {', '.join(came)}"
    for field in ("request", "phase", "number", "to", "next_retry_at", "id", "hook_id"):
        if data.get(field):
            return f"{event.type} {data[field]}"
    return event.type


def injected(event: Recorded) -> list[str]:
    """Return the addresses of what came into the plan with an event."""
    if event.type not in INJECTIONS:
        return []
    fact = CODEC.decode(event)
    return addresses(fact) if isinstance(fact, Injection) else []


def answer_of(outcome: Outcome) -> Any:
    """Return what a recording command answers as JSON."""
    references = [{**reference(event), **_named(event)} for event in outcome.events]
    if outcome.duplicate:
        references = [{**found, "duplicate": True} for found in references]
    if not references:
        sprint = outcome.sprint
        return {
            "unchanged": True,
            "stream": f"sprint/{sprint.id}",
            "version": sprint.version,
        }
    return references[0] if len(references) == 1 else references


def _named(event: Recorded) -> dict[str, Any]:
    """Return what a caller cannot know before: where things came in, an id."""
    if came := injected(event):
        return {"addresses": came}
    if event.type != DynamicStepAdded.type and event.type not in OF_QUEUE:
        return {}
    fact = CODEC.decode(event)
    if request := getattr(fact, "request", None):
        return {"request": request}
    return {"step": fact.id} if isinstance(fact, DynamicStepAdded) else {}


def refresh(workspace: Workspace, sprint_id: str) -> None:
    """Bring the sprint's state file up to date, and say what was found there."""
    refreshed = workspace.refresh(sprint_id)
    diagnose("state file", path=refreshed.path, state=refreshed.state)
    if refreshed.problem:
        warn(refreshed.problem)
