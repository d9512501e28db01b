"""What the page tells, gathered: the same answers that the commands give as JSON.

Everything is as of one point of the log, and no clock is read where a point is given.
"""

from functools import cached_property
from shlex import quote
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.agent_sessions.known_sessions import sessions, summary
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.service.streams.points import last_version
from sprintlog.engine.sessions.names import session_stream
from sprintlog.engine.sessions.summary import Summary
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.iterations.rollback import iteration_end
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists

from ..history.blame import event_at
from ..history.decisions import Decision
from ..history.kept_decisions import decisions_at
from ..text.stops import Told, standing
from ..views import iterations as iteration_views
from ..views import work as work_views
from ..views.queue import RequestAnswer, request
from ..views.runs import what_is_next
from ..workspace import Workspace
from .changed_files import Changed
from .numbers import clock_of
from .past import PagePast

ITERATIONS_MAX, VERSIONS_MAX = 60, 2_000
"""A sprint with more of them is a long one."""


class PageLimits(NamedTuple):
    """How many of each are told, the newest of them."""

    iterations: int
    """In the table, the plots and the timeline."""
    bars: int
    """Work on phases in the timeline; iterations have bars of their own."""
    signs: int
    """Gates, retries and so on; as many waits."""
    listed: int
    """Lines of the timeline in words."""
    nodes: int
    """Parts of the plan."""
    prompt_chars: int
    decisions: int
    events: int
    data: int
    """Events that have their data, too."""
    lines: int
    """Lines of the state file; the script has all of them."""
    line_chars: int
    history_bytes: int
    """The state file at its versions, as the script reads it."""
    remark_chars: int


USUAL = PageLimits(200, 300, 300, 60, 400, 140, 80, 200, 60, 400, 400, 90_000, 300)
LONG = PageLimits(200, 50, 30, 30, 60, 60, 30, 50, 15, 80, 120, 36_000, 70)


def limits_of(sprint: Sprint) -> PageLimits:
    """Return how much is told of a sprint."""
    is_long = len(sprint.knowledge.iterations) > ITERATIONS_MAX
    return LONG if is_long or sprint.version > VERSIONS_MAX else USUAL


SESSIONS_MAX = 40
"""Of more sessions only the newest are told."""


class Facts:
    """A sprint at a point of the log, with everything that the page says of it."""

    def __init__(
        self,
        workspace: Workspace,
        sprint_id: str,
        *,
        at: str | None = None,
        position: int | None = None,
        past: PagePast | None = None,
    ) -> None:
        """Gather what is known at a point; without one as it is now, by the clock.

        Other streams are read up to a position; without one up to that of the point. A
        past that is known already is carried on.
        """
        self.workspace = workspace
        self.at = at
        self._position = position
        self._past = past or PagePast()
        self.sprint = workspace.sprint(sprint_id, at=at)
        check_exists(self.sprint)
        self.stream = sprint_stream(self.sprint.id)

    @cached_property
    def named(self) -> str:
        """Return what names the sprint on a command line, where there are several."""
        if len(self.workspace.sprints()) < 2:
            return ""
        return f" --sprint {quote(self.sprint.id)}"

    @cached_property
    def limits(self) -> PageLimits:
        """Return how much of each part is told."""
        return limits_of(self.sprint)

    @property
    def version(self) -> int:
        """Return the version of the sprint."""
        return self.sprint.version

    def newest(self, count: int) -> list[RecordedEvent]:
        """Return so many of the sprint's newest events."""
        after = max(self.version - count, 0)
        return [
            *self.workspace.log.read_stream(self.stream, after=after, until=self.version)
        ]

    @cached_property
    def last(self) -> RecordedEvent:
        """Return the event that the point is."""
        return self.event(self.version)

    def event(self, version: int) -> RecordedEvent:
        """Return the event of a version."""
        return event_at(self.workspace, self.sprint.id, version)

    @cached_property
    def past(self) -> PagePast:
        """Return what is told of the events up to the point."""
        self._past.follow(self.workspace, self.sprint)
        return self._past

    @cached_property
    def position(self) -> int:
        """Return up to where in the log the other streams are read."""
        if self._position is not None:
            return self._position
        if self.at is None:
            return self.workspace.log.head().position
        return self.last.position

    @cached_property
    def action(self) -> Action:
        """Return what is to be done next."""
        return what_is_next(self.workspace, self.sprint, at=self.at)

    @cached_property
    def status(self) -> work_views.Status:
        """Return where the sprint stands, as `status --json` answers it."""
        return work_views.status(self.workspace, self.sprint, self.action, at=self.at)

    @cached_property
    def standing(self) -> list[Told]:
        """Return what it is doing; or why it stopped, since when, and what leads on."""
        return [*standing(self.sprint, self.status, self.action, _as_it_is)]

    @cached_property
    def judged(self) -> Judged:
        """Return the iterations as they are judged."""
        return evaluate(self.workspace.log, self.sprint)

    @cached_property
    def keeps_files(self) -> bool:
        """Tell whether files are kept at the end of each iteration, or ever were."""
        return self.judged.rules.loop.keeps_files or bool(self.sprint.knowledge.snapshots)

    @cached_property
    def iterations(self) -> iteration_views.IterationsAnswer:
        """Return all iterations, as `report --json` answers them, and those only begun."""
        action = self.action
        stopped = action if action.do in work_views.STOPPED else None
        found = iteration_views.summary(self.workspace, self.judged, stopped)
        trees = work_views.work_trees(self.workspace, self.sprint)
        known, said = {x.iteration for x in found.iterations}, self.judged.summaries()
        begun = [
            iteration_views.JudgedIteration(
                iteration=number,
                version=version,
                classification=None,
                score=None,
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
        """Return one iteration; None where nothing is known of it."""
        rows = self.iterations.iterations
        return next((one for one in rows if one.iteration == number), None)

    @cached_property
    def changed_files(self) -> dict[int, Changed]:
        """Return by iteration which files changed in it, as far as they were kept."""
        return self.past.changed.of(self.workspace, self.sprint)

    @cached_property
    def rollback_target(self) -> int | None:
        """Return the iteration that a rollback to the best goes to."""
        return self.judged.target() if self.judged.tracker.best is not None else None

    def after_rollback(self, iteration: int) -> Action:
        """Return what there would be to do after going back to an iteration's end.

        Going back changes the plan alone: what was spent stays spent, and so on.
        """
        to = iteration_end(self.sprint.knowledge, iteration, version=self.version)
        then = self.workspace.sprint(self.sprint.id, at=f"version:{to}")
        there = Sprint(self.sprint.id)
        there.plan, there.knowledge = then.plan, self.sprint.knowledge
        there.version = self.version
        return what_is_next(self.workspace, there, at=self.at)

    @cached_property
    def decisions(self) -> list[Decision]:
        """Return the decisions, as `audit --json` answers them."""
        return decisions_at(self.workspace, self.sprint.id, self.version)

    @cached_property
    def queue(self) -> list[RequestAnswer]:
        """Return the requests, as `queue list --json` answers them."""
        entries = self.sprint.queue
        known = (x for x in entries if isinstance(x, dict) and isinstance(x.get("id"), str))
        return [request(self.sprint, entry) for entry in known]

    @cached_property
    def journal(self) -> JournalDocument | None:
        """Return the journal up to the point; None where there is none."""
        try:
            found = self.workspace.document(at=f"position:{self.position}")
        except NotFoundError:
            # It was opened later.
            return None
        return found if found.version else None

    @cached_property
    def sessions(self) -> list[tuple[str, Summary]]:
        """Return the sessions that worked on this sprint, the newest last."""
        works = self.past.works
        log = self.workspace.log
        found = []
        for name in sessions(log):
            agent, _, identity = name.partition("-")
            stream = session_stream(agent, identity)
            until = last_version(log, stream, position=self.position)
            first = next(iter(log.read_stream(stream, until=1)), None)
            if until and first is not None and first.correlation_id in works:
                found.append((first.position, name, stream, until))
        newest = sorted(found)[-SESSIONS_MAX:]
        return [
            (name, summary(log, stream, until=until)) for _, name, stream, until in newest
        ]


def _as_it_is(text: object, *, is_relative: bool = False) -> str:
    """Return a time as it is told on a page: in UTC, to the second."""
    return clock_of(str(text))
