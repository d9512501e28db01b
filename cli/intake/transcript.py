"""Reader for agents' session transcripts; each session becomes one iteration."""

import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.adapters.agents.outcome import Activity
from sprintlog.engine.adapters.agents.output import DOCUMENT_BYTES_MAX, OutputReader
from sprintlog.engine.adapters.folders import pieces_of
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.agent_sessions.ran import kept
from sprintlog.engine.sprint.answers.verdict import Answer, judge
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.state.times import from_milliseconds, normalise

from .foreign_files import Unread, check_no_link, kept_of

PIECE = 1024 * 1024
SUBAGENTS = "subagents"
"""The subfolder of a Claude Code session for its subagents' transcripts."""
BESIDE = "agent-*.jsonl"
"""The pattern for subagent transcripts that older versions store next to the sessions."""
NAMED_MAX = 100
"""The number of lines searched for the id of the session."""
_SESSION = re.compile(rb'"sessionId"\s*:\s*"([\w-]{1,80})"')
NOT_TRANSCRIPTS = {
    "logs.json": "contains only the user's input to Gemini CLI: import the files in chats/"
}
"""Agent files that are not transcripts, by name, with what to import instead."""
UNREAD_MAX = 1_000
"""The maximum number of unparsed lines that are collected."""
_MOMENT = re.compile(
    rb'"(?:timestamp|startTime|lastUpdated)"\s*:\s*'
    rb'(?:"(\d{4}-\d\d-\d\dT[\d:.]{5,18}(?:Z|[+-]\d\d:\d\d))"|(\d{13})\b)'
)


class TranscriptRead(NamedTuple):
    """The data in a transcript, including the data of subagents."""

    file: Path
    activity: Activity
    answer: Answer
    began_at: str | None
    ended_at: str | None
    sha256: str
    bytes: int
    subagents: int
    unread: list[Unread]

    @property
    def key(self) -> str:
        """Return the session's key: its id, or the digest of its bytes."""
        return f"{self.activity.agent}:{next(iter(self.activity.sessions), self.sha256)}"

    def ran(self) -> tuple[AgentRan, str | None]:
        """Return the session's agent run and its final message."""
        verdict = judge(self.answer, exit_code=0)
        ran = kept(
            self.activity,
            verdict,
            size=self.bytes,
            sha256=self.sha256,
            last_at=self.ended_at,
        )
        return ran, verdict.summary or verdict.error


def read_transcript(file: Path) -> TranscriptRead:
    """Return a transcript's contents; for Claude Code, subagents are included.

    Raise `InvalidInputError` if no line was written by a known agent.
    """
    beside = subagents_of(file)
    hearing = OutputReader(document_max=DOCUMENT_BYTES_MAX)
    digest, moments = sha256(), list[str]()
    size = 0
    # The session itself comes last, because its text is the answer.
    for one in (*beside, file):
        for piece in pieces_of(one, piece_max=PIECE):
            hearing.feed(piece)
            digest.update(piece)
            size += len(piece)
            found = sorted([*moments, *_moments(piece)])
            moments = [*found[:1], *found[-1:]]
        hearing.feed(b"\n")
    answer, activity = hearing.heard()
    if activity.agent is None:
        limit = f"as one document of at most {DOCUMENT_BYTES_MAX // 2**20} MiB"
        problem = f"is not a transcript of a known agent, in lines or {limit}"
        problem = NOT_TRANSCRIPTS.get(file.name, problem)
        raise InvalidInputError("is empty" if not size else problem, file=str(file))
    asked = (*beside, file) if activity.unknown else ()
    unread = [*islice(chain.from_iterable(map(_unread, asked)), UNREAD_MAX)]
    first, last = (moments[0], moments[-1]) if moments else (None, None)
    subagents = max(len(beside), activity.subagents)
    return TranscriptRead(
        file, activity, answer, first, last, digest.hexdigest(), size, subagents, unread
    )


def session_file(file: Path) -> Path:
    """Return a session's transcript, even if the given file is a subagent's transcript."""
    if not file.name.startswith("agent-"):
        return file
    if file.parent.name == SUBAGENTS:
        session = file.parent.parent.with_suffix(".jsonl")
    else:
        named = _session_of(file)
        session = file.with_name(f"{named}.jsonl") if named else file
    return session if session.is_file() and not session.is_symlink() else file


def _session_of(file: Path) -> str | None:
    """Return the first session id in a Claude Code transcript, or None."""
    if file.is_symlink() or not file.is_file():
        return None
    lines = islice(pieces_of(file, piece_max=PIECE), NAMED_MAX)
    found = next(filter(None, map(_SESSION.search, lines)), None)
    return found[1].decode() if found else None


def subagents_of(file: Path) -> list[Path]:
    """Return the transcripts of a session's subagents."""
    found = sorted((file.parent / file.stem / SUBAGENTS).glob(BESIDE))
    for one in found:
        check_no_link(one, below=file.parent)
    if others := sorted(one for one in file.parent.glob(BESIDE) if one != file):
        own = _session_of(file)
        found += [one for one in others if own and _session_of(one) == own]
    return found


def _moments(piece: bytes) -> Iterator[str]:
    for found in _MOMENT.finditer(piece):
        if found[2]:
            yield from_milliseconds(int(found[2]))
            continue
        try:
            yield normalise(found[1].decode())
        except InvalidInputError:
            continue


def _unread(file: Path) -> Iterator[Unread]:
    """Yield the lines that no agent's reader recognizes."""
    for number, line in enumerate(pieces_of(file, piece_max=PIECE), start=1):
        hearing = OutputReader()
        hearing.feed(line)
        if line.strip() and hearing.heard()[1].agent is None:
            text = kept_of(line)
            yield Unread(str(file), number, "no agent says such a line", text.rstrip("\n"))
