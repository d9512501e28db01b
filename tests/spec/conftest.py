"""Given, when, then: earlier events, a command, and the events it decides.

No store and no clock: versions count up from 1 and times are texts of the test. The
scenarios of some modules are also played with a log on a server: then the states for
decisions and queries come from there. With `SPRINTLOG_TEST_STORE=postgresql-18` this
applies to every module.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from copy import deepcopy
from typing import Any, Self

import msgspec
import pytest

from sprintlog.engine.command import Command, decided
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.event import Event, Versioned
from sprintlog.engine.log.port import Log
from sprintlog.engine.service.streams.catalogue import SPRINTS, new_event, sprint_stream
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.events import RolledBack, SprintStarted
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint, pack
from tests.postgres.conftest import made
from tests.postgres.server import IN_LONG, unsafe_url, why_not

FOLDED = "folded"
STORED = (
    *("rollback", "redo", "adopt_edit", "import_document", "inject_phases", "inject_steps"),
    *("gates", "iterations", "queue_commands", "queue_reopen", "retry", "snapshots"),
)
"""Whose scenarios are played on a server, too: what a state has to find in its events."""
EVERYWHERE = os.environ.get("SPRINTLOG_TEST_STORE")
Data = dict[str, Any]
Make = Callable[..., Command]
"""The struct of a command, called with its fields."""
Decision = Command | Callable[[Sprint, str], list[Event]]


class Scenario:
    """A sprint with its history, which every step extends."""

    def __init__(self) -> None:
        self.sprint = Sprint("s")
        self.events: list[Versioned] = []
        self.now = "2026-01-15T09:00:00Z"
        self.decided: list[Event] | None = None
        self.refused: RefusedError | None = None

    def given(self, *history: Event | Data | str | None) -> Self:
        """Apply events: a mapping is a new plan, a text is the current time from here on.

        None leaves the history unchanged.
        """
        for item in history:
            match item:
                case str():
                    self.now = item
                case dict():
                    self._happen(
                        CreateSprint(plan=item).decide(self.sprint, "2026-01-15T09:00:00Z")
                    )
                case None:
                    pass
                case _:
                    self._happen([item])
        return self

    def at(self, time: str) -> Self:
        """Set the time of everything that follows."""
        self.now = time
        return self

    def when(self, command: Decision, /, *, at: str | None = None) -> Self:
        """Let a command decide on the sprint; deciding must not change it."""
        before = pack(self.sprint)
        self.decided = self.refused = None
        try:
            self.decided = decided(command, self.sprint, self.now if at is None else at)
        except RefusedError as error:
            self.refused = error
        assert pack(self.sprint) == before
        return self

    def then(self, *events: Event) -> Self:
        """Expect exactly these events, and apply them."""
        assert self.refused is None, f"refused: {self.refused}"
        assert self.decided == list(events)
        return self.go()

    def then_nothing(self) -> Self:
        """Expect the command to be accepted without a new event."""
        return self.then()

    def then_refused(self, *, containing: str = "", **fields: Any) -> Self:
        """Expect a refusal whose message and fields state the reason."""
        assert self.refused is not None, f"not refused: {self.decided}"
        assert containing in self.refused.message
        assert {name: self.refused.fields.get(name) for name in fields} == fields
        return self

    def go(self) -> Self:
        """Apply the events of the last command."""
        assert self.decided is not None, f"refused: {self.refused}"
        self._happen(self.decided)
        return self

    def do(self, command: Decision, *, at: str | None = None) -> Self:
        """Handle a command and apply its events."""
        return self.when(command, at=at).go()

    @property
    def document(self) -> Data:
        """Return the current PROGRESS.yaml as data."""
        return deepcopy(self.sprint.document)

    @property
    def status(self) -> str:
        """Return the sprint's status as readers see it."""
        return str(self.document["status"])

    @property
    def pointer(self) -> tuple[int | None, int | None, int | None]:
        """Return phase, step and sub-phase of the pointer."""
        current = self.document["current"]
        return current["phase"], current["step"], current["sub-phase"]

    def node(self, address: str) -> Data:
        """Return the phase, step or sub-phase at an address."""
        found = self.sprint.plan.tree.find(address)
        assert found is not None, address
        return found.data

    def bytes(self) -> bytes:
        """Return the document as JSON, in the order of its keys."""
        return msgspec.json.encode(self.document)

    def _happen(self, events: list[Event]) -> None:
        for event in events:
            self.events.append((len(self.events) + 1, self.now, stored(event)))
            if isinstance(event, RolledBack):
                self.sprint = fold_all(self.events)
            else:
                fold(self.sprint, [(len(self.events), self.now, stored(event))])


def stored(event: Event) -> Event:
    """Return an event as a log returns it: nothing is shared with the decision."""
    return msgspec.json.decode(msgspec.json.encode(event), type=type(event))


def fold_all(events: list[Versioned], *, until: int | None = None) -> Sprint:
    """Return the sprint folded from nothing, at a version."""
    last = len(events) if until is None else until
    rollbacks = [(v, event.to) for v, _, event in events if isinstance(event, RolledBack)]
    live = effective_ranges(
        [rollback for rollback in rollbacks if rollback[0] <= last], last
    )
    fresh = [(version, at, stored(event)) for version, at, event in events[:last]]
    return fold(Sprint("s"), fresh, live)


def simple(*ids: str, **keys: Any) -> Data:
    """Return a plan of simple phases; every phase gets the keys."""
    return {"phases": [{"id": i, "prompt": f"Do {i}", **keys} for i in ids]}


def for_each(phase: str, **steps: tuple[str, ...]) -> Data:
    """Return a for-each phase whose steps have the given sub-phases."""
    return {
        "id": phase,
        "steps": [
            {
                "id": step,
                "prompt": f"Item {step}",
                "phases": [{"id": sub, "prompt": f"Do {sub}"} for sub in subs],
            }
            for step, subs in steps.items()
        ],
    }


class StoredScenario(Scenario):
    """A scenario whose events are stored in a log, from which its states are read."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log
        self._repository = Repository(log, SPRINTS, log.checkpoints)

    def _happen(self, events: list[Event]) -> None:
        if not events:
            return
        super()._happen(events)
        folded = pack(self.sprint)
        said = [new_event(event, at=self.now, actor="runtime") for event in events]
        before = len(self.events) - len(events)
        self._log.append(sprint_stream(self.sprint.id), said, expect=before)
        self.sprint = self._repository.current(self.sprint.id)
        assert pack(self.sprint) == folded


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Play the scenarios of some modules twice: folded, and from a server."""
    module = metafunc.module.__name__.rpartition(".test_")[2]
    if "new_scenario" in metafunc.fixturenames and (EVERYWHERE or module in STORED):
        played = [EVERYWHERE] if EVERYWHERE else [FOLDED, IN_LONG]
        metafunc.parametrize("new_scenario", played, indirect=True)


@pytest.fixture
def new_scenario(request: pytest.FixtureRequest) -> Iterator[Callable[[], Scenario]]:
    """Return the beginning of a scenario, on a new log if it uses a server."""
    store: str = getattr(request, "param", FOLDED)
    if store == FOLDED:
        yield Scenario
        return
    if reason := why_not(store):
        pytest.skip(reason)
    with ExitStack() as logs:
        yield lambda: StoredScenario(logs.enter_context(closing(made(unsafe_url(store)))))


@pytest.fixture
def given(new_scenario: Callable[[], Scenario]) -> Callable[..., Scenario]:
    """Return `given(plan, events and times …)`, which starts a scenario."""
    return lambda *history: new_scenario().given(*history)


@pytest.fixture
def running(new_scenario: Callable[[], Scenario]) -> Callable[..., Scenario]:
    """Return `running(plan, events and times …)`: a sprint that was started."""

    def begin(plan: Data, *history: Event | Data | str) -> Scenario:
        return new_scenario().given(plan, SprintStarted(), *history)

    return begin
