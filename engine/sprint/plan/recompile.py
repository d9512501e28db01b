"""Recompilation of a plan, which is replaced before work starts and extended afterwards."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from ...command import Command
from ...errors import RefusedError
from ...log.event import Event
from ..events import InjectionPosition, Place, Source, SprintCompiled
from ..state import document_fields, patch, words
from ..state.sprint import Sprint
from ..state.tree import CHILDREN, Data, escape, takes_part
from . import injection, insertion_points
from .create import CreateSprint, check_same_id, condition_set, prepare

_OF_SPRINT = (
    *("mode", "goal", "ralph", "goal-prompt", "reflection-prompt"),
    *("per-iteration-hooks", "retry"),
)
_OF_NODE = (
    *("prompt", "model", "depends-on", "gate"),
    *("break", "parallel", "wait-for-parallel"),
)
"""The fields that a definition sets in a node."""
_SHOWN_MAX = 60


class Addition(NamedTuple):
    """New sibling nodes and their insertion point."""

    level: int
    """The level of the nodes: 1 for top phases, 2 for steps, 3 for sub-phases."""
    nodes: list[Data]
    position: InjectionPosition


class PlanChanges(NamedTuple):
    """The additions to a plan, and all other differences."""

    additions: list[Addition]
    differences: list[str]

    def differs(self, address: str, said: str) -> None:
        """Add a difference as a line of text; the address of the sprint itself is empty."""
        self.differences.append(f"{address}: {said}" if address else said)


def changes(old: Data, new: Data) -> PlanChanges:
    """Return the changes from a running plan to a newly compiled plan."""
    found = PlanChanges([], [])
    _compare_fields(old, new, "", _OF_SPRINT, found)
    if (limit := _limit(new)) is not None and limit != _limit(old):
        found.differs("", _changed("stats.max-iterations", _limit(old), limit))
    _compare_children(old, new, "", 0, found)
    return found


def _limit(document: Data) -> Any:
    return document_fields.mapping_of(document, "stats").get("max-iterations")


def _compare_children(
    old: Data, new: Data, address: str, level: int, found: PlanChanges
) -> None:
    """Compare the children of two corresponding nodes by their ids."""
    if level == len(CHILDREN):
        return
    key = CHILDREN[level]
    there = {child["id"]: child for child in _children(old, key)}
    wanted = {child["id"]: child for child in _children(new, key)}
    if wanted and not there and level == len(CHILDREN) - 1:
        # The node is a leaf, whose work may already be done.
        found.differs(address, "had nothing below it")
        return
    prefix = f"{address}/" if address else ""
    for identity, child in there.items():
        # Injected nodes are in no definition.
        if identity not in wanted and child.get("injected") is not True:
            found.differs(f"{prefix}{escape(identity)}", "is not there any more")
    order = [identity for identity in there if identity in wanted]
    now = [identity for identity in wanted if identity in there]
    if order != now:
        found.differs(address, f"the order changed: {', '.join(order)} → {', '.join(now)}")
        return
    place: InjectionPosition | None = None
    new_ones: list[Data] = []
    for identity, child in wanted.items():
        where = f"{prefix}{escape(identity)}"
        if identity not in there:
            new_ones.append(child)
            continue
        if new_ones:
            position = place or InjectionPosition("before", where)
            found.additions.append(Addition(level + 1, new_ones, position))
        before = there[identity]
        # The command that starts a phase may specify another model.
        fields = [f for f in _OF_NODE if f != "model" or not before.get("started-at")]
        _compare_fields(before, child, where, fields, found)
        _compare_children(before, child, where, level + 1, found)
        place, new_ones = InjectionPosition("after", where), []
    if new_ones:
        end = (
            (insertion_points.END_OF_PHASE, address)
            if address
            else (insertion_points.END_OF_WORKFLOW,)
        )
        position = place or InjectionPosition(*end)
        found.additions.append(Addition(level + 1, new_ones, position))


def _children(node: Data, key: str) -> Iterator[Data]:
    for child in document_fields.list_of(node, key):
        if isinstance(child, dict) and takes_part(child):
            yield child


def _compare_fields(
    old: Data, new: Data, where: str, fields: Iterable[str], found: PlanChanges
) -> None:
    for field in fields:
        was, now = old.get(field), new.get(field)
        if not patch.same(was, now):
            found.differs(where, _changed(field, was, now))


def _changed(field: str, was: Any, now: Any) -> str:
    if isinstance(was, str) and isinstance(now, str):
        lines = zip_longest(was.split("\n"), now.split("\n"))
        for number, (old, new) in enumerate(lines, start=1):
            if old != new:
                at = f" in line {number}" if "\n" in was + now else ""
                return f"{field} changed{at}: {' → '.join(_around(old, new))}"
    return f"{field} changed: {_shown(was)} → {_shown(now)}"


def _around(old: str | None, new: str | None) -> tuple[str, str]:
    """Return excerpts of two lines that start shortly before their first difference."""
    if old is None or new is None:
        return _shown(old), _shown(new)
    pairs = enumerate(zip(old, new, strict=False))
    alike = next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))
    if alike < _SHOWN_MAX // 2:
        return _shown(old), _shown(new)
    begin = alike - _SHOWN_MAX // 4
    return f"…{_shown(old[begin:])}", f"…{_shown(new[begin:])}"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"


class TakePlan(Command, frozen=True):
    """Create the sprint from a plan, or update it to a newly compiled plan.

    If the sprint was not started, the new plan replaces the old plan. Otherwise, new nodes
    are injected at their positions in the definition; raise `RefusedError` with the
    differences if anything else differs.
    """

    plan: Data
    place: Place | None = None
    sources: tuple[Source, ...] = ()
    until: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        if not sprint.exists:
            created = CreateSprint(self.plan, self.place, self.sources, until=self.until)
            return created.decide(sprint, at)
        check_same_id(sprint, self.plan)
        document = prepare(self.plan, sprint_id=sprint.id)
        if has_begun(sprint):
            return _added(sprint, document, self.until, at)
        ended = condition_set(sprint, document, self.until)
        if not patch.diff(sprint.plan.derived_document(), document):
            return ended
        # The plan no longer determines the path of the state file.
        return [SprintCompiled(document, sprint.plan.place, self.sources), *ended]


def _added(sprint: Sprint, document: Data, until: str | None, at: str) -> list[Event]:
    """Return the injections of all new nodes; raise `RefusedError` for any other change."""
    if sprint.plan.last.goal is not None:
        # A goal that was set later is in no definition.
        document |= {key: sprint.plan.document[key] for key in ("mode", "goal", "ralph")}
    found = changes(sprint.plan.document, document)
    condition = sprint.knowledge.tracker.rules_at(sprint.version).loop.until
    if until not in (None, condition):
        found.differs("", _changed("until", condition, until))
    if found.differences:
        count = len(found.differences)
        raise RefusedError(
            f"sprint {sprint.id} has started and accepts only additions; "
            f"{'1 thing is' if count == 1 else f'{count} things are'} different",
            hint="revert these changes, or compile as another sprint with --id",
            sprint=sprint.id,
            command="compile",
            differences=found.differences,
        )
    events: list[Event] = []
    for addition in found.additions:
        command = injection.injection_of(addition.level, addition.nodes, addition.position)
        events += command.decide(sprint, at)
    return events


def has_begun(sprint: Sprint) -> bool:
    """Return whether anything was recorded that a new plan would discard."""
    document, tree = sprint.plan.document, sprint.plan.tree
    return (
        sprint.plan.status != words.NOT_STARTED
        or any(leaf.status != words.PENDING for leaf in tree.leaves)
        or any(node.data.get("injected") is True for node in tree.nodes.values())
        or any(document.get(key) for key in _RECORDED)
        or bool(sprint.plan.decisions)
        or bool(sprint.plan.last)
    )


_RECORDED = ("dynamic-steps", "hook-tasks", "operator-queue")
"""The lists of a plan that events fill."""
