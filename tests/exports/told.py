"""A small log with everything an export may encounter, with reproducible bytes."""

from hashlib import sha256
from itertools import count
from pathlib import Path

from msgspec import structs

from sprintlog.engine.judging.events import Usage
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.envelope import ERASURES, NewEvent, Span
from sprintlog.engine.log.erasures import PayloadErased
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import CODEC, new_event
from sprintlog.engine.sessions.events import PromptGiven, ToolCalled, TouchedFile
from sprintlog.engine.sprint.events import (
    ActivitySeen,
    AgentRan,
    GateChecked,
    IterationEnded,
    IterationStarted,
    NoteAdded,
    PhaseFailed,
    PhaseStarted,
    Place,
    RolledBack,
    SprintCompiled,
    SprintStarted,
)
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.projections.workspace import Workspace

AUTH, OTHER = "sprint/auth", "sprint/other"
CLAUDE, CODEX, ALONE = "session/claude-a1", "session/codex-c9", "session/claude-zz"
SECRET = "ghp_" + "a1B2" * 9
PROMPT = "Let people log in with their key"
BEGAN = 1_775_203_200_000
WORK = "work-1"


def told_log(folder: Path) -> Workspace:
    """Return a workspace with a log of two sprints and three sessions.

    It contains a rollback, failed and passed gates, an open iteration, a run with more data
    than the reader supports, an unmasked secret, an extension event, and an erased note and
    call.
    """
    moments, chance = count(BEGAN, 1000), count(1)
    workspace = Workspace.init(
        folder,
        here=True,
        clock=lambda: next(moments),
        entropy=lambda length: next(chance).to_bytes(length, "big"),
    )
    _Teller(workspace).tell()
    return workspace


class _Teller:
    def __init__(self, workspace: Workspace) -> None:
        self._log = workspace.log
        self._at = BEGAN

    def _say(self, stream: str, *events: Event, work: str | None = None) -> None:
        """Append events, a minute after those before."""
        self._at += 60_000
        at = from_milliseconds(self._at)
        new = [
            new_event(event, at=at, actor="agent:claude", correlation_id=work)
            for event in events
        ]
        self._log.append(stream, new, expect=Expect.ANY)

    def tell(self) -> None:
        """Record all events of the log."""
        self._begin()
        self._first_iteration()
        self._second_iteration()
        self._what_else()
        self._erase(AUTH, NoteAdded.type)
        self._erase(CLAUDE, ToolCalled.type)

    def _begin(self) -> None:
        gate = {"script": "make test", "on-fail-prompt": "Mend it"}
        phases = [
            {"id": "build", "status": "pending", "prompt": PROMPT, "gate": gate},
            {"id": "review", "status": "pending", "prompt": "Read it all"},
        ]
        document = {"sprint-id": "auth", "status": "not-started", "phases": phases}
        self._say(AUTH, SprintCompiled(document, Place("PROGRESS.yaml")))
        self._say(AUTH, SprintStarted())

    def _first_iteration(self) -> None:
        usage = Usage(
            input_tokens=1200,
            output_tokens=300,
            cache_read_tokens=8000,
            cache_creation_tokens=500,
            cost_usd=0.1,
            turns=4,
        )
        ran = AgentRan(
            "build",
            "failed",
            exit_code=1,
            duration_ms=90_000,
            output=f"{PROMPT}: no",
            usage=usage,
            iteration=1,
            agent="claude",
            models=("claude-sonnet",),
            sessions=("a1",),
            tool_calls=2,
            error_kind="logic",
        )
        self._say(AUTH, IterationStarted(1, phase="build"))
        self._say(AUTH, PhaseStarted("build"))
        self._say(CLAUDE, PromptGiven(chars=len(PROMPT), sha256="ab" * 32), work=WORK)
        self._say(CLAUDE, self._call("Edit", "t1", changed="src/auth.py"), work=WORK)
        self._say(CLAUDE, self._call("Bash", "t2", ok=False), work=WORK)
        self._say(AUTH, ran, work=WORK)
        self._say(AUTH, GateChecked("build", 1, 2, duration_ms=1500, output="2 failed"))
        self._say(AUTH, PhaseFailed("build", f"no: {SECRET}"), NoteAdded("Try again"))
        self._say(AUTH, IterationEnded(1, summary="It does not work"))

    def _second_iteration(self) -> None:
        usage = Usage(input_tokens=700, output_tokens=50, cost_usd=0.2, turns=1)
        ran = AgentRan("build", "completed", exit_code=0, duration_ms=30_500)
        ran = structs.replace(
            ran, usage=usage, iteration=2, agent="codex", sessions=("c9",)
        )
        self._say(AUTH, RolledBack(2, "Begin again"))
        self._say(AUTH, IterationStarted(2, phase="build"))
        self._say(AUTH, ActivitySeen(), work="work-2")
        self._say(CODEX, self._call("shell", "k1"), work="work-2")
        self._say(AUTH, ran, work="work-2")
        rest = AgentRan("build", "completed", agent="codex", iteration=2, is_rest=True)
        rest = structs.replace(rest, usage=Usage(output_tokens=5, cost_usd=0.03))
        self._say(AUTH, rest, work="work-2")
        self._say(AUTH, GateChecked("build", 1, 0, duration_ms=1200))

    def _what_else(self) -> None:
        others = NewEvent(
            "x-acme-deployed",
            b'{"name":"web","to":"staging"}',
            "2026-04-03T08:18:30Z",
            "import:acme",
        )
        self._log.append(AUTH, [others], expect=Expect.ANY)
        document = {"sprint-id": "other", "status": "not-started", "phases": []}
        self._say(OTHER, SprintCompiled(document, Place("other/PROGRESS.yaml")))
        self._say(ALONE, self._call("Read", "r1"), work="by-hand")

    def _call(
        self, tool: str, call: str, *, ok: bool = True, changed: str | None = None
    ) -> ToolCalled:
        files = () if changed is None else (TouchedFile(changed, "changed", 3, 1),)
        return ToolCalled(
            tool, call, ok, duration_ms=2500, command=f"echo {SECRET}", files=files
        )

    def _erase(self, stream: str, type_: str) -> None:
        """Erase the first event of a type in a stream, as `redact` does."""
        found = next(e for e in self._log.read_stream(stream) if e.type == type_)
        remains = encode(CODEC.decode(found).remains())
        span = Span(stream, found.version, found.version)
        size, digest = len(found.payload or b""), sha256(remains).hexdigest()
        said = PayloadErased("asked for", (span,), 1, size, (digest,))
        self._log.erase(
            [span],
            stream=ERASURES,
            said=new_event(said, at=from_milliseconds(self._at), actor="operator"),
            remainders=[remains],
        )
