"""Every event of an agent's session: what it was told, which tools it called, how it ended.

None says what a file holds, what a command printed or what a person wrote: digests stand
for that. The stream is `session/AGENT-ID`; nothing of it is folded into a sprint.
"""

from typing import ClassVar

import msgspec

from ..log.event import Event, Kind, Reach, Subject

COMMAND_CHARS_MAX = 512
"""So much of a command is kept."""
PATH_CHARS_MAX = 1024
FILES_MAX = 100
"""So many files are told of one call."""
NAME_CHARS_MAX = 128
"""So much of a tool's name, of an id or of a word is kept."""


class TouchedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a call was about."""

    path: str
    """Relative to the work tree's root where it is below that."""
    change: str | None = None
    """`created`, `changed` or `deleted`; None where the call says of none."""
    added: int | None = None
    """How many lines came in."""
    removed: int | None = None
    """How many lines went out."""


class SessionEvent(Event, frozen=True):
    """What happened in a session of an agent; no rollback takes it back."""

    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    subject: ClassVar[Subject] = Subject("session")
    reach: ClassVar[Reach] = Reach.NOTHING
    only_caused: ClassVar[str] = "an agent's hooks or its transcript say so"
    is_quiet: ClassVar[bool] = True


class SessionStarted(SessionEvent, frozen=True):
    """A session began, or goes on."""

    type: ClassVar[str] = "session-started"
    stays: ClassVar[tuple[str, ...]] = ("how", "model", "version", "transcript")
    subject: ClassVar[Subject] = Subject("session", ("how",))
    how: str | None = None
    """The agent's word for it: `startup`, `resume`, `clear` ..."""
    model: str | None = None
    """The model that it asks, where that is said."""
    version: str | None = None
    """That of the agent's program, where that is said."""
    transcript: str | None = None
    """Where the agent keeps what was said, where it names a file."""


class PromptGiven(SessionEvent, frozen=True):
    """Somebody told the agent what to do."""

    type: ClassVar[str] = "prompt-given"
    chars: int | None = None
    """How long the prompt was."""
    sha256: str | None = None
    """sha256 of the prompt in UTF-8, in hexadecimal."""


class ToolCalled(SessionEvent, frozen=True):
    """The agent called a tool, and the call ended."""

    type: ClassVar[str] = "tool-called"
    stays: ClassVar[tuple[str, ...]] = (
        *("tool", "call", "files.change", "subagent", "found_in"),
    )
    subject: ClassVar[Subject] = Subject("tool call", ("tool",))
    tool: str
    """The tool, by the agent's own name."""
    call: str | None = None
    """The agent's own id of the call; some agents have none."""
    ok: bool | None = None
    """Whether it worked; None where nobody says so."""
    is_unfinished: bool = False
    """Whether it is known to have begun, and not how it ended."""
    is_interrupted: bool = False
    """Whether somebody stopped it."""
    exit_code: int | None = None
    """How the command ended, where that is said."""
    duration_ms: int | None = None
    command: str | None = None
    """The beginning of the command that was run, secrets masked."""
    files: tuple[TouchedFile, ...] = ()
    """The files it was about."""
    subagent: str | None = None
    """The subagent that called it; None for the agent itself."""
    input_sha256: str | None = None
    """sha256 of what the tool was given, as JSON with sorted keys."""
    output_sha256: str | None = None
    """sha256 of what it gave back, in the same way."""
    output_bytes: int | None = None
    """How long that was."""
    found_in: str | None = None
    """`transcript` or `stream` where no hook told of it."""


class AboutSubagent(SessionEvent, frozen=True):
    """What happened to a subagent."""

    stays: ClassVar[tuple[str, ...]] = ("subagent", "role")
    subject: ClassVar[Subject] = Subject("subagent", ("subagent",))
    subagent: str
    """The agent's own id of it."""
    role: str | None = None
    """What kind of subagent it is."""


class SubagentStarted(AboutSubagent, frozen=True):
    """A subagent began."""

    type: ClassVar[str] = "subagent-started"


class SubagentEnded(AboutSubagent, frozen=True):
    """A subagent came to an end."""

    type: ClassVar[str] = "subagent-ended"


class ContextCompacted(SessionEvent, frozen=True):
    """The agent is to go on with a summary of what was said."""

    type: ClassVar[str] = "context-compacted"
    stays: ClassVar[tuple[str, ...]] = ("trigger",)
    trigger: str | None = None
    """`auto` or `manual`."""


class TurnEnded(SessionEvent, frozen=True):
    """The agent answered, or failed to. The session goes on: only its end ends work."""

    type: ClassVar[str] = "turn-ended"
    stays: ClassVar[tuple[str, ...]] = ("transcript",)
    failed: bool = False
    """Whether the agent could not answer, or was stopped."""
    error: str | None = None
    """The agent's word for what went wrong."""
    waits_for: int = 0
    """How many tasks still ran in the background."""
    chars: int | None = None
    """How long its last words were."""
    sha256: str | None = None
    """sha256 of them, in hexadecimal."""
    transcript: str | None = None
    """Where the agent keeps what was said, where it names a file."""
    loop_iteration: int | None = None
    """Which iteration the `ralph-loop` plugin was in, as its file said then."""
    loop_max: int | None = None
    """How many iterations that allows; 0 for no limit."""


class SessionEnded(SessionEvent, frozen=True):
    """A session came to its end; it may be resumed."""

    type: ClassVar[str] = "session-ended"
    stays: ClassVar[tuple[str, ...]] = ("reason",)
    subject: ClassVar[Subject] = Subject("session", ("reason",))
    reason: str | None = None
    """The agent's word for why."""


SESSION_EVENTS: tuple[type[Event], ...] = (
    SessionStarted,
    PromptGiven,
    ToolCalled,
    SubagentStarted,
    SubagentEnded,
    ContextCompacted,
    TurnEnded,
    SessionEnded,
)
BY_TAG = {event.type: event for event in SESSION_EVENTS}
