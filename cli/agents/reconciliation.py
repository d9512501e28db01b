"""Comparison of a session with its transcript, on request or after `run` or `wrap`."""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sprintlog.engine.adapters.hooks import transcript_calls as transcripts
from sprintlog.engine.adapters.hooks.hook_calls import HookPlace
from sprintlog.engine.errors import InvalidInputError, NotFoundError, SprintlogError
from sprintlog.engine.service.agent_sessions import known_sessions, reconcile
from sprintlog.engine.service.agent_sessions.ran import AgentRunEnded, hooked_sessions
from sprintlog.engine.service.agent_sessions.reconcile import OneRun, keep_copy, take_calls
from sprintlog.engine.service.from_transcripts import recover
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sessions.names import session_of
from sprintlog.engine.sessions.work import work_in
from sprintlog.engine.usage import bounded
from sprintlog.projections.views.events import filled
from sprintlog.projections.views.sessions import Reconciled
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import open_workspace, with_actor, with_json
from ..intake.transcript import TranscriptRead, read_transcript, subagents_of
from ..output import counted, print_answer

SILENT_SECONDS = 15 * 60
"""The time without changes after which a transcript is considered complete."""


@dataclass(frozen=True)
class _Kept:
    """A parsed transcript, and whether its session has ended."""

    file: Path
    calls: transcripts.TranscriptCalls
    whole: TranscriptRead
    is_over: bool


def reconcile_session(
    workspace: Workspace,
    session: str | None,
    transcript: Path | None,
    *,
    is_over: bool,
    actor: str,
    work: str = "",
    bytes_max: int = reconcile.BYTES_MAX,
    seconds: float = math.inf,
    patience: float = 0.0,
) -> Reconciled:
    """Record the calls and tokens found only in a session's transcript.

    `session` defaults to the latest session, and `work` to the session's work. At most
    `bytes_max` bytes are read, and recording the calls takes at most `seconds`. If a call
    has no end, the function waits `patience` seconds for running hooks to report it.
    """
    stream = _stream(workspace, session)
    kept = _read(workspace, stream, transcript, ended=is_over, bytes_max=bytes_max)
    calls = [*kept.calls.calls.values()]
    if patience and kept.is_over and any(one.call.is_unfinished for one in calls):
        time.sleep(patience)
    log, now = workspace.log, workspace.now()
    taken = take_calls(
        log, stream, calls, is_over=kept.is_over, now=now, work=work, seconds=seconds
    )
    ran, found = kept.whole.ran()[0], None
    if kept.is_over and ran.usage is not None:
        found = recover(workspace, stream, ran, actor=actor, at=kept.whole.ended_at or now)
        if found.sprint is not None and found.events:
            workspace.refresh(found.sprint)
    usage = ran.usage if found is not None and not found.is_known else None
    return filled(
        Reconciled,
        taken,
        session=stream.partition("/")[2],
        transcript=str(kept.file),
        calls=len(calls),
        unfinished=sum(one.call.is_unfinished for one in calls),
        recorded=taken.recorded + (found.events if found else 0),
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        at_least=usage.at_least if usage else (),
        sprint=found.sprint if found else None,
    )


def _stream(workspace: Workspace, session: str | None) -> str:
    log = workspace.log
    if session is not None:
        return known_sessions.choose_session(log, session)
    names = known_sessions.sessions(log)
    if not names:
        raise NotFoundError(
            "no hook has reported a session", hint="run `sprintlog setup AGENT`"
        )
    latest = {
        event.position: f"session/{name}"
        for name, version in names.items()
        for event in log.read_stream(f"session/{name}", after=version - 1)
    }
    return latest[max(latest)]


def _read(
    workspace: Workspace, stream: str, named: Path | None, *, ended: bool, bytes_max: int
) -> _Kept:
    """Read the transcripts of a session and its subagents."""
    agent = stream.partition("/")[2].partition("-")[0]
    if agent not in transcripts.READERS:
        raise InvalidInputError(f"{agent} has no supported transcript format")
    told = known_sessions.summary(workspace.log, stream)
    root = workspace.location.root
    file = named or reconcile.own_transcript(agent, told.transcript, os.environ, root=root)
    beside = subagents_of(file) if agent == "claude" else []
    found = [reconcile.check_readable(one) for one in (*beside, file)]
    if sum(one.st_size for one in found) > bytes_max:
        limit = f"is longer than {bytes_max // 2**20} MiB"
        raise InvalidInputError(limit, file=str(file))
    written = max(one.st_mtime for one in found)
    place = HookPlace(str(root), os.environ.get("HOME", ""))
    calls = transcripts.TranscriptCalls(agent, stream, place)
    for one in (file, *beside):
        calls.take(reconcile.lines_of(one))
    name = stream.partition("/")[2]
    first = next(iter(calls.sessions), None)
    if first is None:
        raise InvalidInputError(f"is not a transcript of {agent}", file=str(file))
    if not calls.is_own:
        raise InvalidInputError(f"belongs to session {first}, not {name}", file=str(file))
    is_silent = time.time() - written > SILENT_SECONDS
    is_over = ended or told.ended_at is not None or is_silent
    return _Kept(file, calls, read_transcript(file), is_over)


def lines_of_answer(answer: Reconciled) -> Iterator[str]:
    """Yield an answer's lines for people."""
    line = f"hooks reported {answer.seen} of {counted(answer.calls, 'tool call')}"
    line += f"; {answer.taken} taken from the transcript"
    if answer.left:
        line += f"; {answer.left} may still be running (pass --ended if not)"
    if answer.only_hooks:
        line += f"; {answer.only_hooks} not in the transcript"
    yield line
    if answer.input_tokens is None and answer.output_tokens is None:
        return
    given, written = (
        "unknown" if (x := getattr(answer, name)) is None else bounded(str(x), answer, name)
        for name in ("input_tokens", "output_tokens")
    )
    tokens = f"tokens: {given} in, {written} out"
    if answer.sprint is not None:
        yield f"{tokens}, recorded in {answer.sprint} from the transcript"
    else:
        yield f"{tokens}, in no sprint; `sprintlog import transcript FILE` records them"


SECONDS = 5.0
"""The time limit for recording the calls of one session; `session reconcile` records the
rest of a transcript."""
ALL_SECONDS = 10.0
"""The total time after which no further session is compared."""
PATIENCE_SECONDS = 0.5
"""How long hooks of a killed agent may continue to run."""


def compare_sessions(
    workspace: Workspace, run: AgentRunEnded, tell: Callable[[str], None], *, actor: str
) -> None:
    """Record the calls that a run's hooks missed, and report them.

    A failure here does not affect the run.
    """
    try:
        for line in _compared(workspace, run, actor=actor):
            tell(line)
    except Exception as error:  # noqa: BLE001 (an agent's files may contain anything)
        tell(f"the run's sessions were not compared: {type(error).__name__}: {error}")


def compare_lost(
    workspace: Workspace, sprint_id: str, tell: Callable[[str], None], *, actor: str
) -> None:
    """Compare the sessions of a sprint's last, killed run with their transcripts.

    The caller must hold the run lock, which ensures that all processes of that run have
    ended.
    """
    began = workspace.sprint(sprint_id).knowledge.loops.version
    if not began:
        return
    stream = sprint_stream(sprint_id)
    for run in workspace.log.read_stream(stream, after=began - 1, until=began):
        work = run.correlation_id or ""
        is_only = work != work_in(os.environ)
        ended = AgentRunEnded(work, run.position, is_only, None, transcripts.StreamCalls())
        compare_sessions(workspace, ended, tell, actor=actor)


def _compared(workspace: Workspace, run: AgentRunEnded, *, actor: str) -> Iterator[str]:
    hooked = hooked_sessions(workspace.log, run)
    until = time.monotonic() + ALL_SECONDS
    for number, (stream, is_over) in enumerate(hooked):
        if time.monotonic() > until:
            left = counted(len(hooked) - number, "session")
            yield f"{left} not compared: `sprintlog session reconcile` does it"
            break
        # `session reconcile` reports transcripts that cannot be read.
        with suppress(SprintlogError):
            answer = reconcile_session(
                workspace,
                session_of(stream),
                None,
                is_over=is_over,
                actor=actor,
                work=run.work,
                bytes_max=reconcile.READ_BYTES_MAX,
                seconds=SECONDS,
                patience=PATIENCE_SECONDS,
            )
            if answer.recorded:
                yield from lines_of_answer(answer)
        keep_copy(workspace, stream)
    told = {stream for stream, _ in hooked}
    place = HookPlace(str(workspace.location.root), os.environ.get("HOME", ""))
    log, one = workspace.log, OneRun(run.work, run.since)
    for stream, calls in run.calls.sessions(run.agent, place).items():
        taken = take_calls(
            log, stream, calls, is_over=True, now=workspace.now(), run=one, seconds=SECONDS
        )
        if taken.recorded and stream in told:
            line = f"hooks reported {taken.seen} of {counted(len(calls), 'tool call')}"
            yield f"{line}; {taken.taken} taken from the stream"
        if taken.left:
            yield f"{counted(taken.left, 'tool call')} in the stream not recorded in time"


@typed.command("reconcile")
@typed.argument("session", required=False)
@typed.file_option(
    "--transcript",
    help="The transcript file. [the one in the agent's folder that the hooks reported]",
)
@typed.flag("--ended", help="The agent has exited: treat open calls as unfinished.")
@with_actor
@with_json
def reconcile_command(
    session: str | None, transcript: Path | None, ended: bool, actor: str, as_json: bool
) -> None:
    """Record the tool calls and tokens found only in a session's transcript.

    SESSION is `AGENT-ID` or a prefix of it; the default is the latest session. Tokens are
    recorded in the session's sprint unless another event contains them. A call without an
    end is recorded as unfinished once the session has ended, or when the transcript has not
    changed for 15 minutes. The command is idempotent.

    Examples: sprintlog session reconcile

    sprintlog session reconcile 4f21 --transcript ~/.claude/projects/-shop/4f21.jsonl
    """
    with open_workspace() as workspace:
        answer = reconcile_session(
            workspace, session, transcript, is_over=ended, actor=actor
        )
    print_answer(answer, lines_of_answer(answer), as_json=as_json)
