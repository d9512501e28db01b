"""The items in agents' output, in the same format for all agents."""

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    # Hooks do not use figures, and must not spend time on the import.
    from sprintlog.usage import Usage


class FigureSpan(IntEnum):
    """The scope of a figure; a wider scope includes the narrower scopes within it."""

    CALL = 1
    """One response from the model."""
    TURN = 2
    """One turn of the run."""
    SESSION = 3
    """The complete session so far; a later figure replaces an earlier one."""


class Session(msgspec.Struct, frozen=True):
    """The session to which the following output belongs."""

    id: str
    version: str | None = None
    """The version of the agent's program, if stated."""
    model: str | None = None
    commit: str | None = None
    """The commit of the repository at the start of the session."""
    forked_at: str | None = None
    """The time of the fork, if any: lines up to this time repeat those of the parent."""


class Prompted(msgspec.Struct, frozen=True):
    """The agent received a prompt."""

    text: str
    at: str | None = None


class Said(msgspec.Struct, frozen=True):
    """The agent sent a message to the user."""

    text: str
    goes_on: bool = False
    """Whether the message continues the preceding text."""


class Called(msgspec.Struct, frozen=True):
    """The agent called a tool, so its preceding message was not the last one."""

    key: str | None = None
    """The id of the call; calls with the same id are the same call."""
    tool: str = ""
    """The agent's name for the tool."""
    command: str | None = None
    """The command, if the tool runs commands."""
    by: str | None = None
    """The subagent that made the call; None for the agent itself."""
    at: str | None = None
    given: dict[str, Any] | None = None
    """The tool's input, if stated; it is not recorded."""


class Returned(msgspec.Struct, frozen=True):
    """The result of a tool call; unknown fields are omitted."""

    key: str | None
    ok: bool | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    at: str | None = None


class FileChanged(msgspec.Struct, frozen=True):
    """A tool call changed a file."""

    key: str | None
    path: str
    kind: str | None = None
    """`created`, `changed` or `deleted`."""
    added: int | None = None
    """The number of added lines."""
    removed: int | None = None
    """The number of removed lines."""


class Used(msgspec.Struct, frozen=True):
    """The usage that an agent reports."""

    usage: "Usage"
    span: FigureSpan
    key: str | None = None
    """The id of the source, whose figures count once; for a session, the session id."""
    part: int | None = None
    """The index of the turn in the session; turns are added up if none is missing."""
    model: str | None = None
    by: str | None = None
    """The subagent that made the call; None for the agent itself."""
    is_unique: bool = False
    """Whether the key names the same call in every session, so that copies count once."""


class AgentEnded(msgspec.Struct, frozen=True):
    """The agent reports that it has finished or failed."""

    text: str | None = None
    """The final text; None if the last message is the final text."""
    failed: bool = False
    error: str | None = None
    """The reason for the failure; None if an earlier item stated it."""
    status: int | None = None
    """The HTTP status with which the model's server rejected the request, if stated."""
    is_stopped: bool = False
    """Whether the user stopped the agent."""


def failed(error: str | None, status: int | None = None) -> AgentEnded:
    """Return the item for the end of a failed turn."""
    return AgentEnded(failed=True, error=error or None, status=status)


INTERRUPTED = "the user interrupted it"
STOPPED_BY_USER = AgentEnded(failed=True, error=INTERRUPTED, is_stopped=True)


class Refused(msgspec.Struct, frozen=True):
    """According to the output, the model's server rejected the agent's request."""

    kind: str = ""
    """The agent's name for the reason."""
    fields: str = ""
    """The fields and headers that state the end of the limit, as `name: value`."""
    status: int | None = None
    """The HTTP status."""


class CallsCounted(msgspec.Struct, frozen=True):
    """The agent reports the number of its tool calls, but not the calls themselves."""

    tool_calls: int


Item = (
    Session
    | Prompted
    | Said
    | Called
    | Returned
    | FileChanged
    | Used
    | CallsCounted
    | Refused
    | AgentEnded
)
Items = tuple[Item, ...]


class Fork:
    """Filters out the items that a forked session repeats from its parent."""

    def __init__(self) -> None:
        self._at: str | None = None

    def own(self, message: dict[str, Any], items: Items) -> Items:
        """Return the next line's items; none if the line repeats the parent session."""
        at = message.get("timestamp")
        if self._at is not None and isinstance(at, str) and at <= self._at:
            return ()
        for item in items:
            if isinstance(item, Session):
                self._at = item.forked_at
        return items
