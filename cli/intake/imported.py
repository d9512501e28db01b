"""The result of an extension's importer: plans, iterations and remarks as data."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import structs

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.log.event import made_from
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.iterations import facts
from sprintlog.engine.sprint.plan import shape
from sprintlog.engine.sprint.state import words
from sprintlog.engine.sprint.state.node import Node, derived_status
from sprintlog.engine.sprint.state.sprint import settled
from sprintlog.engine.sprint.state.tree import CHILDREN, Tree
from sprintlog.engine.usage import ModelCall

from .foreign_files import ForeignFile, Unread
from .progress import check_progress

Data = dict[str, Any]


class Iteration(NamedTuple):
    """An iteration of the imported loop."""

    key: str
    """A name, unique in the source; importing it again adds only new data."""
    began_at: str | None
    ended_at: str | None
    went_well: bool | None = True
    """None if the result is unknown."""
    duration_ms: int | None = None
    summary: str | None = None
    usage: Usage | None = None
    agent: str | None = None
    agent_version: str | None = None
    models: tuple[str, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    """The model calls included in the usage, if they can be distinguished."""
    size: int = 0
    """The length of the record; the longer of two versions is the newer version."""


class Remark(NamedTuple):
    """A remark made by the loop."""

    key: str
    text: str
    at: str | None = None


class ImportedSprint(NamedTuple):
    """A sprint to import: phases with their statuses, or a goal."""

    id: str
    phases: Sequence[Data] = ()
    """The phases in PROGRESS.yaml format. The status of a phase with steps is derived; any
    other phase has its own status, by default pending."""
    goal: str = ""
    """The goal of a loop without phases."""
    more: Mapping[str, Any] = MappingProxyType({})
    """Additional top-level fields of the document."""
    iterations: Sequence[Iteration] = ()
    remarks: Sequence[Remark] = ()
    loop: "ImportedLoop | None" = None
    """Further facts of the loop, such as measurements."""

    def document(self, *, kind: str, file: Path) -> Data:
        """Return the complete, validated document of a sprint with phases.

        Raise `InvalidInputError` naming the invalid field.
        """
        for name in self.more:
            if name in OURS:
                raise InvalidInputError(
                    "has a different meaning in sprintlog", file=str(file), field=name
                )
        phases = [_node(one, 0, file, f"phases[{n}]") for n, one in enumerate(self.phases)]
        document = {
            "sprint-id": self.id,
            "status": words.NOT_STARTED,
            "imported-from": kind,
            **self.more,
            "phases": phases,
            "current": {"phase": 0, "step": None, "sub-phase": None},
            "stats": {"started-at": None, "completed-at": None},
        }
        check_progress(document, file=str(file))
        found = {node.status for node in Tree(document).leaves}
        if found <= words.FINISHED:
            document["status"] = words.COMPLETED
        elif not found <= {words.PENDING}:
            document["status"] = words.IN_PROGRESS
        return settled(document)

    @staticmethod
    def reserved(*, is_top: bool = False) -> set[str]:
        """Return the names of fields with a fixed meaning in a phase or at top level."""
        if is_top:
            return OURS
        levels = (shape.CompiledTopPhase, shape.CompiledStep, shape.SubPhase)
        named = {field.encode_name for one in levels for field in structs.fields(one)}
        return named | {"parallel", "wait-for-parallel", "depends-on", "workflow"}


class ImportedLoop:
    """The history of a loop as facts, from which a sprint with a goal is created.

    Each fact has a key that is unique within its source, and is recorded only once. The
    time `at` may be unknown.
    """

    ITERATIONS_MAX = 10_000
    """The maximum number of iterations, each of which becomes an event."""

    def __init__(self) -> None:
        self.max_iterations = 0
        """The maximum number of iterations of the loop; 0 for no limit."""
        self.measured_as = ""
        """The loop whose folder contains the measurements; empty if there is none."""
        self.facts: list[facts.Fact] = []

    def began(self, key: str, at: str | None, number: int | None = None) -> None:
        """Add the start of an iteration; `number` is the loop's own number."""
        self.facts.append(facts.Began(key, at, number))

    def ended(
        self,
        key: str,
        at: str | None,
        outcome: str | None = None,
        summary: str | None = None,
        **figures: Any,
    ) -> None:
        """Add the end of the current iteration.

        If `outcome` is given, the iteration had an agent run, with figures as in
        `AgentRan`.
        """
        run = None if outcome is None else facts.run_of(outcome, **figures)
        self.facts.append(facts.Ended(key, at, run, summary))

    def baseline(self, key: str, at: str | None, metrics: Data) -> None:
        """Add the measurement made before the first iteration."""
        self.facts.append(facts.Baseline(key, at, metrics))

    def measured(
        self,
        key: str,
        at: str | None,
        metrics: Data,
        score: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        """Add the measurement of the iteration that started last."""
        self.facts.append(facts.MeasurementSaid(key, at, metrics, score, usage))

    def noted(self, key: str, at: str | None, text: str) -> None:
        """Add a remark made by the loop."""
        self.facts.append(facts.LoopSaid(key, at, text))

    def completed(self, key: str, at: str | None, summary: str) -> None:
        """Add the completion of the loop."""
        self.facts.append(facts.LoopOver(key, at, summary))

    def sort(self) -> None:
        """Sort the facts by time."""
        order = {facts.Began: 0, facts.LoopSaid: 1, facts.Ended: 2, facts.LoopOver: 3}
        self.facts.sort(key=lambda fact: (fact.at or "", order.get(type(fact), 1)))


class Imported(NamedTuple):
    """All imported data before any of it is recorded."""

    sprints: Sequence[ImportedSprint]
    found: Mapping[str, int]
    """The number of items found of each kind, such as `{"task": 12}`."""
    unread: Sequence[Unread] = ()
    """The parts that were not understood; they are stored for inspection."""


def facts_of(sprint: ImportedSprint, *, file: Path) -> Iterator[facts.Fact]:
    """Yield the facts that the loop reports, iterations before remarks."""
    for one in sprint.iterations:
        status = {True: words.COMPLETED, False: words.FAILED, None: words.UNKNOWN}
        digest = sha256(repr(one).encode(errors="replace")).hexdigest()
        output = {"output_bytes": one.size, "output_sha256": digest}
        ran = {"phase": "", "status": status[one.went_well]}
        run = made_from(AgentRan, one, **ran, **output)
        began, ended = _time(one.began_at, file), _time(one.ended_at, file)
        yield facts.Began(f"iteration {one.key} began", began or ended)
        yield facts.Ended(f"iteration {one.key} ended", ended, run, one.summary)
    for remark in sprint.remarks:
        yield facts.LoopSaid(f"remark {remark.key}", _time(remark.at, file), remark.text)
    yield from () if sprint.loop is None else sprint.loop.facts


def _time(at: str | None, file: Path) -> str | None:
    return None if at is None else ForeignFile.normalised(at, file=str(file))


def _node(given: Data, level: int, file: Path, field: str) -> Data:
    """Return a phase, step or sub-phase with its status; its children come last."""
    if not isinstance(given, dict):
        raise InvalidInputError("must be an object", file=str(file), field=field)
    below = CHILDREN[level + 1] if level + 1 < len(CHILDREN) else ""
    children = given.get(below) or []
    node: Data = {"id": given.get("id"), "status": given.get("status") or words.PENDING}
    node |= {k: v for k, v in given.items() if k not in (*node, below)}
    if not isinstance(children, list):
        raise InvalidInputError("must be a list", file=str(file), field=f"{field}.{below}")
    if children:
        inner = [
            _node(one, level + 1, file, f"{field}.{below}[{n}]")
            for n, one in enumerate(children)
        ]
        parent = Node(node, "", (), None)
        parent.children = [Node(one, "", (), parent) for one in inner]
        parent.tally = Counter(str(one["status"]) for one in inner)
        node["status"] = derived_status(parent)
        node[below] = inner
    return node


OURS = {"sprint-id", "status", "phases", "current", "stats", "mode", "goal"} | {
    *("imported-from", "ralph")
}
"""Top-level keys with a fixed meaning in a sprint's document."""
