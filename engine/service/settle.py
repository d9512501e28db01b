"""Iterations from the turns of agent sessions that no loop started.

The events of a session are the facts. From them, the turns are computed, and each turn in
which the agent used a tool, changed a file or committed is recorded once as an iteration of
the work tree's sprint. Settling again records only what is missing, so a process that was
killed is made up for at the next event. Turns within `run` and `wrap` are not settled: they
belong to the iteration that encloses them.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from ..adapters.agents.outcome import Activity
from ..adapters.git.untrusted import repository_state
from ..adapters.processes.output import Output
from ..adapters.replace import replace_file
from ..errors import SprintlogError
from ..sessions.names import key_of, session_of
from ..sessions.turns import SessionTurn, turns_of
from ..sprint.answers.verdict import Answer, Verdict
from ..sprint.events import AgentRan, GitState, IterationStarted, TurnFacts
from ..sprint.iterations.loop import EndWrapped, StartWrapped
from ..sprint.phases.lifecycle import StartSprint
from ..sprint.state import times, words
from ..sprint.state.sprint import open_iteration
from . import wrap
from .agent_sessions import at_work
from .agent_sessions.known_sessions import event_of
from .agent_sessions.ran import answer_of, outcome, turn_alone
from .port import Decide, Envelope
from .work_tree import start_files
from .work_tree.snapshot import kept_files, with_snapshot
from .workspace import ServiceWorkspace

ACTOR = "runtime"
TURNS = 3
"""The number of a session's latest turns that are settled."""
REPORTED_MS = 30_000
"""The time within which an answer is recorded by the process that reported it."""


class TurnReading(NamedTuple):
    """The contents of a session's transcript."""

    answer: Answer
    activity: Activity
    ran: AgentRan
    """All figures of the session so far."""


class Settling(NamedTuple):
    """What settling needs from outside."""

    read: Callable[[str, SessionTurn], TurnReading | None]
    """Reads the transcript of an agent's turn, or returns None."""
    tell: Callable[[str], None] = lambda problem: None
    commands: Sequence[str] = ()
    """The commands that measure an iteration, if any are trusted."""
    named: str | None = None
    """The name of the sprint, if it was specified."""
    turns_max: int = TURNS


class Settled(NamedTuple):
    """The latest turn of a session, as recorded."""

    sprint: str
    number: int
    is_new: bool
    """Whether its end was recorded now."""
    is_late: bool = False
    """Whether the files may have changed since it ended, so they were not saved."""


class TurnStart(msgspec.Struct, frozen=True):
    """The state of the work tree at the start of a turn."""

    first: int
    """The version of the turn's first event."""
    before: str | None = None
    """The snapshot of the files; None if they may have changed since."""
    head: str | None = None
    iteration: str = ""
    """The latest start or end of an iteration before the turn."""


def begin_turn(workspace: ServiceWorkspace, stream: str) -> bool:
    """Start the iteration of a turn whose first tool call, a command, has not ended yet.

    Return whether it started now: otherwise, a claim would be about the iteration before.
    """
    with workspace.log.locks.hold(at_work.LOCK):
        recorded = workspace.log.read_stream(stream)
        turns = turns_of((one.version, one.at, event_of(one)) for one in recorded)
        if not turns or (last := turns[-1]).ended is not None:
            return False
        if wrap.begun(workspace, key_of(stream, "turn", last.first)) is not None:
            return False
        last.calls, means = 1, Settling(lambda agent, turn: None)
        return _Recorded(workspace, stream, last, means, is_late=False).settle() is not None


def settle(
    workspace: ServiceWorkspace,
    stream: str,
    means: Settling,
    *,
    ends: bool = True,
    reported: int | None = None,
    is_over: bool = False,
) -> Settled | None:
    """Record what is missing of a session's latest turns; return one of their iterations.

    This is the iteration of the turn that ended with the `reported` version, or else of the
    latest turn; None if that turn is not an iteration, at least so far. Without `ends`, a
    recent answer is left to the process that reported it, which may have to reply. With
    `is_over`, the session's process is gone, which ended a running turn, or the files may
    have changed since. The caller must hold `at_work.LOCK`.
    """
    recorded = [*workspace.log.read_stream(stream)]
    turns = turns_of((one.version, one.at, event_of(one)) for one in recorded)
    if not turns:
        return None
    last, settled = turns[-1], None
    own = {one.version for one in recorded if one.correlation_id == stream[:128]}
    if is_over and last.ended is None:
        # The next event would have ended it, unless the turn continues.
        last.ended = recorded[-1].version + 1
    firsts, now = {turn.first for turn in turns}, _milliseconds(workspace.now())
    skipped = max(len(turns) - means.turns_max, 0)
    for number, turn in enumerate(turns[skipped:], skipped):
        # Without a timely answer, files may have changed before the end was known.
        is_cut = turn.end is None or is_over or turn.ended in firsts
        is_recent = now - _milliseconds(turn.last_at) < REPORTED_MS
        # Turns with another correlation id belong to an iteration of `run` or `wrap`.
        is_within = turn is not last and turn.first not in own
        if is_within or (is_recent and not ends and not is_cut):
            continue
        # Without the process that reported the end, a person may have changed files since.
        is_lost = not ends or reported not in (None, turn.ended)
        is_late = is_cut or is_lost or any(x.calls for x in turns[number + 1 :])
        one = _Recorded(workspace, stream, turn, means, is_late=is_late).settle()
        if turn.ended == reported if reported else turn is last:
            settled = one
    if last.ended is not None:
        at_work.end_turn(workspace.location, stream)
    return settled


class _Untouched:
    """The files at the start of a turn, as long as nothing has changed since."""

    def __init__(self, workspace: ServiceWorkspace, since: str) -> None:
        self._workspace, self._since = workspace, since

    @property
    def is_over(self) -> bool:
        """Return whether the agent may have changed a file already."""
        since = _milliseconds(self._since)
        return not start_files.is_untouched(self._workspace, since_ms=since)

    def end(self) -> None:
        """Do nothing: the agent does not wait."""


class _Recorded:
    """A turn, and its iteration in the log."""

    def __init__(
        self,
        workspace: ServiceWorkspace,
        stream: str,
        turn: SessionTurn,
        means: Settling,
        *,
        is_late: bool,
    ) -> None:
        self._workspace, self._stream = workspace, stream
        self._turn, self._means = turn, means
        self._is_late = is_late
        """Whether the files may have changed since the turn ended."""
        self._session = session_of(stream) or stream
        self._key = key_of(stream, "turn", turn.first)
        self._envelope: Envelope = {"actor": ACTOR, "observed": True, "is_loop": True}
        self._envelope["correlation_id"] = stream[:128]

    def settle(self) -> Settled | None:
        """Record what is missing of the turn; return its iteration, or None."""
        turn, begun = self._turn, wrap.begun(self._workspace, self._key)
        end = key_of(self._stream, "turn-ended", turn.first, turn.ended)
        if turn.ended is not None and (found := self._workspace.log.find_key(end)):
            return Settled(*begun, is_new=False) if begun and found else None
        if begun is None and not turn.calls and turn.prompt is None:
            # An answer without a prompt and without any work.
            return None
        sprint_id = begun[0] if begun else self._sprint()
        start = self._start()
        if begun is None and not turn.calls and turn.ended is None:
            if start is None:
                self._prepare(sprint_id)
            return None
        if begun is None and not turn.calls and not self._has_changes(sprint_id, start):
            # The usage of a question counts, but it does not become an iteration.
            self._handle(sprint_id, lambda sprint, at: [self._ended(None, start).ran], end)
            return None
        number = begun[1] if begun else self._begin(sprint_id, start)
        if turn.ended is None:
            at_work.begin_iteration(
                self._workspace.location, sprint_id, number, name=self._stream
            )
            return Settled(sprint_id, number, is_new=False)
        self._end(sprint_id, number, start, end)
        return Settled(sprint_id, number, is_new=True, is_late=self._is_late)

    def _sprint(self) -> str:
        """Return the tree's unfinished sprint, or create a sprint."""
        at, named, workspace = self._turn.began_at, self._means.named, self._workspace
        sprint_id = wrap.sprint_for(workspace, named, place=None, actor=ACTOR, at=at)
        plan = workspace.sprint(sprint_id).plan
        if plan.status == words.NOT_STARTED and plan.is_ralph:
            # The session starts to work on the goal.
            workspace.handle(StartSprint(), sprint_id=sprint_id, actor=ACTOR, at=at)
        return sprint_id

    def _prepare(self, sprint_id: str) -> None:
        """Save the files from before the turn."""
        self._end_left_open(sprint_id)
        files = wrap.files_before(
            *(self._workspace, sprint_id, _Untouched(self._workspace, self._turn.began_at)),
            measure="\n".join(self._means.commands) or None,
            keeps_files=True,
            tell=lambda problem: None,
            actor=ACTOR,
        )
        start = TurnStart(self._turn.first, files, self._head(), self._iteration(sprint_id))
        with suppress(OSError):
            self._place.parent.mkdir(mode=0o700, exist_ok=True)
            replace_file(self._place, msgspec.json.encode(start), mode=0o600)

    def _end_left_open(self, sprint_id: str) -> None:
        """End the iteration of another session whose process is gone."""
        plan = self._workspace.sprint(sprint_id).plan
        last = plan.last.iteration
        if open_iteration(plan) is None or not isinstance(last, IterationStarted):
            return
        if (session := last.session) in (None, self._session):
            return
        numbers = {x.iteration for x in at_work.all_at_work(self._workspace.location)}
        if last.number not in numbers:
            settle(self._workspace, f"session/{session}", self._means, is_over=True)

    @property
    def _place(self) -> Path:
        """Return the file with the state of the work tree at the start of the turn."""
        return at_work.file_of(self._workspace.location, self._stream).with_suffix(".turn")

    def _start(self) -> TurnStart | None:
        """Return the state at the start of the turn, if it was saved."""
        try:
            start = msgspec.json.decode(self._place.read_bytes(), type=TurnStart)
        except (OSError, msgspec.DecodeError):
            return None
        return start if start.first == self._turn.first else None

    def _head(self) -> str | None:
        workspace = self._workspace
        state = repository_state(workspace.location.root, workspace.environment)
        return None if state is None else state.head

    def _has_changes(self, sprint_id: str, start: TurnStart | None) -> bool:
        """Return whether a turn without a tool call changed a file or committed."""
        others = at_work.others_at_work(self._workspace.location)
        if start is None or self._is_late or any(x.has_called for x in others):
            return False
        is_open = open_iteration(self._workspace.sprint(sprint_id).plan) is not None
        if is_open or start.iteration != self._iteration(sprint_id):
            # The changes may be those of another iteration.
            return False
        files, head = start.before, start.head
        is_same = files is None or start_files.equals(self._workspace, sprint_id, files)
        return not is_same or head != self._head()

    def _iteration(self, sprint_id: str) -> str:
        """Return the latest start or end of an iteration."""
        last = self._workspace.sprint(sprint_id).plan.last.iteration
        return f"{last.type} {last.number}" if last else ""

    def _begin(self, sprint_id: str, start: TurnStart | None) -> int:
        """Start the iteration and return its number."""
        command = StartWrapped(start.before if start else None, self._session)
        self._handle(sprint_id, command, self._key, at=self._turn.began_at)
        begun = wrap.begun(self._workspace, self._key)
        assert begun is not None
        return begun[1]

    def _handle(
        self, sprint_id: str, decide: Decide, key: str, *, at: str | None = None
    ) -> None:
        envelope: Envelope = {**self._envelope, "at": at or self._turn.last_at, "key": key}
        self._workspace.handle_with(sprint_id, decide, **envelope)

    def _end(self, sprint_id: str, number: int, start: TurnStart | None, key: str) -> None:
        """Record the end of the iteration, with its files unless they may have changed."""
        workspace, tell = self._workspace, self._means.tell
        ended = wrap.with_learnings_kept(
            workspace, sprint_id, self._ended(number, start), **self._envelope
        )
        decide: Decide = ended
        with ExitStack() as held:
            if not self._is_late:
                try:
                    _, event_for = held.enter_context(kept_files(workspace, sprint_id))
                except (SprintlogError, OSError) as error:
                    tell(f"the files of iteration {number} were not saved: {error}")
                else:
                    # Omitted files are part of the event, and shown by `status`.
                    decide = with_snapshot(ended, event_for)
            self._handle(sprint_id, decide, key)
        with suppress(OSError):
            self._place.unlink()

    def _ended(self, number: int | None, start: TurnStart | None) -> EndWrapped:
        """Return the command that records the end of the turn, with its figures."""
        turn, agent = self._turn, self._session.partition("-")[0]
        reading = self._means.read(agent, turn)
        answer = answer_of(turn.end, reading and reading.answer)
        activity = reading and reading.activity
        output = Output()
        output.feed(answer.text.encode(errors="surrogateescape"))
        after = repository_state(self._workspace.location.root, self._workspace.environment)
        before = start and start.head
        wrapped = wrap.Wrapped(
            command="",
            exit_code=0,
            duration_ms=_milliseconds(turn.last_at) - _milliseconds(turn.began_at),
            output=output,
            errors=Output(),
            answer=answer,
            activity=activity or Activity(agent=agent, tells_calls=True),
            git_before=GitState(before) if before else None,
            git_after=None if self._is_late else wrap.git_state(after),
        )
        ended = wrap.ended(
            self._workspace, wrapped, number=number, ends=True, now=turn.last_at, since=0
        )
        facts = TurnFacts(
            self._session,
            turn.prompt.form if turn.prompt else None,
            turn.how,
            len(turn.subagents),
            turn.compactions,
        )
        ran = replace(
            ended.ran,
            turn=facts,
            exit_code=None,
            command=None,
            tool_calls=turn.calls,
            agent=agent,
            sessions=ended.ran.sessions or (self._session.partition("-")[2],),
            models=ended.ran.models or tuple(filter(None, [turn.model])),
        )
        end = turn.end
        if end is not None and end.text is None and not (end.failed or answer.text):
            # The agent answered, but neither its hook nor its transcript has the words.
            ran = replace(ran, **outcome(Verdict(words.COMPLETED)))
        session = None if reading is None else reading.ran
        return replace(ended, ran=turn_alone(self._workspace, ran, session))


def _milliseconds(time: str) -> int:
    return round(times.parse(time).timestamp() * 1000)
