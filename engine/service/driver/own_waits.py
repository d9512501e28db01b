"""The wait in a custom loop for the limit that ended the agent's latest run."""

from collections import deque

from ...log.event import Event
from ...sprint.agent import actions
from ...sprint.agent.actions import NEEDS_PERSON, Action, is_over
from ...sprint.agent.next import next_action
from ...sprint.events import AgentRan
from ...sprint.phases.waits import wait_after
from ...sprint.state.sprint import Sprint
from ...sprint.state.words import NEEDS_HUMAN
from ..streams.evaluation import StreamEvents
from .agent import Driver
from .runner import Waits


def wait_for_limit(driver: Driver) -> Action | None:
    """Wait until no limit applies; return the last action, or None if there was no limit.

    The action is a wait that has ended, or a stop that requires a person.
    """
    waits, last = Waits(driver), None
    while True:
        action = _standing(driver)
        if action is None:
            return last
        if action.do != actions.WAIT or is_over(str(action.until), driver.workspace.now()):
            return action
        last, version = action, driver.sprint().version
        waits.wait(action, version=version, has_news=lambda: False)


def _standing(driver: Driver) -> Action | None:
    """Return the sprint's current wait, a stop that requires a person, or None."""
    sprint = driver.sprint()
    action = next_action(sprint, now=driver.workspace.now(), has_budgets=False)
    needs_person = action.do == actions.STOP and action.because in NEEDS_PERSON
    if needs_person or action.do == actions.WAIT:
        return action
    found = _last_run(driver, sprint)
    waiting = sprint.plan.waiting
    if found is None:
        return actions.waits(waiting) if waiting is not None else None
    ran, ended = found
    if ran.limit is None:
        needs_person = ran.status == NEEDS_HUMAN
        stop = Action(actions.STOP, because=actions.PERSON, why=ran.error)
        return stop if needs_person else None
    if waiting is None or not waiting.is_of(ran.phase, ran.iteration):
        driver.handle(lambda sprint, at: _decided(sprint, ran, ended))
        waiting = driver.sprint().plan.waiting
        assert waiting is not None
    return actions.waits(waiting)


def _decided(sprint: Sprint, ran: AgentRan, ended: str) -> list[Event]:
    return [wait_after(sprint, ran, ended)]


def _last_run(driver: Driver, sprint: Sprint) -> tuple[AgentRan, str] | None:
    """Return the latest run of an agent, and the time of its end."""
    events = StreamEvents(driver.workspace.log, sprint.id, sprint.version)
    runs = ((ran, at) for _, at, ran in events.all(AgentRan) if ran.found_in is None)
    last = deque((one for one in runs if not one[0].is_rest), maxlen=1)
    return last[0] if last else None
