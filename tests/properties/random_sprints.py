"""Random lives of sprints: work of a loop, concurrent work of people, and losses.

Everything is drawn from one `random.Random`, so a seed reproduces a life; a property passes
a generator that hypothesis controls.
"""

from random import Random
from typing import Any, NamedTuple

from sprintlog.engine.command import Command
from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.plan import create
from sprintlog.engine.sprint.plan.recompile import TakePlan
from sprintlog.engine.sprint.queue.returns import with_returns
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.engine.sprint.state.tree import gate_status

from .injections import inject, injection
from .queue_moves import move_queue
from .sprint_histories import Given, World, copied, given
from .sprint_plans import mutated, walk

Data = dict[str, Any]

SECONDS_BETWEEN = 37


class Refusal(NamedTuple):
    """A refused command: its message and hint."""

    command: str
    message: str
    hint: str | None


class Life(World):
    """A sprint that advances in time, one command after another."""

    def __init__(self, chance: Random, *, document: Data | None = None) -> None:
        self.chance = chance
        self.waited_ms = 0
        self.refusal: Refusal | None = None
        """The refusal of the latest command, until another command is accepted."""
        self.definition = document or random_plan(chance)
        self.events = []
        self.ends = [0]
        self.sprint = Sprint("s")
        limit = chance.choice((None, None, 4))
        self.command(
            create.CreateSprint(plan=copied(self.definition), max_iterations=limit)
        )

    def __repr__(self) -> str:
        return f"Life of {self.definition}\n{super().__repr__()}"

    @property
    def time(self) -> str:
        """Return a time that only increases."""
        seconds = SECONDS_BETWEEN * len(self.events)
        return from_milliseconds(1_768_467_600_000 + 1000 * seconds + self.waited_ms)

    def command(self, command: Given, **arguments: Any) -> list[Event]:
        """Append the events of a command; raise `RefusedError` if it is refused."""
        try:
            events = given(command, self.sprint, self.time, **arguments)
            decided = with_returns(self.sprint, events, at=self.time)
        except (RefusedError, NotFoundError) as error:
            self.refusal = Refusal(_name(command), error.message, error.hint)
            raise
        self.refusal = None
        if decided:
            self.append(decided)
        return decided

    def append(self, events: list[Event]) -> None:
        """Append events and catch up; a rollback sends the fold back to the start."""
        first = len(self.events) + 1
        news = [
            (n, self.time, copied(event)) for n, event in enumerate(events, start=first)
        ]
        self.events += news
        self.ends.append(len(self.events))
        if any(isinstance(event, f.RolledBack) for event in events):
            self.sprint = self.rebuilt()
        else:
            fold(self.sprint, [(v, at, copied(event)) for v, at, event in news])

    def handle_with(self, command: Given, **arguments: Any) -> bool:
        """Issue a command if the rules allow it; return whether it was accepted."""
        try:
            self.command(command, **arguments)
        except (RefusedError, NotFoundError):
            return False
        return True

    def meddle(self) -> None:
        """Perform an action independent of the loop."""
        chance = self.chance
        i, j = chance.randrange(60), chance.randrange(60)
        match chance.choice(MEDDLING):
            case "pause":
                self.handle_with(lifecycle.PauseSprint(reason="lunch"))
            case "resume":
                self.handle_with(lifecycle.ResumeSprint(by="Ada", why="done"))
            case "inject":
                self.handle_with(inject, asked=injection(self.sprint, i, j))
            case "queue":
                self.handle_with(move_queue, i=i, j=j, at=self.time)
            case "compile":
                self.compile_again(i, j)
            case "import":
                self.handle_with(
                    create.ImportDocument(
                        document=mutated(copied(self.sprint.document), i, j), source="x"
                    )
                )
            case "parent":
                self.ask_for_a_parent(j)
            case kind:
                self.move((kind, i, j))

    def ask_for_a_parent(self, j: int) -> None:
        """Skip, retry or reopen any node, including parents."""
        nodes = list(self.sprint.plan.tree.nodes.values())
        if nodes:
            kinds = (leaves.SkipPhase, leaves.RetryPhase, leaves.ReopenPhase)
            self.handle_with(kinds[j % 3](phase=self.chance.choice(nodes).address))

    def compile_again(self, i: int, j: int) -> None:
        """Insert an item into the definition, and compile it again."""
        grown = copied(self.definition)
        nodes = [node for node, level in walk(grown) if level < 3]
        holder = nodes[j % len(nodes)] if nodes else grown
        key = next((k for k in ("steps", "phases") if k in holder), None)
        siblings = holder[key] if key else grown.setdefault("phases", [])
        siblings.insert(i % (len(siblings) + 1), {"id": f"new{i}-{j}", "prompt": "x"})
        if self.handle_with(TakePlan(plan=copied(grown))):
            self.definition = grown


MEDDLING = (
    *("pause", "resume", "wake", "sprint", "phase", "phase", "parent", "gate", "goal"),
    *("inject", "inject", "inject", "queue", "queue", "queue", "compile", "import"),
    *("back", "undo", "iterate"),
)

LEVELS = {1: "phase", 2: "step", 3: "sub-phase"}


def seen_in(life: Life) -> set[str]:
    """Return the values that a sprint shows: statuses, gates by level, requests."""
    sprint = life.sprint
    found = {f"sprint {sprint.plan.status}"}
    for node in sprint.plan.tree.nodes.values():
        found.add(f"{'leaf' if node.leaf >= 0 else 'parent'} {node.status}")
        if (word := gate_status(node.data)) is not None:
            level = "for-each" if node.level == 1 and node.leaf < 0 else LEVELS[node.level]
            found |= {f"gate of a {level}", f"gate {word}"}
    found |= {f"request {x.get('status')}" for x in sprint.queue if isinstance(x, dict)}
    return found


def positions(life: Life) -> set[str]:
    """Return the positions of injections over the whole life."""
    return {
        f"position {event.position.type}"
        for _, _, event in life.events
        if isinstance(event, f.Injection)
    }


def random_plan(chance: Random) -> Data:
    """Return a plan with gates at every level, breakpoints, empty phases, goals."""

    def gated(node: Data, share: float) -> Data:
        if chance.random() < share:
            node["gate"] = {"script": "x", "max-retries": chance.randrange(3)}
        return node

    def sub(index: int) -> Data:
        return gated({"id": f"i{index}", "prompt": "x"}, 0.2)

    def step(index: int) -> Data:
        below = [sub(n) for n in range(chance.randrange(3))]
        return gated({"id": f"s{index}", "prompt": "x", "phases": below}, 0.2)

    def top(index: int) -> Data:
        node: Data = {"id": f"p{index}"}
        if chance.random() < 0.5:
            node["prompt"] = "x"
        else:
            node["steps"] = [step(n) for n in range(chance.randrange(4))]
        if chance.random() < 0.25:
            node["break"] = True
        return gated(node, 0.5)

    goal: Data = {}
    if chance.random() < 0.3:
        goal = {"mode": "ralph", "goal": "x"}
        if chance.random() < 0.5:
            goal["per-iteration-hooks"] = [{"id": "h"}]
        if chance.random() < 0.5:
            goal["ralph"] = {"min-iterations": 2}
    tops = [top(index) for index in range(chance.randrange(0 if goal else 1, 4))]
    retry = {"maxAttempts": chance.randrange(3), "backoffMs": [1000]}
    return {**goal, "retry": retry, "phases": tops}


def _name(command: Given) -> str:
    if isinstance(command, Command):
        return command.name()
    return str(getattr(command, "__name__", command))
