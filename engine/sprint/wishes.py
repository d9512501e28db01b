"""From an event somebody wants recorded to the command that would have caused it.

So `append` obeys the same rules as every other way of recording.
"""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from ..errors import NotFoundError, RefusedError
from ..iterations import events as i
from ..log.event import Event, event_of
from . import events as f
from .agent.runs import record_run
from .events import goal as r
from .events import history as a
from .events import queue as q
from .events import snapshots as s
from .gates.checks import record_gate
from .gates.gate import GateResult
from .goal import dynamic_steps, goal, hook_tasks
from .iterations.decisions import apply_artifacts, set_rules
from .iterations.loop import end_iteration, limit_iterations, start_iteration
from .iterations.measurement import (
    capture_baseline,
    fail_measurement,
    measure_iteration,
    observed_measurement,
)
from .iterations.rollback import roll_back
from .phases import leaves, lifecycle, notes
from .plan.create import create_sprint, import_document
from .plan.injection import inject_phases, inject_steps
from .queue.decisions import decide_request, reopen_request
from .queue.requests import wish_request
from .state.sprint import Sprint
from .state.transitions import check_exists

_STRUCTURAL: tuple[type[Event], ...] = (
    f.SprintCompiled,
    f.SprintImported,
    f.Injection,
    f.RolledBack,
    f.EditObserved,
    *s.SNAPSHOT_EVENTS,
    q.RequestQueued,
    *a.AUDIT_EVENTS,
)

BY_TAG = {event.type: event for event in f.EVENTS}

_ONLY_CAUSED = {event.type: why for event in f.EVENTS if (why := event.only_caused)}


def to_event(tag: str, data: object) -> Event:
    """Return the event of a tag from its data as JSON gives it.

    Raise `NotFoundError` for an unknown tag, `RefusedError` naming a field that is
    missing, unknown or of the wrong type.
    """
    if tag not in BY_TAG:
        raise NotFoundError(
            f"there is no event type {tag!r}",
            hint=f"known: {', '.join(BY_TAG)}",
            field="type",
        )
    kind = BY_TAG[tag]
    if isinstance(data, dict):
        data = {**_LEFT_OUT.get(kind, {}), **data}
    event = event_of(kind, data)
    if isinstance(event, f.Injection):
        for name in ("into", "after", "before"):
            if getattr(event, name) is not None:
                raise RefusedError(
                    f"data.{name}: follows from the position; leave it out",
                    field=f"data.{name}",
                )
    if isinstance(event, q.RequestDecided) and event.phase is not None:
        problem = "follows from the decision; leave it out"
        raise RefusedError(f"data.phase: {problem}", field="data.phase")
    if isinstance(event, i.IterationMeasured) and event.previous is not None:
        raise RefusedError(
            "data.previous: follows from the log; leave it out", field="data.previous"
        )
    # A patch that does not fit would make the stream unreadable; ours always fit.
    if isinstance(event, f.SprintImported) and (event.document is None or event.patch):
        raise RefusedError(
            "data.document: give the whole document, patches are made by sprintlog",
            field="data.document",
        )
    return event


def observe(
    sprint: Sprint, event: Event, at: str, *, is_inside_append: bool
) -> list[Event]:
    """Return an event that another tool says happened, whatever our rules say of it.

    What everything else is read by obeys them all the same.
    """
    if isinstance(event, _STRUCTURAL):
        return fulfil(sprint, event, at, is_inside_append=is_inside_append)
    check_exists(sprint)
    if isinstance(event, i.IterationMeasured):
        return [observed_measurement(sprint, event)]
    return [event]


def fulfil(sprint: Sprint, event: Event, at: str, *, is_inside_append: bool) -> list[Event]:
    """Return what the command behind an event decides.

    `is_inside_append` is asked of the log for the target of a rollback.
    """
    given = structs.asdict(event)
    match event:
        case f.SprintCompiled():
            return create_sprint(
                sprint, plan=event.document, place=event.place, sources=event.sources
            )
        case f.SprintImported(document=dict() as document):
            return import_document(
                sprint, document=document, source=event.source, place=event.place
            )
        case f.RolledBack(undoes=None):
            return roll_back(
                sprint, to=event.to, is_inside_append=is_inside_append, reason=event.reason
            )
        case f.Injection():
            inject = inject_phases if isinstance(event, f.PhaseInjected) else inject_steps
            return inject(
                sprint,
                nodes=event.nodes,
                position=event.position,
                id_prefix=event.id_prefix,
            )
        case f.IterationStarted(number=0):
            return start_iteration(sprint, **{**given, "number": None})
        case f.IterationEnded(number=0):
            return end_iteration(sprint, summary=event.summary)
        case f.GateChecked():
            result = GateResult(*(given[name] for name in GateResult.__struct_fields__))
            attempt = event.attempt or None
            return record_gate(sprint, result=result, phase=event.phase, attempt=attempt)
        case f.AgentRan():
            return record_run(sprint, ran=event)
        case _ if type(event) in r.RALPH_EVENTS:
            return _of_goal(sprint, event, at)
        case q.RequestQueued():
            return wish_request(sprint, event=event, at=at)
        case q.RequestDecided():
            return decide_request(sprint, event=event)
        case i.IterationMeasured():
            del given["previous"]
            return measure_iteration(sprint, **{**given, "number": event.number or None})
        case i.MeasurementFailed():
            return fail_measurement(sprint, **{**given, "number": event.number or None})
        case i.RulesSet():
            return set_rules(sprint, rules=event)
        case f.PhaseFailed():
            return leaves.fail_phase(sprint, at=at, **given)
        case _:
            return _as_it_is(sprint, event)


def _of_goal(sprint: Sprint, event: Event, at: str) -> list[Event]:
    """Return what the command behind an event of Ralph mode decides."""
    match event:
        case r.DynamicStepAdded():
            step = event.id or None
            return dynamic_steps.add_step(sprint, prompt=event.prompt, step=step)
        case r.DynamicStepUpdated():
            return dynamic_steps.update_step(
                sprint, step=event.id, status=event.status, prompt=event.prompt
            )
        case r.IterationFailed():
            return goal.fail_iteration(
                sprint,
                error=event.error,
                category=event.category,
                number=event.number or None,
                at=at,
            )
        case r.GoalCompleted():
            return goal.complete_goal(sprint, summary=event.summary)
        case r.HookTaskSpawned(transcript=""):
            return hook_tasks.spawn_hook(
                sprint, hook_id=event.hook_id, iteration=event.iteration, pid=event.pid
            )
        case _:
            return _as_it_is(sprint, event)


def _as_it_is(sprint: Sprint, event: Event) -> list[Event]:
    """Return what the command decides that takes just what the event says."""
    if (command := _COMMANDS.get(type(event))) is None:
        return _refuse(event)
    return command(sprint, **structs.asdict(event))


def _refuse(event: Event) -> list[Event]:
    why = _ONLY_CAUSED.get(event.type, "give a whole document")
    raise RefusedError(
        f"{event.type} cannot be wished for: {why}",
        hint="--observed records what another tool says happened",
        wish=event.type,
    )


_LEFT_OUT: dict[type[Event], dict[str, Any]] = {
    f.GateChecked: {"attempt": 0},
    f.IterationStarted: {"number": 0},
    f.IterationEnded: {"number": 0},
    r.IterationFailed: {"number": 0},
    r.DynamicStepAdded: {"id": ""},
    r.GoalCompleted: {"iteration": 0},
    r.HookTaskSpawned: {"transcript": ""},
    q.RequestQueued: dict.fromkeys(
        ("request", "description", "created_at", "discovered_in"), ""
    ),
    i.IterationMeasured: {"number": 0},
    i.MeasurementFailed: {"number": 0},
}
"""What a wish may leave to the command, and what stands for that until then."""

_COMMANDS: dict[type[Event], Callable[..., list[Event]]] = {
    f.SprintStarted: lifecycle.start_sprint,
    f.SprintPaused: lifecycle.pause_sprint,
    f.SprintBlocked: lifecycle.block_sprint,
    f.HumanNeeded: lifecycle.need_human,
    f.SprintInterrupted: lifecycle.interrupt_sprint,
    f.SprintResumed: lifecycle.resume_sprint,
    f.SprintCompleted: lifecycle.complete_sprint,
    f.SprintReopened: lifecycle.reopen_sprint,
    f.ActivitySeen: lifecycle.beat,
    f.PhaseStarted: leaves.start_phase,
    f.PhaseCompleted: leaves.complete_phase,
    f.WorkDone: leaves.end_work,
    f.PhaseBlocked: leaves.block_phase,
    f.PhaseSkipped: leaves.skip_phase,
    f.PhaseRetried: leaves.retry_phase,
    f.PhaseReopened: leaves.reopen_phase,
    f.IterationStarted: start_iteration,
    f.IterationEnded: end_iteration,
    f.IterationsLimited: limit_iterations,
    f.NoteAdded: notes.add_note,
    r.GoalSet: goal.set_goal,
    q.RequestReopened: reopen_request,
    r.HookTaskSpawned: hook_tasks.spawn_hook,
    r.HookTaskRunning: hook_tasks.run_hook,
    r.HookTaskCompleted: hook_tasks.complete_hook,
    r.HookTaskFailed: hook_tasks.fail_hook,
    i.BaselineCaptured: capture_baseline,
    i.ArtifactsApplied: apply_artifacts,
}
