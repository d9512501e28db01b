"""From a fact somebody wants recorded to the command that would have caused it.

So `append` obeys the same rules as every other way of recording.
"""

from collections.abc import Callable
from typing import Any

from msgspec import structs

from ..errors import NotFoundError, RefusedError
from ..iterations import events as i
from ..log.fact import Fact, fact_of
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

_STRUCTURAL: tuple[type[Fact], ...] = (
    f.SprintCompiled,
    f.SprintImported,
    f.Injection,
    f.RolledBack,
    f.EditObserved,
    *s.SNAPSHOT_FACTS,
    q.RequestQueued,
    *a.AUDIT_FACTS,
)

BY_TAG = {fact.type: fact for fact in f.FACTS}

_ONLY_CAUSED = {
    f.BreakpointReached.type: "a phase with `break: true` causes it when it completes",
    f.RetryScheduled.type: "`phase-failed` causes it by the retry policy",
    f.GateStarted.type: "`sprintlog gate run` records it before it runs the script",
    f.GateInterrupted.type: "`sprintlog gate run` records it when it finds a lost run",
    f.GateBlocked.type: "a gate that failed as often as it may causes it",
    f.EditObserved.type: "sprintlog records it when it finds a state file edited",
    f.RolledBack.type: "`sprintlog undo` takes back a rollback",
    r.ReflectionStarted.type: "`iteration-started` causes it after idle iterations",
    a.ForkCreated.type: "`sprintlog fork NAME --from POINT` makes one of an earlier point",
    a.EditAdopted.type: "`sprintlog adopt` makes facts of an edit",
    r.GoalClaimed.type: "`goal-completed` causes it where that cannot count yet",
    s.SnapshotTaken.type: "`sprintlog iteration snapshot` takes one and records it",
    s.RestoreStarted.type: "`sprintlog restore POINT` records it before it writes a file",
    s.FilesRestored.type: "`sprintlog restore POINT` records it when all is written",
    s.SnapshotsPruned.type: "`sprintlog iteration prune` lets them go and records it",
    q.RequestReturned.type: "the end of what a request was deferred to causes it",
    i.RecommendationGiven.type: "`sprintlog decide` records what it answers",
    i.BestSelected.type: "`sprintlog iteration select` records what it selects",
}


def to_fact(tag: str, data: object) -> Fact:
    """Return the fact of a tag from its data as JSON gives it.

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
    fact = fact_of(kind, data)
    if isinstance(fact, f.Injection):
        for name in ("into", "after", "before"):
            if getattr(fact, name) is not None:
                raise RefusedError(
                    f"data.{name}: follows from the position; leave it out",
                    field=f"data.{name}",
                )
    if isinstance(fact, q.RequestDecided) and fact.phase is not None:
        problem = "follows from the decision; leave it out"
        raise RefusedError(f"data.phase: {problem}", field="data.phase")
    if isinstance(fact, i.IterationMeasured) and fact.previous is not None:
        raise RefusedError(
            "data.previous: follows from the log; leave it out", field="data.previous"
        )
    # A patch that does not fit would make the stream unreadable; ours always fit.
    if isinstance(fact, f.SprintImported) and (fact.document is None or fact.patch):
        raise RefusedError(
            "data.document: give the whole document, patches are made by sprintlog",
            field="data.document",
        )
    return fact


def observe(sprint: Sprint, fact: Fact, at: str, *, is_inside_append: bool) -> list[Fact]:
    """Return a fact that another tool says happened, whatever our rules say of it.

    What everything else is read by obeys them all the same.
    """
    if isinstance(fact, _STRUCTURAL):
        return fulfil(sprint, fact, at, is_inside_append=is_inside_append)
    check_exists(sprint)
    if isinstance(fact, i.IterationMeasured):
        return [observed_measurement(sprint, fact)]
    return [fact]


def fulfil(sprint: Sprint, fact: Fact, at: str, *, is_inside_append: bool) -> list[Fact]:
    """Return what the command behind a fact decides.

    `is_inside_append` is asked of the log for the target of a rollback.
    """
    given = structs.asdict(fact)
    match fact:
        case f.SprintCompiled():
            return create_sprint(
                sprint, plan=fact.document, place=fact.place, sources=fact.sources
            )
        case f.SprintImported(document=dict() as document):
            return import_document(
                sprint, document=document, source=fact.source, place=fact.place
            )
        case f.RolledBack(undoes=None):
            return roll_back(
                sprint, to=fact.to, is_inside_append=is_inside_append, reason=fact.reason
            )
        case f.Injection():
            inject = inject_phases if isinstance(fact, f.PhaseInjected) else inject_steps
            return inject(
                sprint, nodes=fact.nodes, position=fact.position, id_prefix=fact.id_prefix
            )
        case f.IterationStarted(number=0):
            return start_iteration(sprint, **{**given, "number": None})
        case f.IterationEnded(number=0):
            return end_iteration(sprint, summary=fact.summary)
        case f.GateChecked():
            result = GateResult(*(given[name] for name in GateResult.__struct_fields__))
            attempt = fact.attempt or None
            return record_gate(sprint, result=result, phase=fact.phase, attempt=attempt)
        case f.AgentRan():
            return record_run(sprint, ran=fact)
        case _ if type(fact) in r.RALPH_FACTS:
            return _of_goal(sprint, fact, at)
        case q.RequestQueued():
            return wish_request(sprint, fact=fact, at=at)
        case q.RequestDecided():
            return decide_request(sprint, fact=fact)
        case i.IterationMeasured():
            del given["previous"]
            return measure_iteration(sprint, **{**given, "number": fact.number or None})
        case i.MeasurementFailed():
            return fail_measurement(sprint, **{**given, "number": fact.number or None})
        case i.RulesSet():
            return set_rules(sprint, rules=fact)
        case f.PhaseFailed():
            return leaves.fail_phase(sprint, at=at, **given)
        case _:
            return _as_it_is(sprint, fact)


def _of_goal(sprint: Sprint, fact: Fact, at: str) -> list[Fact]:
    """Return what the command behind a fact of Ralph mode decides."""
    match fact:
        case r.DynamicStepAdded():
            step = fact.id or None
            return dynamic_steps.add_step(sprint, prompt=fact.prompt, step=step)
        case r.DynamicStepUpdated():
            return dynamic_steps.update_step(
                sprint, step=fact.id, status=fact.status, prompt=fact.prompt
            )
        case r.IterationFailed():
            return goal.fail_iteration(
                sprint,
                error=fact.error,
                category=fact.category,
                number=fact.number or None,
                at=at,
            )
        case r.GoalCompleted():
            return goal.complete_goal(sprint, summary=fact.summary)
        case r.HookTaskSpawned(transcript=""):
            return hook_tasks.spawn_hook(
                sprint, hook_id=fact.hook_id, iteration=fact.iteration, pid=fact.pid
            )
        case _:
            return _as_it_is(sprint, fact)


def _as_it_is(sprint: Sprint, fact: Fact) -> list[Fact]:
    """Return what the command decides that takes just what the fact says."""
    if (command := _COMMANDS.get(type(fact))) is None:
        return _refuse(fact)
    return command(sprint, **structs.asdict(fact))


def _refuse(fact: Fact) -> list[Fact]:
    why = _ONLY_CAUSED.get(fact.type, "give a whole document")
    raise RefusedError(
        f"{fact.type} cannot be wished for: {why}",
        hint="--observed records what another tool says happened",
        wish=fact.type,
    )


_LEFT_OUT: dict[type[Fact], dict[str, Any]] = {
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

_COMMANDS: dict[type[Fact], Callable[..., list[Fact]]] = {
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
