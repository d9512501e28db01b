"""All known facts about a sprint at a point in the log, as returned by commands."""

from collections.abc import Callable, Mapping
from functools import cached_property
from shlex import quote
from typing import Any, ClassVar

from msgspec import UNSET
from msgspec.structs import replace

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.judging.changes import CLASS_MEANS
from sprintlog.engine.judging.loop_rules import CONTINUE, ROLLBACK
from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.agent_sessions.known_sessions import sessions
from sprintlog.engine.service.streams import catalogue, evaluation, points
from sprintlog.engine.sessions.names import session_stream
from sprintlog.engine.sprint.agent.actions import PERSON, Action
from sprintlog.engine.sprint.events.snapshots import left_words
from sprintlog.engine.sprint.iterations.budgets import run_again
from sprintlog.engine.sprint.iterations.rollback import iteration_end
from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.engine.sprint.phases.gate import attempts_of
from sprintlog.engine.sprint.state import completion, sprint, transitions
from sprintlog.engine.sprint.state.document_fields import goal_said, steps_of
from sprintlog.engine.sprint.state.tree import Node, gate_status

from ..history.blame import event_at
from ..history.decisions import Decision
from ..history.kept_decisions import decisions_at
from ..history.line_moments import Moments, moments_of
from ..text import decision_sentences, event_line
from ..text.outcome import has_measurements
from ..text.phrases import milliseconds
from ..text.stops import Told, standing, worked
from ..views import iterations as iteration_views
from ..views import work as work_views
from ..views.iteration_quality import equals_by_exit_code, files_said, pending_advice
from ..views.queue import RequestAnswer, request
from ..views.runs import what_is_next
from ..workspace import Workspace
from .course import Course
from .past import Changed, SprintPast

SESSIONS_MAX, SESSION_EVENTS_MAX = 200, 5_000
"""Only the newest sessions are read, and of each only its newest events."""


class SprintFacts:
    """A read-only view of all known facts about a sprint at a point in the log.

    Other streams are read up to the position of that point.
    """

    classes: ClassVar = CLASS_MEANS
    """What each class of an iteration means."""

    def __init__(
        self,
        workspace: Workspace,
        sprint_id: str,
        *,
        at: str | None = None,
        position: int | None = None,
        past: SprintPast | None = None,
    ) -> None:
        """Read a sprint as of a point in the log; by default, as of now, using the clock.

        Other streams are read up to `position`, by default the point's position. If `past`
        is given, it is extended, so that its events are not read again.
        """
        self.workspace = workspace
        self.at = at
        self._position = position
        self._past = past or SprintPast()
        self.sprint = workspace.sprint(sprint_id, at=at)
        transitions.check_exists(self.sprint)
        self.stream = catalogue.sprint_stream(self.sprint.id)

    @cached_property
    def named(self) -> str:
        """Return the `--sprint` option for commands, or "" if there is only one sprint."""
        if len(self.workspace.sprints()) < 2:
            return ""
        return f" --sprint {quote(self.sprint.id)}"

    @property
    def version(self) -> int:
        """Return the sprint's version."""
        return self.sprint.version

    def newest(self, count: int) -> list[RecordedEvent]:
        """Return up to `count` of the sprint's newest events."""
        after = max(self.version - count, 0)
        return [
            *self.workspace.log.read_stream(self.stream, after=after, until=self.version)
        ]

    @cached_property
    def last(self) -> RecordedEvent:
        """Return the newest event up to the point."""
        return self.event(self.version)

    def event(self, version: int) -> RecordedEvent:
        """Return the event at a version."""
        return event_at(self.workspace, self.sprint.id, version)

    @cached_property
    def past(self) -> SprintPast:
        """Return the events up to the point."""
        self._past.follow(self.workspace, self.sprint)
        return self._past

    @cached_property
    def position(self) -> int:
        """Return the position up to which the other streams are read."""
        if self._position is not None:
            return self._position
        if self.at is None:
            return self.workspace.log.head().position
        return self.last.position

    @cached_property
    def action(self) -> Action:
        """Return the next action."""
        return what_is_next(self.workspace, self.sprint, at=self.at)

    @cached_property
    def status(self) -> work_views.Status:
        """Return the sprint's status, as in `status --json`."""
        return work_views.status(self.workspace, self.sprint, self.action, at=self.at)

    def standing(self, when: Callable[..., str]) -> list[Told]:
        """Return labelled lines about the reason for a stop, or about the current work.

        `when` formats a recorded time.
        """
        judged = self.judged if has_measurements(self.sprint) else None
        return [*standing(self.sprint, self.status, self.action, when, judged)]

    @cached_property
    def judged(self) -> evaluation.Judged:
        """Return the judged iterations."""
        return evaluation.evaluate(self.workspace.log, self.sprint)

    @cached_property
    def keeps_files(self) -> bool:
        """Return whether snapshots are taken after iterations, or have ever been taken."""
        return self.judged.rules.loop.keeps_files or bool(self.sprint.knowledge.snapshots)

    @cached_property
    def iterations(self) -> iteration_views.IterationsAnswer:
        """Return all iterations as in `report --json`, plus any that have only started."""
        action = self.action
        stopped = action if action.do in work_views.STOPPED else None
        found = iteration_views.summary(self.workspace, self.judged, stopped)
        trees = work_views.work_trees(self.workspace, self.sprint)
        known, said = {x.iteration for x in found.iterations}, self.judged.summaries()
        begun = [
            iteration_views.blank(
                number,
                version=version,
                summary=said.get(number),
                work_tree=trees.get(number, UNSET),
            )
            for number, version in self.sprint.knowledge.iterations
            if number not in known
        ]
        if not begun:
            return found
        rows = sorted((*found.iterations, *begun), key=lambda x: x.iteration)
        return replace(found, iterations=rows)

    def iteration(self, number: int | None) -> iteration_views.JudgedIteration | None:
        """Return one iteration, or None if it is unknown."""
        rows = self.iterations.iterations
        return next((one for one in rows if one.iteration == number), None)

    @cached_property
    def baseline(self) -> iteration_views.JudgedIteration | None:
        """Return the measurement before the first iteration."""
        return self.iteration(BASELINE_NUMBER)

    @cached_property
    def numbered(self) -> list[iteration_views.JudgedIteration]:
        """Return the iterations without the baseline."""
        rows = self.iterations.iterations
        return [one for one in rows if one.iteration != BASELINE_NUMBER]

    @cached_property
    def advice(self) -> iteration_views.Advice | None:
        """Return the pending advice, or None if the advice is to continue."""
        pending = pending_advice(self.judged)
        is_open = pending is not None and pending.action != CONTINUE
        return self.iterations.recommendation if is_open else None

    @property
    def advised_target(self) -> int | None:
        """Return the iteration to which the pending advice recommends a rollback."""
        is_back = self.advice is not None and self.advice.action == ROLLBACK
        return self.advice.target_iteration if self.advice and is_back else None

    def has_snapshot(self, iteration: int) -> bool:
        """Return whether there is a snapshot of an iteration's files."""
        return has_snapshot(self.sprint, iteration)

    def failures(self, iteration: int) -> tuple[str, ...]:
        """Return the failures in an iteration, oldest first."""
        return self.past.story.failures.of(iteration)

    @cached_property
    def changed_files(self) -> dict[int, Changed]:
        """Return the changed files of each iteration for which snapshots exist."""
        return self.past.changed.of(self.workspace, self.sprint)

    @cached_property
    def rollback_target(self) -> int | None:
        """Return the iteration that a rollback to the best iteration would restore."""
        return self.judged.target() if self.judged.tracker.best is not None else None

    @cached_property
    def tampered(self) -> list[tuple[int, str]]:
        """Return the iterations that changed their measure, with the changed files."""
        changed = self.judged.tracker.changed
        return [(number, changed[number].words) for number in sorted(changed)]

    def hint_after_rollback(self, iteration: int) -> str:
        """Return the reason why the sprint would stop after a rollback to an iteration.

        A rollback changes only the plan. For example, it does not restore used budgets.
        """
        to = iteration_end(self.sprint.knowledge, iteration, version=self.version)
        then = self.workspace.sprint(self.sprint.id, at=f"version:{to}")
        there = sprint.Sprint(self.sprint.id)
        there.plan, there.knowledge = then.plan, self.sprint.knowledge
        there.version = self.version
        then_next = what_is_next(self.workspace, there, at=self.at)
        if then_next.do not in work_views.STOPPED:
            return ""
        return then_next.hint or then_next.why or ""

    @cached_property
    def need(self) -> str | None:
        """Return the details of the request that blocks the sprint until a person acts."""
        return self.action.details if self.action.because == PERSON else None

    @cached_property
    def run_command(self) -> str | None:
        """Return the command that restarts the last loop."""
        started = self.sprint.knowledge.loops.started
        return None if started is None else run_again(started)

    @cached_property
    def goal(self) -> str | None:
        """Return a loop's goal, preceded by its status."""
        said = goal_said(self.sprint.document) if self.sprint.plan.is_ralph else None
        return f"{completion.goal_standing(self.sprint.plan)}: {said}" if said else None

    @cached_property
    def goal_steps(self) -> dict[str, Mapping[str, Any]]:
        """Return the steps towards a loop's goal, by name."""
        plan = self.sprint.plan
        return {**steps_of(plan.document)} if plan.is_ralph else {}

    @staticmethod
    def gate(node: Node) -> tuple[str | None, int]:
        """Return the status of a phase's gate, and the number of attempts."""
        return gate_status(node.data), attempts_of(node)

    @cached_property
    def equals(self) -> str:
        """Return a note if other iterations tie with the best one on exit codes alone."""
        return equals_by_exit_code(self.judged)

    @cached_property
    def files_origin(self) -> str | None:
        """Return a note about the origin of the work tree's files, if it is unexpected."""
        return files_said(self.judged)

    @cached_property
    def worked(self) -> str | None:
        """Return the duration from the start to the end of work as `HH:MM:SS`."""
        return worked(self.status)

    @cached_property
    def left_out(self) -> str | None:
        """Return a description of the files that the snapshots omit."""
        left = self.status.left_out
        return left_words(left.paths, left.count) if left else None

    def course(self, **most: int) -> Course:
        """Return the timeline; `most` limits the number of entries per kind."""
        told = {one.iteration: one for one in self.iterations.iterations}
        return self.past.story.course(told, **most)

    def event_lines(self, count: int) -> list[tuple[RecordedEvent, str, bool]]:
        """Return the newest events, each with a line of text and a flag if it is quiet."""
        return [
            (one, event_line.what(one), kind is not None and kind.is_quiet)
            for one in self.newest(count)
            for kind in [catalogue.CODEC.events.get(one.type)]
        ]

    @cached_property
    def decisions(self) -> list[Decision]:
        """Return the decisions, as in `audit --json`."""
        return decisions_at(self.workspace, self.sprint.id, self.version)

    def decision_words(self, decision: Decision) -> decision_sentences.DecisionWords:
        """Return a decision as a sentence, with its reason."""
        return decision_sentences.decided(self.event(decision.version), decision.evidence)

    @cached_property
    def queue(self) -> list[RequestAnswer]:
        """Return the requests, as in `queue list --json`."""
        entries = self.sprint.queue
        known = (x for x in entries if isinstance(x, dict) and isinstance(x.get("id"), str))
        return [request(self.sprint, entry) for entry in known]

    @cached_property
    def journal(self) -> JournalDocument | None:
        """Return the journal as of the point, or None if there is none."""
        try:
            found = self.workspace.document(at=f"position:{self.position}")
        except NotFoundError:
            # The journal is newer than the point.
            return None
        return found if found.version else None

    @cached_property
    def session_events(self) -> list[tuple[int, RecordedEvent]]:
        """Return the newest events of the newest sessions that worked on this sprint.

        Each has its time in milliseconds since 1970, by which they are sorted.
        """
        log, streams = self.workspace.log, list[tuple[int, str, int]]()
        for name in sessions(log):
            agent, _, identity = name.partition("-")
            stream = session_stream(agent, identity)
            until = points.last_version(log, stream, position=self.position)
            first = next(iter(log.read_stream(stream, until=1)), None)
            if until and first is not None and first.correlation_id in self.past.works:
                streams.append((first.position, stream, until))
        found = [
            (at, recorded)
            for _, stream, until in sorted(streams)[-SESSIONS_MAX:]
            for recorded in log.read_stream(
                stream, after=max(until - SESSION_EVENTS_MAX, 0), until=until
            )
            if (at := milliseconds(recorded.at)) is not None
        ]
        return sorted(found, key=lambda one: (one[0], one[1].position))

    @cached_property
    def moments(self) -> Moments:
        """Return the work tree's contents, snapshot by snapshot."""
        return moments_of(self.workspace)


def sprint_facts(
    workspace: Workspace, sprint_id: str, *, at: str | None = None
) -> SprintFacts:
    """Return the facts about a sprint as of a point, by default its newest version.

    The facts depend only on the log, not on the clock.
    """
    version = workspace.sprint(sprint_id, at=at).version
    position = workspace.log.head().position if at is None else None
    return SprintFacts(workspace, sprint_id, at=f"version:{version}", position=position)
