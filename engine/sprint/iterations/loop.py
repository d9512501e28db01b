"""Commands that start and end iterations of sprintlog's loop or of wrapped commands.

Iterations are numbered from 1, and numbers are never reused. The iterations of wrapped
commands are recorded regardless of the sprint's status and limits, and may overlap.
"""

from msgspec import field
from msgspec.structs import replace

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event
from ..answers.items import SaidItems
from ..events import AgentRan, IterationEnded, IterationsLimited, IterationStarted
from ..queue.returns import with_item_events
from ..state.document_fields import max_iterations as limit_of
from ..state.sprint import Knowledge, Plan, Sprint, open_iteration
from ..state.transitions import check_exists, check_open, check_running, find_node
from .loop_changes import start_reflection

NUMBER_MAX = 1_000_000_000


class StartIteration(Command, frozen=True):
    """Start a loop iteration with the next number or a given higher number (LOOP-031).

    This also starts reflection if it is due. An iteration beyond the limit is refused
    unless `beyond_limit` is set. Discarded iterations count towards the limit.
    """

    number: int | None = None
    max_iterations: int | None = None
    phase: str | None = None
    beyond_limit: bool = False
    params: dict[str, str] = field(default_factory=dict)
    """The parameters of the iteration."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        highest = sprint.knowledge.iteration_max
        given = highest + 1 if self.number is None else self.number
        most = self.max_iterations or limit_of(sprint.plan.document)
        is_beyond = most is not None and given - sprint.knowledge.in_sessions > most
        event = IterationStarted(
            given, self.max_iterations, self.phase, self.beyond_limit and is_beyond
        )
        if self.number is not None and _is_start(sprint.plan.last.iteration, event):
            return []
        check_running(sprint, "start an iteration")
        if self.phase is not None:
            find_node(sprint, self.phase)
        if not highest < given <= NUMBER_MAX:
            raise RefusedError(
                f"iteration {given} cannot start: numbers are never reused, and iteration "
                f"{highest} was the last; allowed: {highest + 1} to {NUMBER_MAX}",
                iteration=given,
                command="start",
                allowed=[highest + 1],
            )
        if self.max_iterations is not None:
            _check_limit(self.max_iterations, least=1)
        if is_beyond and not self.beyond_limit:
            raise RefusedError(
                f"iteration {given} cannot start: the limit is {most}, and {highest} were "
                "started",
                hint=f"{more_allowed(highest)}, or `sprintlog iteration start "
                "--beyond-limit` to start just this one",
                iteration=given,
                command="start",
                field="max-iterations",
            )
        reflection = start_reflection(sprint.plan, number=given)
        return [event, *reflection, *_made_with(given, self.params)]


class LimitIterations(Command, frozen=True):
    """Set the maximum number of iterations; 0 means no limit."""

    max_iterations: int

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_open(sprint, "limit its iterations")
        _check_limit(self.max_iterations, least=0)
        if sprint.plan.given_stats.get("max-iterations") == self.max_iterations:
            return []
        return [IterationsLimited(self.max_iterations)]


def is_used_up(sprint: Sprint) -> bool:
    """Return whether the maximum number of iterations was reached."""
    most = limit_of(sprint.plan.document)
    return most is not None and counted(sprint.knowledge) >= most


def counted(knowledge: Knowledge) -> int:
    """Return how many iterations count towards the maximum."""
    return knowledge.iteration_max - knowledge.in_sessions


def more_allowed(begun: int) -> str:
    """Return the hint with the command that allows more iterations."""
    return f"use `sprintlog sprint limit {begun + 10}` to allow more"


def is_begun_for(plan: Plan, phase: str) -> bool:
    """Return whether the current iteration was started for the given leaf."""
    last = plan.last.iteration
    return isinstance(last, IterationStarted) and last.phase == phase


class EndIteration(Command, frozen=True):
    """End the current iteration, regardless of the sprint's status.

    `ran` also records an agent's run; its iteration and phase are filled in. The agent's
    requests and learnings are recorded, but no step is changed.
    """

    number: int | None = None
    summary: str | None = None
    ran: AgentRan | None = None
    said: SaidItems | None = None
    params: dict[str, str] = field(default_factory=dict)
    """The parameters of the iteration."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        current = open_iteration(sprint.plan)
        given = current if self.number is None else self.number
        if given is None:
            given = sprint.plan.iteration or None
        heard = None if self.ran is None else self.ran.output_sha256
        last = sprint.plan.last.iteration
        if given is not None and _is_end(last, IterationEnded(given, self.summary, heard)):
            return []
        if given is None or given != current:
            now = "none is under way" if current is None else f"{current} is under way"
            what = "an iteration" if given is None else f"iteration {given}"
            raise RefusedError(
                f"cannot end {what}: {now}",
                hint="use `sprintlog iteration start` to start one"
                if current is None
                else None,
                iteration=given,
                command="end",
                allowed=[] if current is None else [current],
            )
        ended = IterationEnded(given, self.summary, heard)
        made_with = _made_with(given, self.params)
        if self.ran is None:
            return [ended, *made_with]
        phase = last.phase if isinstance(last, IterationStarted) else None
        ran = replace(self.ran, iteration=given, phase=phase or "")
        events = [ran, ended, *made_with]
        return with_item_events(sprint, events, self.said, at, steps=False)


def _is_start(last: Event | None, started: IterationStarted) -> bool:
    """Return whether a start was already recorded, ignoring its snapshot and work tree."""
    if not isinstance(last, IterationStarted):
        return False
    return replace(last, before=None, work_tree=None, overlapping=()) == started


def _is_end(last: Event | None, ended: IterationEnded) -> bool:
    """Return whether an end was already recorded, ignoring the repository's state."""
    return isinstance(last, IterationEnded) and replace(last, git=None) == ended


def _made_with(number: int, params: dict[str, str]) -> list[Event]:
    if not params:
        return []
    # Imported here: few iterations have parameters.
    from .described import made_with

    return made_with(number, params)


def last_ended_iteration(plan: Plan) -> int:
    """Return the iteration that ended last; 0 if there is none or one is running."""
    latest = plan.iteration
    return latest if open_iteration(plan) is None or plan.turns.ended == latest else 0


def _check_limit(number: int, *, least: int) -> None:
    if not least <= number <= NUMBER_MAX:
        raise RefusedError(
            f"max-iterations {number} is out of range ({least} to {NUMBER_MAX})",
            field="max-iterations",
        )


class StartWrapped(Command, frozen=True):
    """Start an iteration for a command that another loop runs."""

    before: str | None = None
    """The snapshot of the files at the start, if one was taken."""
    session: str | None = None
    """The agent session of which the iteration is a turn."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        return [
            IterationStarted(
                sprint.knowledge.iteration_max + 1,
                beyond_limit=self.session is None and is_used_up(sprint),
                is_wrapped=True,
                before=self.before,
                session=self.session,
            )
        ]


class EndWrapped(Command, frozen=True):
    """Record the end of a wrapped command; with `ends`, end its iteration as well."""

    ran: AgentRan
    ends: bool = True
    summary: str | None = None
    said: SaidItems | None = None
    """The other items in the agent's answer, which change no step."""
    claim: str | None = None
    """The summary of the answer's claim that the goal is reached; None without a claim."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        number = self.ran.iteration
        events: list[Event] = [self.ran]
        if number is not None and self.ends:
            events.append(IterationEnded(number, self.summary))
            is_at_goal = sprint.is_running and sprint.plan.is_at_goal
            if self.claim is not None and is_at_goal and number == sprint.plan.iteration:
                # Imported here: few answers claim the goal.
                from ..state.completion import WRAPPED
                from .claims import claim_goal

                events += claim_goal(sprint, self.claim or None, WRAPPED)
        return with_item_events(sprint, events, self.said, at, steps=False)


CAUSED: Events = {
    IterationStarted: StartIteration,
    IterationEnded: EndIteration,
    IterationsLimited: LimitIterations,
}
