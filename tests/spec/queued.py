"""Requests, and commands as a workspace returns them, with returning requests."""

from typing import Any

from sprintlog.engine.command import Command, decided
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import RequestQueued
from sprintlog.engine.sprint.queue.decisions import DeferRequest
from sprintlog.engine.sprint.queue.requests import QueueRequests, SubmittedRequest
from sprintlog.engine.sprint.queue.returns import with_returns
from sprintlog.engine.sprint.state.sprint import Sprint

from .conftest import Data, Decision, Scenario

AT = "2026-01-20T10:30:00Z"
BUG = SubmittedRequest("Crash", "high", "bug", request="r")


def found(identity: str = "r", **keys: Any) -> RequestQueued:
    """Return the event that a request was queued."""
    given: Data = {
        "title": "Crash",
        "description": "It crashes",
        "priority": "high",
        "request_type": "bug",
        "created_at": AT,
        "discovered_in": "a",
        **keys,
    }
    return RequestQueued(identity, **given)


def queue(scenario: Scenario, *requests: SubmittedRequest) -> Scenario:
    """Queue requests at the scenario's time."""
    return scenario.do(QueueRequests(requests=requests), at=scenario.now)


def entry(scenario: Scenario, identity: str = "r") -> Data:
    """Return a request as shown in PROGRESS.yaml."""
    (one,) = [e for e in scenario.document["operator-queue"] if e["id"] == identity]
    return dict(one)


def status(scenario: Scenario, identity: str = "r") -> str:
    """Return a request's status."""
    return str(entry(scenario, identity)["status"])


def derived(command: Command) -> Decision:
    """Return a decision on a command, including the requests that its events return."""

    def whole(sprint: Sprint, at: str) -> list[Event]:
        return with_returns(sprint, decided(command, sprint, at), at=AT)

    return whole


def deferred(scenario: Scenario, until: str, asked: str | RequestQueued = "r") -> Scenario:
    """Defer a request, by its id or as queued."""
    event = found(asked) if isinstance(asked, str) else asked
    scenario.given(event)
    return scenario.do(DeferRequest(event.request, "Later", until))
