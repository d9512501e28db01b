"""The events in an agent session: its prompts, tool calls and end.

They contain digests instead of output and file contents, and masked extracts of messages.
The stream is `session/AGENT-ID`.
"""

import msgspec

from ..log.event import KnowledgeEvent, Subject, events_of

COMMAND_CHARS_MAX = 512
"""The maximum length of a recorded command."""
PATH_CHARS_MAX = 1024
FILES_MAX = 100
"""The maximum number of files recorded for one call."""
NAME_CHARS_MAX = 128
"""The maximum length of a recorded tool name, id or word."""
TEXT_CHARS_MAX = 8_000
"""The maximum length of the start, and of the end, of a recorded message."""
TASK_NOTIFICATION = "task-notification"
REFUSED = "sprintlog: the claim was refused: "
"""The start of the reason with which a hook makes an agent go on; some agents report the
reason as a prompt."""


class TouchedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a tool call used or changed."""

    path: str
    """The path, relative to the root of the work tree if the file is inside it."""
    change: str | None = None
    """The type of change: `created`, `changed` or `deleted`; null if unknown."""
    added: int | None = None
    """The number of added lines."""
    removed: int | None = None
    """The number of removed lines."""


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
    """The agent's name for the kind of start: `startup`, `resume`, `clear` ..."""
    model: str | None = None
    """The agent's model, if known."""
    version: str | None = None
    """The version of the agent's program, if known."""
    transcript: str | None = None
    """The path of the agent's transcript, if it has one."""


class PromptGiven(SessionEvent, frozen=True):
    """The agent received a prompt."""

    stays = ("form", "turn")
    chars: int | None = None
    """The length of the prompt in characters."""
    sha256: str | None = None
    """The SHA-256 of the prompt in UTF-8, in hexadecimal."""
    form: str | None = None
    """`task-notification` for the result of a background task, or the command of the
    prompt, such as `/loop`."""
    text: str | None = None
    """The prompt, with secrets masked; only its start and end if it is long."""
    turn: str | None = None
    """The agent's id for the turn, if it has one."""


class ToolCalled(SessionEvent, frozen=True):
    """The agent called a tool, and the call ended."""

    stays = (*("tool", "call", "files.change", "subagent", "found_in", "turn"),)
    subject = Subject("tool call", ("tool",))
    tool: str
    """The agent's name for the tool."""
    call: str | None = None
    """The agent's id for the call; some agents have none."""
    ok: bool | None = None
    """Whether the call succeeded; null if unknown."""
    is_unfinished: bool = False
    """Whether the call is known to have started but its end is unknown."""
    is_interrupted: bool = False
    """Whether the call was interrupted by the user."""
    exit_code: int | None = None
    """The exit status of the command, if known."""
    duration_ms: int | None = None
    command: str | None = None
    """The start of the command, with secrets masked."""
    files: tuple[TouchedFile, ...] = ()
    """The files that the call used or changed."""
    subagent: str | None = None
    """The subagent that made the call; null for the agent itself."""
    input_sha256: str | None = None
    """The SHA-256 of the tool's input, as JSON with sorted keys."""
    output_sha256: str | None = None
    """The SHA-256 of the tool's output, as JSON with sorted keys."""
    output_bytes: int | None = None
    """The size of the output in bytes."""
    turn: str | None = None
    """The agent's id for the turn, if it has one."""
    found_in: str | None = None
    """`transcript` or `stream` if no hook reported the call."""


class AboutSubagent(SessionEvent, frozen=True):
    """An event about a subagent."""

    stays = ("subagent", "role")
    subject = Subject("subagent", ("subagent",))
    subagent: str
    """The agent's id for the subagent."""
    role: str | None = None
    """The type of subagent."""


class SubagentStarted(AboutSubagent, frozen=True):
    """A subagent started."""


class SubagentEnded(AboutSubagent, frozen=True):
    """A subagent ended."""


class ContextCompacted(SessionEvent, frozen=True):
    """The agent's context was replaced by a summary."""

    stays = ("trigger",)
    trigger: str | None = None
    """The trigger: `auto` or `manual`."""


class TurnEnded(SessionEvent, frozen=True):
    """The agent answered or failed; the session continues until its own end is recorded."""

    stays = ("transcript", "turn")
    failed: bool = False
    """Whether the agent failed to answer or was stopped."""
    error: str | None = None
    """The agent's name for the error."""
    waits_for: int = 0
    """The number of background tasks that were still running."""
    chars: int | None = None
    """The length of the final message in characters."""
    sha256: str | None = None
    """The SHA-256 of the final message, in hexadecimal."""
    text: str | None = None
    """The final message, with secrets masked; only its start and end if it is long."""
    turn: str | None = None
    """The agent's id for the turn, if it has one."""
    is_again: bool = False
    """Whether a hook has made the agent go on after an earlier answer."""
    transcript: str | None = None
    """The path of the agent's transcript, if it has one."""
    loop_iteration: int | None = None
    """The iteration according to the file of the `ralph-loop` plugin at that time."""
    loop_max: int | None = None
    """The maximum number of iterations in that file; 0 for no limit."""


class SessionEnded(SessionEvent, frozen=True):
    """A session ended; it may be resumed."""

    stays = ("reason",)
    subject = Subject("session", ("reason",))
    reason: str | None = None
    """The agent's name for the reason."""


SESSION_EVENTS = events_of(__name__)
BY_TAG = {event.type: event for event in SESSION_EVENTS}
