"""Rollbacks, undo and redo, and the version at which an iteration ends."""

from bisect import bisect_right

from ...command import Command, Events
from ...errors import NotFoundError, RefusedError
from ...judging.loop_rules import ROLLBACK, UNMEASURED
from ...log.event import Event, Takers
from ..events import RolledBack
from ..state.effective_history import effective_ranges, is_effective
from ..state.sprint import Knowledge, Sprint
from ..state.transitions import check_exists


def iteration_end(knowledge: Knowledge, number: int, *, version: int) -> int:
    """Return the last version of an iteration, as seen from `version`.

    An iteration ends at the start of the next iteration or at a rollback; iteration 0
    precedes the first iteration. Raise `NotFoundError` if the iteration was never started.
    """
    started = [(n, at) for n, at in knowledge.iterations if at <= version]
    begin = number and next((at for n, at in started if n == number), 0)
    if number and not begin:
        known = ", ".join(str(n) for n, _ in started[-5:]) or "none"
        raise NotFoundError(
            f"iteration {number} was never started; started: {known}", iteration=number
        )
    ends = [at for _, at in started if at > begin]
    ends += [at for at, _ in knowledge.rollbacks if begin < at <= version]
    return min(ends) - 1 if ends else version


def iteration_ends(knowledge: Knowledge, *, version: int) -> dict[int, int]:
    """Return the last version of each iteration, as `iteration_end` does."""
    started = [(n, at) for n, at in knowledge.iterations if at <= version]
    breaks = sorted(
        [at for _, at in started] + [at for at, _ in knowledge.rollbacks if at <= version]
    )
    after = [*breaks, version + 1]
    return {n: after[bisect_right(breaks, at)] - 1 for n, at in started}


class RollBack(Command, frozen=True):
    """Roll back to the state at an earlier version of this stream."""

    needs_context = True

    to: int
    reason: str | None = None
    is_inside_append: bool = False
    """Whether the target is inside an append; set by the command's handler."""
    is_there: bool = False
    """Whether only knowledge was recorded after the target; set by the handler."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        to = self.to
        # Repeating the rollback that the newest event recorded changes nothing either.
        if to == sprint.version or (sprint.version, to) in sprint.knowledge.rollbacks[-1:]:
            return []
        if not 1 <= to < sprint.version:
            raise RefusedError(
                f"cannot roll back to version {to}: allowed versions are 1 to "
                f"{sprint.version - 1}",
                command="rollback",
                field="to",
            )
        if self.is_inside_append:
            raise RefusedError(
                f"cannot roll back to version {to}: it is inside an atomic append",
                hint="run `sprintlog log` and choose the version before or after that "
                "append",
                command="rollback",
                field="to",
            )
        return [] if self.is_there else [RolledBack(to, self.reason)]


class Undo(Command, frozen=True):
    """Undo the latest effective change: a rollback, a decision, an edit or a block."""

    needs_context = True

    reason: str | None = None
    first: int = 0
    """The first version of the latest decision's append; set by the handler."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        target = max(rollback_to_undo(sprint) or 0, self.first)
        if not 1 < target <= sprint.version:
            raise RefusedError(
                f"sprint {sprint.id} has nothing to undo: no rollback, no "
                "decision and no stop",
                hint="run `sprintlog log` to list the points that `sprintlog rollback TO` "
                "accepts",
                command="undo",
            )
        return [RolledBack(target - 1, self.reason, undoes=target)]


def rollback_to_undo(sprint: Sprint) -> int | None:
    """Return the version of the rollback that an undo would undo, or None."""
    knowledge = sprint.knowledge
    stretches = effective_ranges(knowledge.rollbacks, sprint.version)
    left = (at for at, _ in reversed(knowledge.rollbacks) if at not in knowledge.undone)
    return next((at for at in left if is_effective(stretches, at)), None)


class Redo(Command, frozen=True):
    """Reverse the latest effective undo by restoring the state just before it."""

    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        if (undo := undo_to_redo(sprint)) is None:
            raise RefusedError(
                f"sprint {sprint.id} has no undo to revert",
                hint="run `sprintlog log --type rolled-back` to list the rollbacks",
                command="redo",
            )
        return [RolledBack(undo - 1, self.reason, undoes=undo)]


def undo_to_redo(sprint: Sprint) -> int | None:
    """Return the version of the undo that a redo would reverse, or None."""
    stretches = effective_ranges(sprint.knowledge.rollbacks, sprint.version)
    undos = sorted(sprint.knowledge.undid, reverse=True)
    return next((at for at in undos if is_effective(stretches, at)), None)


def record_rollback(knowledge: Knowledge, event: RolledBack, version: int) -> None:
    """Record a rollback; an undo cannot be undone, only reversed by a redo.

    After a redo, the rollback can be undone again.
    """
    knowledge.rollbacks.append((version, event.to))
    knowledge.tracker.unchanged = 0
    if event.undoes is None:
        _record_advised(knowledge, version)
        return
    if event.undoes in knowledge.undid:
        again = knowledge.undid.pop(event.undoes)
        knowledge.undone = [*(at for at in knowledge.undone if at != again), version]
    else:
        knowledge.undid[version] = event.undoes
        knowledge.undone += [event.undoes, version]


def _record_advised(knowledge: Knowledge, version: int) -> None:
    """Record that a rollback followed the current advice, unless one already did."""
    tracker = knowledge.tracker
    tracker.unmeasured = 0
    advice, last = tracker.recommended, knowledge.gone_back[-1:]
    if advice is None or any(at > tracker.recommended_at for at, _ in last):
        return
    if advice.action == ROLLBACK or advice.cause == UNMEASURED:
        knowledge.gone_back.append((version, advice.number))


LEARN: Takers = {RolledBack: record_rollback}


CAUSED: Events = {RolledBack: RollBack}
