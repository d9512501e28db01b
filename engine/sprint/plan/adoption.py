"""An edit that somebody made in the state file becomes events, as far as it can.

Statuses go through the commands that lead there and new nodes are injected, so the same
rules hold as for everybody. What no command says comes in as an imported patch, derived
fields not at all. What changed here since the edit stays as it is here.
"""

from collections.abc import Sequence
from copy import deepcopy

from ...command import Command, Commands, rule_of
from ...errors import RefusedError
from ...log.event import Event
from ..document.patch import apply, diff
from ..events import EditAdopted, EditObserved, InjectionPosition, SprintImported
from ..fold import fold_ahead
from ..gates.gate import check_gate, check_gates
from ..phases import leaves, lifecycle
from ..state import words
from ..state.sprint import Sprint, pack, unpack
from ..state.transitions import PHASE_FROM, PHASE_TO, SPRINT_FROM, SPRINT_TO
from ..state.tree import Data
from .create import patch_to
from .edit_changes import EditChange, EditChanges, changes_of, set_field
from .injection import injection_of
from .shape import check_shape

_ON_THE_WAY = {"start", "resume", "retry", "reopen"}
"""What may be done only to get on: nobody said that it failed or was skipped before."""


class AdoptEdit(Command, frozen=True):
    """Make events of an edit; `base` is the document that was edited.

    Raise `RefusedError` where nothing of it can become one, naming each reason.
    """

    edit: int
    observed: EditObserved
    base: Data
    by: str


def adopt_edit(sprint: Sprint, command: AdoptEdit, at: str) -> list[Event]:
    """Decide on `AdoptEdit`."""
    observed, base = command.observed, command.base
    if observed.changes is None:
        raise RefusedError(
            f"the edit of {observed.path} cannot be read: {observed.problem}",
            hint=f"their bytes are kept as edits/{observed.kept} in the log's folder",
            command="adopt",
        )
    try:
        theirs = apply(deepcopy(base), observed.changes)
    except (LookupError, TypeError, ValueError):
        theirs = None
    if not isinstance(theirs, dict):
        raise RefusedError(
            f"the recorded changes of {observed.path} do not fit the version they are of",
            command="adopt",
        )
    adopting = _Adopting(sprint, f"adopted from an edit of {observed.path}", command.by, at)
    found = changes_of(base, theirs, sprint.document)
    adopting.left += found.left
    adopting.take_fields(found, observed.path)
    for change in found.new:
        adopting.take_node(change)
    adopting.take_statuses(found)
    if not adopting.events and not adopting.left:
        return []
    if not adopting.events:
        raise RefusedError(
            f"nothing of the edit of {observed.path} can be adopted: "
            + "; ".join(adopting.left),
            hint="`sprintlog show event N` shows it; `import progress FILE` takes over "
            "a document",
            command="adopt",
        )
    adopted = EditAdopted(
        observed.path,
        command.edit,
        observed.digest,
        tuple(adopting.done),
        tuple(adopting.left),
    )
    return [*adopting.events, adopted]


class _Adopting:
    """An edit on its way into events, with the state that they lead to."""

    def __init__(self, sprint: Sprint, reason: str, by: str, at: str) -> None:
        self.events: list[Event] = []
        self.done: list[str] = []
        self.left: list[str] = []
        self._state = unpack(pack(sprint))
        self._reason, self._by, self._at = reason, by, at

    def take_fields(self, found: EditChanges, path: str) -> None:
        """Take what no command says, as a patch of our document."""
        ours = self._state.document
        wanted = deepcopy(ours)
        for change in found.fields:
            if (problem := _problem_of(change)) is not None:
                self.left.append(f"{change.path}: {problem}")
                continue
            set_field(wanted, change)
            self.done.append(change.path)
        if diff(ours, wanted):
            operations = patch_to(self._state, wanted)
            self._happen([SprintImported(f"edit of {path}", patch=operations)])

    def take_node(self, change: EditChange) -> None:
        """Inject a node that is new."""
        try:
            check_shape(change.value, level=change.level)
            check_gates([change.value], "nodes", level=change.level)
        except RefusedError as error:
            self.left.append(f"{change.path}: {error.message}")
            return
        spot = InjectionPosition(*change.spot)
        self._try(change.path, [injection_of(change.level, [change.value], spot)])

    def take_statuses(self, found: EditChanges) -> None:
        """Go to each status by the commands that lead there; what stops comes last."""
        whole = [c for c in found.statuses if not c.address]
        for change in [c for c in whole if c.value == words.IN_PROGRESS]:
            self._try(change.path, self._sprint_steps(change))
        for change in [c for c in found.statuses if c.address]:
            self._try(change.path, self._phase_steps(change))
        for change in [c for c in whole if c.value != words.IN_PROGRESS]:
            self._try(change.path, self._sprint_steps(change))
        for change in [c for c in whole if c.value == words.IN_PROGRESS]:
            # A leaf of the same edit may have stopped the sprint again, or ended it.
            while change.path in self.done and self._state.plan.status != change.value:
                self.done.remove(change.path)
                self._try(change.path, self._sprint_steps(change))

    def _phase_steps(self, change: EditChange) -> list[Command]:
        phase, why = change.address, self._reason
        error = change.node.get("error") or why
        commands: dict[str, Command] = {
            "start": leaves.StartPhase(phase),
            "complete": leaves.CompletePhase(phase, change.node.get("summary")),
            "skip": leaves.SkipPhase(phase, why),
            "block": leaves.BlockPhase(error, phase),
            "fail": leaves.FailPhase(error, phase=phase),
            "retry": leaves.RetryPhase(phase, why),
            "reopen": leaves.ReopenPhase(phase, why),
        }
        node = self._state.plan.tree.find(phase)
        way = _way(PHASE_FROM, PHASE_TO, node.status if node else "", change.value)
        return [commands[command] for command in way or ()]

    def _sprint_steps(self, change: EditChange) -> list[Command]:
        why = self._reason
        commands: dict[str, Command] = {
            "start": lifecycle.StartSprint(),
            "resume": lifecycle.ResumeSprint(self._by, why),
            "pause": lifecycle.PauseSprint(why),
            "block": lifecycle.BlockSprint(why),
            "interrupt": lifecycle.InterruptSprint(why),
            "complete": lifecycle.CompleteSprint(),
            "reopen": lifecycle.ReopenSprint(why),
        }
        way = _way(SPRINT_FROM, SPRINT_TO, self._state.plan.status, change.value)
        return [commands[command] for command in way or ()]

    def _try(self, path: str, steps: Sequence[Command]) -> None:
        """Do all steps or none; say why where one is refused."""
        if not steps:
            self.left.append(f"{path}: no command leads there")
            return
        before, events = pack(self._state), len(self.events)
        try:
            for step in steps:
                self._happen(rule_of(step)(self._state, step, self._at))
        except RefusedError as error:
            self._state = unpack(before)
            del self.events[events:]
            self.left.append(f"{path}: {error.message}")
            return
        self.done.append(path)

    def _happen(self, events: list[Event]) -> None:
        fold_ahead(self._state, events, self._at)
        self.events += events


def _problem_of(change: EditChange) -> str | None:
    """Return why a field cannot be that: what no other way into the plan would take."""
    *parents, field = change.key.split("\0")
    # What is taken away is missing, like in any plan.
    data: Data = {} if change.is_gone else {field: change.value}
    for parent in parents:
        data = {parent: data}
    try:
        check_shape(data, level=change.level)
        if field == "gate" and not change.is_gone and change.value is not None:
            check_gate(change.value, field)
    except RefusedError as error:
        return error.message
    return None


def _way(
    allowed: dict[str, tuple[str, ...]], leads: dict[str, str], start: str, end: str
) -> list[str] | None:
    """Return the fewest commands that lead from one status to another."""
    ways: list[tuple[str, list[str]]] = [(start, [])]
    seen: set[str] = set()
    for status, way in ways:
        if status == end:
            return way
        if way and way[-1] not in _ON_THE_WAY:
            continue
        for command, to in leads.items():
            if status in allowed[command] and (to == end or command in _ON_THE_WAY - seen):
                seen.add(command)
                ways.append((to, [*way, command]))
    return None


COMMANDS: Commands = {AdoptEdit: adopt_edit}
