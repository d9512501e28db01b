"""The status of a sprint, its next action and its gates."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from sprintlog.engine.service.lost_runs import time_of
from sprintlog.engine.service.place.trees import known_trees, shown_tree
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.actions import RESUME, STOP, WAIT, Action
from sprintlog.engine.sprint.iterations.loop_changes import reflection_is_due
from sprintlog.engine.sprint.phases.gate import attempts_of, gate_of, is_due, repair_prompt
from sprintlog.engine.sprint.phases.gate_checks import run_of
from sprintlog.engine.sprint.phases.lifecycle import is_stale, need_of
from sprintlog.engine.sprint.state.document_fields import idle_threshold, steps_of
from sprintlog.engine.sprint.state.queue import counts
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.engine.sprint.state.tree import Node, gate_status
from sprintlog.engine.sprint.state.words import PASSED

from . import runs
from .events import EventReference, Recorded, event_of, filled
from .runs import BudgetStanding, LoopRun, Spending, last_run, moment_of, spending

STOPPED = (STOP, WAIT, RESUME)
"""The actions other than work, for which a person may want a reason."""


class SprintRow(Struct, frozen=True):
    """A sprint in the log."""

    sprint: str
    status: Any
    version: int


class Next(Action, frozen=True, kw_only=True):
    """The next action, or how a run ended."""

    sprint: str


class WaitEnded(Struct, frozen=True, omit_defaults=True):
    """The outcome of waiting for the limit of the last run to expire."""

    sprint: str
    limit: str
    """`expired`, `person` if a person or money is needed, or `none`."""
    until: str | None = None
    waits_for: str | None = None
    """The kind of limit: `usage-limit`, `overload` or `network`."""
    why: str | None = None


class Attempts(Struct, frozen=True):
    """A gate's status and the number of attempts."""

    status: str
    attempts: int
    attempts_max: int


class PhaseStatus(Struct, frozen=True):
    """The status of a phase, step or sub-phase."""

    address: str
    status: str
    error: Any
    gate: Attempts | UnsetType = UNSET


class Need(Struct, frozen=True):
    """A reason why a person is needed; it concerns the goal if it names no phase."""

    phase: str | None
    reason: Any
    details: Any
    error: Any = None


class NoteStatus(Struct, frozen=True):
    """A note for the working agent."""

    id: str
    state: str
    """`undelivered`, `unknown`, `delivered` or `acknowledged`."""
    text: str


class StepStatus(Struct, frozen=True):
    """A step towards the goal."""

    id: str
    status: Any


class PathsLeftOut(Struct, frozen=True):
    """The paths that the newest snapshot omits."""

    snapshot: str
    iteration: int
    count: int
    paths: tuple[f.FileLeft, ...]
    """At most 100 paths; `show iteration N --files` lists all."""


class OutcomeAnswer(Struct, frozen=True):
    """The outcome of a sprint so far."""

    sentence: str
    """The result, its evidence, the iteration to use, and what to do next."""
    goal: str | None
    """`verified`, `claimed`, `refused` or `open`; null without a goal."""
    iteration: int | None
    """The iteration whose files are the result; null if this is unknown."""
    next: str | None
    """How to continue; null if no person needs to act."""


class Status(Struct, frozen=True, kw_only=True):
    """The status of a sprint; fields about a goal are present only in Ralph mode."""

    sprint: str
    version: int
    status: Any
    stale: bool
    outcome: OutcomeAnswer | UnsetType = UNSET
    stopped: Action | None
    """Why the sprint has stopped; null if it has not stopped."""
    pointer: str | None
    current: Any
    stats: Any
    last_activity: Any
    goal: Any = UNSET
    steps: list[StepStatus] | UnsetType = UNSET
    idle: int | UnsetType = UNSET
    idle_threshold: int | UnsetType = UNSET
    reflection: bool | UnsetType = UNSET
    spent: Spending | UnsetType = UNSET
    """The usage of all agent runs; absent before the first run."""
    in_sessions: int | UnsetType = UNSET
    """The number of iterations that are turns of agent sessions; absent if it is 0."""
    iterations: Any = UNSET
    """The quality of the iterations and the pending advice; absent before a measurement."""
    human_needed: list[Need]
    queue: dict[str, int]
    phases: list[PhaseStatus]
    run: LoopRun | UnsetType = UNSET
    """The last run of the loop; absent before the first run."""
    budgets: list[BudgetStanding] | UnsetType = UNSET
    """The budgets of the last run and of the sprint; absent if there are none."""
    left_out: PathsLeftOut | UnsetType = UNSET
    """The paths that the newest snapshot omits; absent if it is complete."""
    work_tree: str | UnsetType = UNSET
    """The location of the sprint's work tree; present only if the log has several."""
    notes: list[NoteStatus] | UnsetType = UNSET
    """The notes for the agent; absent without notes."""


def status(
    workspace: ServiceWorkspace, sprint: Sprint, action: Action, *, at: str | None = None
) -> Status:
    """Return a sprint's status, now or as of a point; `action` is the next action."""
    document, spent = sprint.document, sprint.knowledge.spent
    pointed, notes = sprint.plan.pointed(), sprint.knowledge.notes.items()
    now, moment = from_milliseconds(workspace.clock()), moment_of(workspace, sprint, at)
    return Status(
        sprint=sprint.id,
        version=sprint.version,
        status=document.get("status"),
        stale=at is None and _is_stale(workspace, sprint, now=now),
        stopped=action if action.do in STOPPED else None,
        pointer=pointed.address if pointed else None,
        current=document.get("current"),
        stats=document.get("stats"),
        last_activity=document.get("last-activity"),
        spent=spending(spent) if spent.runs or spent.cut_short else UNSET,
        in_sessions=sprint.knowledge.in_sessions or UNSET,
        human_needed=needs(sprint),
        queue=counts(sprint.queue),
        phases=[_phase(node) for node in sprint.plan.tree.root.walk()],
        run=last_run(workspace, sprint, now=moment, is_past=at is not None),
        budgets=runs.told(runs.all_standings(workspace, sprint, at=at)) or UNSET,
        left_out=left_out(workspace, sprint),
        work_tree=work_tree(workspace, sprint),
        notes=[NoteStatus(i, one.state, one.text) for i, one in notes] or UNSET,
        **_goal(sprint),
    )


def work_tree(workspace: ServiceWorkspace, sprint: Sprint) -> str | UnsetType:
    """Return the location of a sprint's work tree, if the log has more than one."""
    knowledge, location = sprint.knowledge, workspace.location
    is_of_one = workspace.tree.has(knowledge.own_tree) and not knowledge.elsewhere
    if is_of_one and len(known_trees(location)) < 2:
        return UNSET
    return shown_tree(location, knowledge.own_tree)


def work_trees(workspace: ServiceWorkspace, sprint: Sprint) -> dict[int, str]:
    """Return the work tree of each iteration by number, if the log has several trees."""
    if work_tree(workspace, sprint) is UNSET:
        return {}
    knowledge = sprint.knowledge
    trees = {number: knowledge.tree_of(number) for number, _ in knowledge.iterations}
    shown = {one: shown_tree(workspace.location, one) for one in {*trees.values()}}
    return {number: shown[one] for number, one in trees.items()}


def left_out(workspace: ServiceWorkspace, sprint: Sprint) -> PathsLeftOut | UnsetType:
    """Return the paths that the newest snapshot of this work tree omits."""
    held = filter(workspace.tree.has, sprint.knowledge.snapshots)
    versions = [x.version for x in held if x.purpose != f.BEFORE_RESTORE][-1:]
    for version in versions:
        stream = sprint_stream(sprint.id)
        for recorded in workspace.log.read_stream(stream, after=version - 1, until=version):
            taken = event_of(recorded)
            if isinstance(taken, f.SnapshotTaken) and taken.left_out_count:
                count, paths = taken.left_out_count, taken.left_out
                return PathsLeftOut(taken.snapshot, taken.iteration, count, paths)
    return UNSET


def next_answer(sprint_id: str, action: Action) -> Next:
    """Convert the next action to an answer."""
    return Next(sprint=sprint_id, **asdict(action))


def needs(sprint: Sprint) -> list[Need]:
    """Return the reasons why a person is needed."""
    found = [
        Need(leaf.address, need.get("reason"), need.get("details"), leaf.data.get("error"))
        for leaf in sprint.plan.tree.leaves
        if (need := need_of(leaf)) is not None
    ]
    whole = sprint.plan.document.get("human-needed")
    if isinstance(whole, dict):
        found.append(Need(None, whole.get("reason"), whole.get("details")))
    return found


def _goal(sprint: Sprint) -> dict[str, Any]:
    plan = sprint.plan
    if not plan.is_ralph:
        return {}
    steps = steps_of(plan.document).items()
    return {
        "goal": plan.document.get("goal"),
        "steps": [StepStatus(name, step.get("status")) for name, step in steps],
        "idle": plan.turns.idle,
        "idle_threshold": idle_threshold(plan.document),
        "reflection": reflection_is_due(plan),
    }


def _is_stale(workspace: ServiceWorkspace, sprint: Sprint, *, now: str) -> bool:
    """Return whether a sprint is stale, with no recent events or agent activity."""
    rollbacks = sprint.knowledge.rollbacks
    moved = time_of(workspace, sprint, rollbacks[-1][0]) if rollbacks else None
    if not is_stale(sprint, now=now, moved=moved):
        return False
    # Imported here: it is required only for sprints that seem to be inactive.
    from sprintlog.engine.service.agent_sessions.known_sessions import last_work

    worked = last_work(workspace.log, sprint_stream(sprint.id))
    return is_stale(sprint, now=now, moved=max(filter(None, (moved, worked)), default=None))


def _phase(node: Node) -> PhaseStatus:
    gate: Attempts | UnsetType = UNSET
    if (word := gate_status(node.data)) is not None:
        gate = Attempts(word, attempts_of(node), gate_of(node).attempts_max)
    return PhaseStatus(node.address, node.status, node.data.get("error"), gate)


class GateStanding(Struct, frozen=True):
    """A gate's status, with its last output."""

    phase: str
    status: str
    due: bool
    attempts: int
    attempts_max: int
    timeout_seconds: float
    script: str | None
    on_fail_prompt: str | None
    last_exit_code: Any
    last_output: Any
    error: Any
    pid: int | None
    lost: bool
    """Whether the process that ran the gate is gone, so its result will not be recorded."""
    repair_prompt: str | None


class GateAnswer(Recorded, frozen=True, kw_only=True):
    """The result of a gate check, with all events of the action."""

    phase: str
    status: str
    attempt: int
    attempts_max: int | None
    exit_code: int
    timed_out: bool
    duration_ms: int | None
    left_behind: int
    elsewhere: bool
    output: str
    output_bytes: int | None
    output_sha256: str | None
    repair_prompt: str | None
    events: list[EventReference]


def gate(
    sprint: Sprint, node: Node, is_alive: Callable[[f.GateStarted], bool]
) -> GateStanding:
    """Return a gate's status."""
    policy, tracking = gate_of(node), node.data.get("gate-tracking")
    said = tracking if isinstance(tracking, dict) else {}
    started = run_of(sprint.plan, node)
    return filled(
        GateStanding,
        policy,
        phase=node.address,
        status=gate_status(node.data) or "",
        due=is_due(node),
        attempts=attempts_of(node),
        last_exit_code=said.get("last-exit-code"),
        last_output=said.get("last-output"),
        error=said.get("error"),
        pid=started.pid if started else None,
        lost=started is not None and not is_alive(started),
        repair_prompt=repair_prompt(sprint.plan, node),
    )


def gate_run(
    sprint: Sprint,
    checked: f.GateChecked,
    events: list[EventReference],
    *,
    status: str,
    duplicate: bool,
) -> GateAnswer:
    """Return a gate's result, based on the event that recorded the check."""
    node = sprint.plan.tree.find(checked.phase)
    return GateAnswer(
        **asdict(next(found for found in events if found.type == f.GateChecked.type)),
        **asdict(checked),
        duplicate=duplicate or UNSET,
        status=status,
        attempts_max=gate_of(node).attempts_max if node else None,
        repair_prompt=repair_prompt(sprint.plan, node)
        if node and status != PASSED
        else None,
        events=events,
    )
