"""The events in an agent session: its prompts, tool calls and end.

They contain digests instead of prompts, output and file contents. The stream is
`session/AGENT-ID`; sprints do not depend on it.
"""

import msgspec

from ..log.event import KnowledgeEvent, Subject, events_of

COMMAND_CHARS_MAX = 512
"""So much of a command is kept."""
PATH_CHARS_MAX = 1024
FILES_MAX = 100
"""The maximum number of files recorded for one call."""
NAME_CHARS_MAX = 128
"""So much of a tool's name, of an id or of a word is kept."""


class TouchedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a tool call used or changed."""

    path: str
    """Relative to the root of the work tree if inside it."""
    change: str | None = None
    """`created`, `changed` or `deleted`; null if unknown."""
    added: int | None = None
    """The number of added lines."""
    removed: int | None = None
    """How many lines went out."""


class SessionEvent(KnowledgeEvent, frozen=True):
    """An event in an agent session; rollbacks do not affect it."""

    subject = Subject("session")
    only_caused = "an agent's hooks or its transcript say so"
    is_quiet = True


class SessionStarted(SessionEvent, frozen=True):
    """A session started or was resumed."""

    stays = ("how", "model", "version", "transcript")
    subject = Subject("session", ("how",))
    how: str | None = None
    """The agent's word for it: `startup`, `resume`, `clear` ..."""
    model: str | None = None
    """The model of the agent, if known."""
    version: str | None = None
    """The version of the agent's program, if known."""
    transcript: str | None = None
    """The path of the agent's transcript, if it has one."""


class PromptGiven(SessionEvent, frozen=True):
    """The agent received a prompt."""

    chars: int | None = None
    """How long the prompt was."""
    sha256: str | None = None
    """sha256 of the prompt in UTF-8, in hexadecimal."""


class ToolCalled(SessionEvent, frozen=True):
    """The agent called a tool, and the call ended."""

    stays = (*("tool", "call", "files.change", "subagent", "found_in"),)
    subject = Subject("tool call", ("tool",))
    tool: str
    """The tool, by the agent's own name."""
    call: str | None = None
    """The agent's own id of the call; some agents have none."""
    ok: bool | None = None
    """Whether the call succeeded; null if unknown."""
    is_unfinished: bool = False
    """Whether it is known to have begun, and not how it ended."""
    is_interrupted: bool = False
    """Whether somebody stopped it."""
    exit_code: int | None = None
    """The exit status of the command, if known."""
    duration_ms: int | None = None
    command: str | None = None
    """The beginning of the command that was run, secrets masked."""
    files: tuple[TouchedFile, ...] = ()
    """The files it was about."""
    subagent: str | None = None
    """The subagent that called it; None for the agent itself."""
    input_sha256: str | None = None
    """The sha256 of the tool's input, as JSON with sorted keys."""
    output_sha256: str | None = None
    """The sha256 of the tool's output, as JSON with sorted keys."""
    output_bytes: int | None = None
    """How long that was."""
    found_in: str | None = None
    """`transcript` or `stream` if no hook reported the call."""


class AboutSubagent(SessionEvent, frozen=True):
    """An event about a subagent."""

    stays = ("subagent", "role")
    subject = Subject("subagent", ("subagent",))
    subagent: str
    """The agent's own id of it."""
    role: str | None = None
    """What kind of subagent it is."""


class SubagentStarted(AboutSubagent, frozen=True):
    """A subagent started."""


class SubagentEnded(AboutSubagent, frozen=True):
    """A subagent ended."""


class ContextCompacted(SessionEvent, frozen=True):
    """The agent's context was replaced by a summary."""

    stays = ("trigger",)
    trigger: str | None = None
    """`auto` or `manual`."""


class TurnEnded(SessionEvent, frozen=True):
    """The agent answered or failed; the session continues until its own end is recorded."""

    stays = ("transcript",)
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
    """The path of the agent's transcript, if it has one."""
    loop_iteration: int | None = None
    """Which iteration the `ralph-loop` plugin was in, as its file said then."""
    loop_max: int | None = None
    """How many iterations that allows; 0 for no limit."""


class SessionEnded(SessionEvent, frozen=True):
    """A session ended; it may be resumed."""

    stays = ("reason",)
    subject = Subject("session", ("reason",))
    reason: str | None = None
    """The agent's word for why."""


SESSION_EVENTS = events_of(__name__)
BY_TAG = {event.type: event for event in SESSION_EVENTS}
