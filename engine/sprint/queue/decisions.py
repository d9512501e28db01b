"""The commands that decide on requests in the operator queue and reopen them."""

from msgspec import structs

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event
from .. import events as f
from ..phases.leaves import check_word
from ..plan.injection import InjectPhases
from ..plan.insertion_points import AFTER_CURRENT, BESIDE, TOP, ancestor
from ..state import completion, queue
from ..state.document_fields import mapping_of, text_of
from ..state.sprint import Sprint
from ..state.tree import Data
from ..state.words import DECISIONS, DEFERRALS, DEFERRED, PENDING, REQUEST_TYPES
from .requests import find_request

END_OF_PHASE, END_OF_SPRINT, NEXT_SPRINT = DEFERRALS
APPROVE, REJECT, DEFER, BACKLOG = DECISIONS
AFTER = BESIDE[0]
STEP = "step"
"""The key of a proposed step in a request's context."""
IMPROVEMENT = REQUEST_TYPES[1]
_OF_INJECTIONS = ("prompt", "workflow", "id_prefix", "model")


class ApproveRequest(Command, frozen=True):
    """Approve a request and inject its work, by default after the current work.

    The default prompt is the prompt of the step that the request proposes, or else the
    request's title and description. `nodes` are the phases of `workflow`, which replaces
    the prompt.
    """

    request: str
    reasoning: str
    position: f.InjectionPosition | None = None
    prompt: str | None = None
    id_prefix: str | None = None
    model: str | None = None
    workflow: str | None = None
    nodes: list[Data] | None = None
    sources: tuple[f.Source, ...] = ()
    rule: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        prompt, model = self.prompt, self.model
        entry = find_request(sprint, self.request)
        where = self.position
        if self.workflow is None and prompt is None:
            prompt = _prompt_of(entry)
            if step := step_of(entry):
                prompt, model = str(step["prompt"]), model or text_of(step, "model")
                where = where or _behind(sprint, step)
        where = where or f.InjectionPosition(AFTER_CURRENT)
        prefix = self.id_prefix or f"fix-{self.request}"
        what = {"prompt": prompt, "workflow": self.workflow, "model": model}
        asked = f.RequestInjection(where.type, where.ref, id_prefix=prefix, **what)
        event = f.RequestDecided(
            self.request, APPROVE, self.reasoning, rule=self.rule, injection=asked
        )
        if _is_again(sprint, entry, event):
            return []
        if self.workflow is not None and self.nodes is None:
            raise RefusedError(
                "workflow: only `queue approve` on the command line accepts one; specify "
                "a prompt",
                field="workflow",
            )
        given = {"prompt": prompt, "model": model}
        node = {name: value for name, value in given.items() if value is not None}
        nodes = [node] if self.nodes is None else self.nodes
        came = InjectPhases(nodes, where, asked.id_prefix, self.sources, is_new=True)
        return [event, *came.decide(sprint, at)]


class RejectRequest(Command, frozen=True):
    """Reject a request; the rejection reason defaults to the reasoning."""

    request: str
    reasoning: str
    reason: str | None = None
    rule: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        entry = find_request(sprint, self.request)
        why = self.reasoning if self.reason is None else self.reason
        event = f.RequestDecided(
            self.request, REJECT, self.reasoning, rule=self.rule, rejection_reason=why
        )
        return [] if _is_again(sprint, entry, event) else [event]


class DeferRequest(Command, frozen=True):
    """Defer a request to the end of the phase or of the sprint, or to the next sprint."""

    request: str
    reasoning: str
    until: str
    rule: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        request, until = self.request, self.until
        check_word("until", until, DEFERRALS)
        entry = find_request(sprint, request)
        event = f.RequestDecided(
            request, DEFER, self.reasoning, rule=self.rule, deferred_until=until
        )
        if _is_again(sprint, entry, event):
            return []
        if until != NEXT_SPRINT and completion.has_ended(sprint.plan):
            raise RefusedError(
                f"cannot defer request {request} to {until}: no phase remains that could "
                "end",
                hint=f"use --until {NEXT_SPRINT}, or decide now",
                request=request,
                command=DEFER,
                allowed=[NEXT_SPRINT],
            )
        # Without an open phase, the next end of a phase or of the sprint applies.
        leaf = sprint.plan.tree.open_leaf()
        if until != END_OF_PHASE or leaf is None:
            return [event]
        return [structs.replace(event, phase=ancestor(leaf, TOP).address)]


class BacklogRequest(Command, frozen=True):
    """Move a request to the backlog."""

    request: str
    reasoning: str
    rule: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        entry = find_request(sprint, self.request)
        event = f.RequestDecided(self.request, BACKLOG, self.reasoning, rule=self.rule)
        return [] if _is_again(sprint, entry, event) else [event]


class ReopenRequest(Command, frozen=True):
    """Withdraw a decision, so that the request is pending again.

    Nothing else changes: work that an approval injected stays in the plan.
    """

    request: str
    reason: str

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        entry = find_request(sprint, self.request)
        if not self.reason.strip():
            raise RefusedError("a reason is required to reopen a request", field="reason")
        if entry["status"] != PENDING:
            return [f.RequestReopened(self.request, self.reason)]
        last = sprint.plan.decisions.get(self.request)
        if last is not None and last.returned == queue.REOPENED:
            return []
        raise RefusedError(
            f"request {self.request} is {PENDING}: there is no decision to reopen",
            request=self.request,
            state=PENDING,
            command="reopen",
        )


def decision_of(event: f.RequestDecided) -> Command:
    """Return the command for a decision that is given as an event."""
    check_word("decision", event.decision, DECISIONS)
    to: Data = {"request": event.request, "reasoning": event.reasoning, "rule": event.rule}
    match event.decision:
        case "approve":
            if (said := event.injection) is None:
                return ApproveRequest(**to)
            position = f.InjectionPosition(said.position, said.ref)
            asked = {name: getattr(said, name) for name in _OF_INJECTIONS}
            return ApproveRequest(**to, position=position, **asked)
        case "reject":
            return RejectRequest(**to, reason=event.rejection_reason)
        case "defer":
            return DeferRequest(**to, until=event.deferred_until or END_OF_PHASE)
        case _:
            return BacklogRequest(**to)


def step_of(entry: Data) -> Data | None:
    """Return the step that a request proposes, or None."""
    step = mapping_of(mapping_of(entry, "context"), STEP)
    is_step = (
        entry.get("type") == IMPROVEMENT and str(text_of(step, "prompt") or "").strip()
    )
    return step if is_step else None


def _behind(sprint: Sprint, step: Data) -> f.InjectionPosition | None:
    """Return the position that a proposed step requests, or None if it does not exist."""
    after = text_of(step, "insertAfter")
    there = after is not None and sprint.plan.tree.find(after) is not None
    return f.InjectionPosition(AFTER, after) if there else None


def _prompt_of(entry: Data) -> str:
    title, description = str(entry.get("title", "")), entry.get("description")
    if not isinstance(description, str) or description.strip() in ("", title):
        return title
    return f"{title}\n\n{description}"


def _is_again(sprint: Sprint, entry: Data, event: f.RequestDecided) -> bool:
    """Return whether a decision is already recorded; raise an error if it is invalid."""
    if not event.reasoning.strip():
        raise RefusedError("reasoning: required", field="reasoning")
    if (status := entry["status"]) == PENDING:
        return False
    last = sprint.plan.decisions.get(event.request)
    # The time of the decision determines where the request returns.
    if last is not None and structs.replace(last.event, phase=None) == event:
        return True
    hint = f"use `sprintlog queue reopen {event.request} --reason TEXT` to reopen it"
    if status == DEFERRED:
        hint = f"it is pending again at {entry.get('deferred-until')}; {hint}"
    raise RefusedError(
        f"request {event.request} is {status}: cannot {event.decision} it; only a request "
        f"that is {PENDING} can be decided",
        hint=hint,
        request=event.request,
        state=status,
        command=event.decision,
        allowed=[],
    )


CAUSED: Events = {f.RequestDecided: decision_of, f.RequestReopened: ReopenRequest}
