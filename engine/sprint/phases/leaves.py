"""The commands on a leaf: a phase, step or sub-phase without children.

Skip, retry and reopen also accept a parent, and then apply to all suitable leaves below it.
"""

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event
from .. import events as f
from ..state import completion, transitions, words
from ..state.sprint import Sprint
from ..state.tree import Node, gate_is_open
from . import gate, retry


class StartPhase(Command, frozen=True):
    """Start work on a leaf."""

    phase: str | None = None
    model: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_word("model", self.model, words.MODELS)
        leaf = transitions.find_leaf(sprint, self.phase)
        event = f.PhaseStarted(leaf.address, self.model)
        return _once(sprint, leaf, "start", event)


class CompletePhase(Command, frozen=True):
    """Complete a leaf; after a phase with `break: true`, the sprint pauses.

    If the sprint was stopped during the work, the work is recorded as done, and the leaf
    ends when the sprint resumes. A parent is completed when its children are; for a
    completed parent, this command sets the summary.
    """

    phase: str | None = None
    summary: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        summary = self.summary
        node = transitions.find_node(sprint, self.phase)
        if node.children and node.status == words.COMPLETED:
            return _sum_up(sprint, node, summary)
        leaf = node if node.leaf >= 0 else transitions.find_leaf(sprint, self.phase)
        done = completion.done_work(sprint.plan, leaf.address)
        if summary is None and done is not None:
            summary = done.summary
        event = f.PhaseCompleted(leaf.address, summary)
        if _is_again(sprint, leaf, event, "complete"):
            return []
        if sprint.plan.status in words.STOPPED and leaf.status == words.IN_PROGRESS:
            return EndWork(phase=leaf.address, summary=summary).decide(sprint, at)
        transitions.check_running(sprint, f"complete phase {leaf.address}")
        # A phase without steps is completed without being started.
        if not (leaf.is_empty and leaf.status == words.PENDING):
            transitions.check_phase(leaf, "complete")
        if gate_is_open(leaf.data):
            raise RefusedError(
                f"cannot complete phase {leaf.address}: its gate has not passed",
                hint=f"run `sprintlog gate run --phase {leaf.address}` first",
                phase=leaf.address,
                state=leaf.status,
                command="complete",
            )
        return [event, *completion.breakpoint_after(leaf, words.COMPLETED)]


def _sum_up(sprint: Sprint, node: Node, summary: str | None) -> list[Event]:
    """Return the event that sets a completed parent's summary, if the summary is new."""
    known = node.data.get("summary")
    if summary in (None, known):
        return []
    transitions.check_open(sprint, f"sum up phase {node.address}")
    if known is not None:
        raise RefusedError(
            f"phase {node.address} is already completed with a different summary",
            phase=node.address,
            state=node.status,
            command="complete",
        )
    return [f.PhaseCompleted(node.address, summary)]


class EndWork(Command, frozen=True):
    """Record that the work on a leaf is done although the leaf cannot end yet.

    The leaf ends after its gate has passed or the sprint has resumed.
    """

    phase: str | None = None
    summary: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        leaf = transitions.find_leaf(sprint, self.phase)
        event = f.WorkDone(leaf.address, self.summary)
        if completion.done_work(sprint.plan, leaf.address) == event:
            return []
        transitions.check_phase(leaf, "complete")
        return [event]


class SkipPhase(Command, frozen=True):
    """Skip a leaf, or all unfinished leaves of a step or a phase."""

    phase: str | None = None
    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        node = transitions.find_node(sprint, self.phase)
        skipped = _for_leaves(sprint, node, "skip", f.PhaseSkipped, self.reason)
        return [*skipped, *(completion.breakpoint_after_skipping(node) if skipped else [])]


class FailPhase(Command, frozen=True):
    """Record that the work on a leaf failed.

    Either the retry policy schedules another attempt, or the sprint is blocked.
    """

    error: str
    category: str = "logic"
    phase: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_word("category", self.category, words.FAILURE_CATEGORIES)
        leaf = transitions.find_leaf(sprint, self.phase)
        event = f.PhaseFailed(leaf.address, self.error, self.category)
        tried = retry.retries_used(sprint.plan, leaf)
        due = retry.next_retry_at(
            sprint.plan.document, tried=tried, category=self.category, at=at
        )
        then: Event = f.SprintBlocked(f"phase {leaf.address} failed: {self.error}")
        if due is not None:
            then = f.RetryScheduled(leaf.address, due)
        return _once(sprint, leaf, "fail", event, then)


class BlockPhase(Command, frozen=True):
    """Block a leaf and the sprint."""

    reason: str
    phase: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        leaf = transitions.find_leaf(sprint, self.phase)
        event = f.PhaseBlocked(leaf.address, self.reason)
        why = f"phase {leaf.address} is blocked: {self.reason}"
        return _once(sprint, leaf, "block", event, f.SprintBlocked(why))


class RetryPhase(Command, frozen=True):
    """Retry a failed or blocked leaf, or all such leaves of a step or a phase."""

    phase: str | None = None
    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        node = transitions.find_node(sprint, self.phase)
        return _for_leaves(sprint, node, "retry", f.PhaseRetried, self.reason)


class ReopenPhase(Command, frozen=True):
    """Reopen a finished leaf, or all finished leaves of a step or a phase."""

    phase: str
    reason: str | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        node = transitions.find_node(sprint, self.phase)
        return _for_leaves(sprint, node, "reopen", f.PhaseReopened, self.reason)


def _for_leaves(
    sprint: Sprint,
    node: Node,
    verb: str,
    kind: type[f.PhaseSkipped | f.PhaseRetried | f.PhaseReopened],
    reason: str | None,
) -> list[Event]:
    """Return an event for each suitable leaf at or below a node; empty for a repetition.

    Raise `RefusedError` if no leaf is suitable.
    """
    leaves = list(node.leaves())
    fitting = [leaf for leaf in leaves if leaf.status in transitions.PHASE_FROM[verb]]
    again = (_is_again(sprint, leaf, kind(leaf.address, reason), verb) for leaf in leaves)
    if any(again) and (node.leaf >= 0 or not fitting):
        return []
    transitions.check_running(sprint, f"{verb} phase {node.address}")
    if not fitting:
        if node.leaf >= 0:
            transitions.check_phase(node, verb)
        raise RefusedError(
            f"phase {node.address} is {node.status}: there is nothing below it to {verb}",
            hint=f"run `sprintlog gate run --phase {node.address}`"
            if gate.is_due(node)
            else None,
            phase=node.address,
            state=node.status,
            command=verb,
        )
    return [kind(leaf.address, reason) for leaf in fitting]


def check_word(name: str, word: str | None, allowed: tuple[str, ...]) -> None:
    """Raise `RefusedError` unless the value is allowed or None."""
    if word is not None and word not in allowed:
        raise RefusedError(
            f"{name} {word[:40]!r} is unknown; allowed: {', '.join(allowed)}",
            allowed=list(allowed),
        )


def _once(sprint: Sprint, leaf: Node, verb: str, event: Event, *more: Event) -> list[Event]:
    """Return the events if the command is allowed; nothing if it is repeated."""
    if _is_again(sprint, leaf, event, verb):
        return []
    transitions.check_running(sprint, f"{verb} phase {leaf.address}")
    transitions.check_phase(leaf, verb)
    return [event, *more]


def _is_again(sprint: Sprint, leaf: Node, event: Event, verb: str) -> bool:
    """Return whether a command repeats the last command with the same content (SPR-042)."""
    return (
        leaf.status == transitions.PHASE_TO[verb]
        and sprint.plan.last.nodes.of(leaf.address) == event
    )


CAUSED: Events = {
    f.PhaseStarted: StartPhase,
    f.PhaseCompleted: CompletePhase,
    f.WorkDone: EndWork,
    f.PhaseSkipped: SkipPhase,
    f.PhaseFailed: FailPhase,
    f.PhaseBlocked: BlockPhase,
    f.PhaseRetried: RetryPhase,
    f.PhaseReopened: ReopenPhase,
}
