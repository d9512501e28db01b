"""The recognition of agents, and the limits that keep them from judging themselves."""

import os

from msgspec.structs import replace

from ..adapters.processes.process import ancestors
from ..errors import RefusedError
from ..judging import events as judged
from ..judging.loop_rules import PERSON as BY_PERSON
from ..log.event import Event
from ..sessions.work import WITHIN
from ..sprint import events as f
from ..sprint.iterations.follow_up import loop_rules
from ..sprint.state.completion import AGENT, LOOP, PERSON
from ..sprint.state.sprint import Sprint
from .agent_sessions.at_work import all_at_work
from .port import Envelope, Service

FORBIDDEN: dict[type[Event], str] = {
    judged.RulesSet: "set rules",
    f.BudgetsSet: "set budgets",
    f.GoalSet: "set the goal",
    judged.InstrumentsAccepted: "accept changed tests or measures",
    judged.BaselineReplaced: "replace the baseline",
    judged.MeasurementRetracted: "retract a measurement",
    judged.RecommendationGiven: "override the advice",
    f.SprintCompleted: "abandon the goal",
    f.ClaimAccepted: "decide on a claim",
    f.ClaimReviewed: "review a claim",
    f.GoalCompleted: "decide on a claim",
}
"""The effects of the events that only a person may record."""


def is_agents(service: Service, envelope: Envelope) -> bool:
    """Return whether an agent records an action: only a person may judge its work.

    An agent is recognized by its actor, by the environment of `run` and `wrap`, or as an
    ancestor of this process that is at work in any work tree of the log. `run` checks this
    when it starts.
    """
    if envelope.get("is_loop"):
        return False
    if envelope.get("actor", "").startswith("agent:") or os.environ.get(WITHIN):
        return True
    known = all_at_work(service.location, with_idle=True)
    agents = {one.pid for x in known for one in (x.process, x.starter) if one is not None}
    return bool(agents) and any(pid in agents for pid, _ in ancestors())


def begin_turn(service: Service) -> bool:
    """Start the iteration of the hooked turn in which an agent records, unless it started.

    Return whether it started now. Raise `RefusedError` if the turn ended, and the agent
    goes on: its files may differ from the measured ones.
    """
    pids = () if os.environ.get(WITHIN) else {pid for pid, _ in ancestors()}
    for work in all_at_work(service.location, with_idle=True):
        is_own = work.process is not None and work.process.pid in pids
        if is_own and work.session and work.is_idle:
            raise RefusedError(
                "the turn of this agent has ended, and its next one is not known yet",
                hint="an agent can try again; a person can run this command outside of it",
            )
        if is_own and work.session and not work.iteration:
            return service.begin_turn(work.session)
    return False


def limited(sprint: Sprint, events: list[Event], *, observed: bool) -> list[Event]:
    """Return an agent's events, with its measurements and claims marked as such.

    Raise `RefusedError` if only a person may record one of them.
    """
    for event in events:
        if _is_forbidden(sprint, event, observed=observed):
            raise RefusedError(
                f"an agent cannot {FORBIDDEN[type(event)]}: this requires a person",
                hint="an agent can claim the goal: `sprintlog goal complete`; a person can "
                "run this command outside of the agent's run, as operator:NAME",
                sprint=sprint.id,
            )
    return [_marked(event) for event in events]


def _is_forbidden(sprint: Sprint, event: Event, *, observed: bool) -> bool:
    match event:
        case judged.RecommendationGiven():
            return event.cause == BY_PERSON
        case f.SprintCompleted():
            return event.abandons_goal
        case f.ClaimAccepted():
            # Unless it is observed, it follows from the evidence.
            return observed
        case f.GoalCompleted():
            rules, last = loop_rules(sprint), sprint.plan.last.iteration
            is_wrapped = isinstance(last, f.IterationStarted) and last.is_wrapped
            return observed and (is_wrapped or (rules.measure or rules.until) is not None)
        case _:
            return type(event) in FORBIDDEN


def _marked(event: Event) -> Event:
    match event:
        case judged.BaselineCaptured() | judged.IterationMeasured():
            return replace(event, origins=(*event.origins, judged.BY_AGENT))
        case f.GoalClaimed() | f.GoalCompleted() if event.source in ("", LOOP, PERSON):
            return replace(event, source=AGENT)
        case _:
            return event
