"""Everything recorded about one iteration: prompt, answer, figures, tests, files, calls."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from operator import attrgetter, itemgetter
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from sprintlog.engine.adapters.reports.report import Report
from sprintlog.engine.adapters.reports.xml_suites import junit_states
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.judging import events as judging
from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.agent_sessions.known_sessions import event_of
from sprintlog.engine.service.prompts import with_prompt
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.work_tree.kept_reports import content_of
from sprintlog.engine.sessions import events as s
from sprintlog.engine.sprint import events as f

from ..history.authors import OUT, ROLLBACK, IterationFiles, files_of
from ..history.decisions import Decision
from ..text.phrases import milliseconds
from ..views.iterations import JudgedIteration
from ..views.runs import what_is_next
from .sprint_facts import SprintFacts

EVENTS_MAX = 2_000
"""The maximum number of a sprint's events that are read for an iteration."""
AHEAD_MS = 2_000
"""A hook may record a prompt this long before the iteration that it starts."""
REBUILT_MAX = 4
"""The number of versions before a run at which its prompt is rebuilt."""
_QUOTED = re.compile(r'"(?P<name>(?:[^"\\]|\\.)*)"$', re.ASCII)
_START = "diff --git "
_ONLY_PLAN = "only the plan; its files were not saved"


Measured = judging.IterationMeasured | judging.MeasurementFailed | judging.BaselineCaptured


class IterationText(NamedTuple):
    """A text and its origin."""

    text: str
    origin: str
    """The source of the text, and whether it is complete."""


class TestChange(NamedTuple):
    """A test whose outcome differs from the previous iteration; None: did not exist."""

    name: str
    before: str | None
    after: str | None


class PatchedFile(NamedTuple):
    """A changed file with its author, and the changed lines if they are known."""

    path: str
    how: str
    by: str
    lines: Sequence[str] = ()
    """The hunks of the patch, without the file's header."""
    counts: tuple[int, int] | None = None
    """The numbers of added and removed lines, if they are known."""


class SessionStep(NamedTuple):
    """An event of an agent's session during an iteration."""

    at: int
    """The time at which it ended, in milliseconds since the iteration's start."""
    event: s.SessionEvent


class IterationDetails:
    """The iterations of a sprint in detail, each made once."""

    def __init__(self, facts: SprintFacts) -> None:
        self.facts = facts
        self._known: dict[int, IterationFacts] = {}
        self._rows = {row.iteration: row for row in facts.iterations.iterations}
        self.starts = dict(facts.sprint.knowledge.iterations)
        """The version at which each iteration started."""
        self.versions = sorted(self.starts.values())

    def of(self, number: int | None) -> "IterationFacts | None":
        """Return an iteration, or None if the number is unknown."""
        if number is None or (row := self._rows.get(number)) is None:
            return None
        return self._known.setdefault(number, IterationFacts(self, row))


class IterationFacts:
    """A read-only view of one iteration; each part is read when it is first used."""

    def __init__(self, details: IterationDetails, row: JudgedIteration) -> None:
        self._details, self.facts = details, details.facts
        self.row, self.number = row, row.iteration

    @cached_property
    def _versions(self) -> tuple[int, int]:
        """Return the version before the iteration's start, and its last version."""
        versions = self._details.versions
        begun = self._details.starts.get(self.number, 0)
        later = versions[bisect_right(versions, begun) :][:1]
        until = later[0] - 1 if later else self.facts.version if begun else 0
        return max(begun - 1, 0), until

    @cached_property
    def events(self) -> list[tuple[RecordedEvent, Event]]:
        """Return the sprint's events from its start up to the next iteration's start."""
        after, until = self._versions
        read = self.facts.workspace.log.read_stream(
            self.facts.stream, after=after, until=min(until, after + EVENTS_MAX)
        )
        return [(x, CODEC.decode(x)) for x in read if x.payload is not None]

    @cached_property
    def period(self) -> tuple[str | None, str | None]:
        """Return the times of its first event and of its end, if they are known."""
        times = [recorded.at for recorded, _ in self.events]
        ends = [x.at for x, event in self.events if isinstance(event, f.IterationEnded)]
        return next(iter(times), None), next(iter([*reversed(ends or times)]), None)

    @cached_property
    def runs(self) -> list[tuple[int, f.AgentRan]]:
        """Return the agent's runs, each with its version."""
        return [(x.version, e) for x, e in self.events if isinstance(e, f.AgentRan)]

    @cached_property
    def prompt(self) -> IterationText | None:
        """Return the prompt as recorded, or as rebuilt from the log."""
        given = [x.event for x in self.steps if isinstance(x.event, s.PromptGiven)]
        for event in given:
            if event.text and not event.text.startswith(s.REFUSED):
                is_cut = event.chars is not None and event.chars > len(event.text)
                return IterationText(event.text, "recorded" + ", shortened" * is_cut)
        return self._rebuilt()

    def _rebuilt(self) -> IterationText | None:
        """Return the prompt of its first run, if the log still determines it."""
        workspace, sprint = self.facts.workspace, self.facts.sprint
        for version, ran in self.runs[:1]:
            before = version if ran.prompt_sha256 else 0
            for number in range(before - 1, max(before - 1 - REBUILT_MAX, 0), -1):
                at = f"version:{number}"
                with suppress(SprintlogError):
                    then = workspace.sprint(sprint.id, at=at)
                    action = what_is_next(workspace, then, at=at)
                    said = with_prompt(workspace, then, action, now=False).prompt or ""
                    if sha256(said.encode()).hexdigest() == ran.prompt_sha256:
                        return IterationText(said, "rebuilt; equals its digest")
            node = sprint.plan.tree.find(ran.phase) if ran.phase else None
            if node is not None and node.data.get("prompt"):
                return IterationText(str(node.data["prompt"]), "the task in the plan")
        return None

    @cached_property
    def answer(self) -> IterationText | None:
        """Return the agent's final text, as recorded or as found in its output."""
        for step in reversed(self.steps):
            if isinstance(step.event, s.TurnEnded) and step.event.text:
                return IterationText(step.event.text, "recorded")
        for _, ran in reversed(self.runs):
            if ran.output:
                # Imported here: only the views of iterations decode agents' output.
                from sprintlog.engine.adapters.agents.output import read_answer

                said = read_answer(ran.output.encode()).text or ran.output
                is_cut = ran.output_bytes > len(ran.output.encode())
                return IterationText(said, "from the output" + ", shortened" * is_cut)
        return None

    @property
    def _sessions(self) -> set[str]:
        """Return the ids of the agents' sessions, if the runs name any."""
        turn = self.row.turn or None
        named = {turn.session.partition("-")[2]} if turn else set()
        return named.union(*(ran.sessions for _, ran in self.runs))

    @cached_property
    def steps(self) -> list[SessionStep]:
        """Return the events of the agents' sessions during the iteration, in order."""
        begin, end = (milliseconds(x) if x else None for x in self.period)
        if begin is None or end is None or self.number == BASELINE_NUMBER:
            return []
        found, own, events = [], self._sessions, self.facts.session_events
        first = bisect_left(events, begin - AHEAD_MS, key=itemgetter(0))
        until = bisect_right(events, end + AHEAD_MS, key=itemgetter(0))
        for at, recorded in events[first:until]:
            if not own or recorded.stream.partition("-")[2] in own:
                event = event_of(recorded)
                is_early = at < begin and not isinstance(event, s.PromptGiven)
                if event is not None and not is_early:
                    found.append(SessionStep(at - begin, event))
        return found

    @cached_property
    def measured(self) -> "Measured | None":
        """Return its measurement, also a failed one."""
        if isinstance(self.row.version, int):
            recorded = self.facts.event(self.row.version)
            event = CODEC.decode(recorded) if recorded.payload is not None else None
            if isinstance(event, Measured):
                return event
        return None

    @cached_property
    def tests(self) -> dict[str, str]:
        """Return the outcome of each test by name, from the copies of its JUnit reports."""
        found: dict[str, str] = {}
        for kept in self.measured.reports if self.measured else ():
            content = content_of(self.facts.workspace, kept)
            if content is not None:
                found |= junit_states(Report(kept.file, content, Path()))
        return found

    @cached_property
    def previous(self) -> "IterationFacts | None":
        """Return the iteration on which this one was built."""
        number = self.row.previous
        return self._details.of(number) if isinstance(number, int) else None

    @cached_property
    def test_changes(self) -> list[TestChange]:
        """Return the tests whose outcome changed since the previous iteration, by name."""
        before = self.previous.tests if self.previous else {}
        after = self.tests
        if not before or not after:
            return []
        names = sorted(before.keys() | after.keys())
        found = [TestChange(x, before.get(x), after.get(x)) for x in names]
        changed = [x for x in found if x.before != x.after]
        return sorted(changed, key=lambda x: (x.after != "failed", x.name))

    @cached_property
    def files(self) -> IterationFiles | None:
        """Return the changed files with the patch; None if they were not saved."""
        facts = self.facts
        if not facts.sprint.knowledge.snapshots:
            return None
        asked, moments = (facts.workspace, facts.sprint, self.number), facts.moments
        # Git may be missing, and a snapshot may be pruned or was never taken.
        with suppress(SprintlogError):
            return files_of(*asked, with_patch=True, moments=moments)
        return None

    @cached_property
    def patched(self) -> list[PatchedFile]:
        """Return the changed files; those changed by the iteration itself come first."""
        if self.files is None:
            return []
        patches = dict(patches_of(self.files.patch))
        found = []
        for path, how, by, _ in self.files.files:
            lines = () if by in (OUT, ROLLBACK) else patches.get(path, ())
            signs = [line[:1] for line in lines]
            counts = (signs.count("+"), signs.count("-")) if lines else None
            found.append(PatchedFile(path, how, by, lines, counts))
        return sorted(found, key=lambda x: (x.by in (OUT, ROLLBACK), x.path))

    @property
    def listed(self) -> list[PatchedFile] | None:
        """Return the changed files without their lines; None if they are unknown."""
        found = self.facts.changed_files.get(self.number)
        if found is None:
            return None
        return [PatchedFile(x.path, x.how, x.by, counts=x.counts) for x in found]

    @cached_property
    def decisions(self) -> list[Decision]:
        """Return the decisions and claims made from its start up to the next one's."""
        found, by = self.facts.decisions, attrgetter("version")
        first, end = (bisect_right(found, version, key=by) for version in self._versions)
        return found[first:end]

    @property
    def ways(self) -> Iterator[tuple[str, str]]:
        """Yield commands that return to the iteration or show more, with their effects."""
        number, named = self.number, self.facts.named
        best = self.facts.rollback_target
        if best not in (None, number):
            how = "plan and files" if self.facts.has_snapshot(best) else _ONLY_PLAN
            yield f"sprintlog rollback iter:{best}{named}", f"the best iteration: {how}"
        if self.facts.has_snapshot(number):
            yield f"sprintlog rollback iter:{number}{named}", "plan and files"
            yield f"sprintlog rollback iter:{number} --files{named}", "only the files"
            into = quote(f"../{self.facts.sprint.id}-{number}")
            yield f"sprintlog restore iter:{number} --into {into}{named}", "a copy"
            if self.row.git:
                line = f"sprintlog restore iter:{number} --branch iter-{number}{named}"
                yield line, "a branch"
        else:
            yield f"sprintlog rollback iter:{number} --plan{named}", _ONLY_PLAN
        yield f"sprintlog fork again-{number} --from iter:{number}{named}", "another sprint"
        yield f"sprintlog log --iteration {number}{named}", "all its events"


def patches_of(patch: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each file in a patch of git, with the lines of its hunks."""
    path, lines, is_head = "", list[str](), True
    for line in patch.splitlines():
        if line.startswith(_START):
            if path:
                yield path, lines
            path, lines, is_head = _path_of(line.removeprefix(_START)), [], True
        elif not is_head or line.startswith(("@@", "Binary files", "GIT binary")):
            is_head = False
            lines.append(line)
    if path:
        yield path, lines


def _path_of(both: str) -> str:
    """Return the path that a header names twice; git quotes special characters."""
    if (quoted := _QUOTED.search(both)) is None:
        return both[len(both) // 2 + 1 :]
    name = quoted["name"].encode("ascii", "backslashreplace").decode("unicode_escape")
    return name.encode("latin-1", "replace").decode(errors="backslashreplace")
