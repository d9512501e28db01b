"""The server's client, and the actor used for the client's events."""

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from sprintlog.workspaces import Workspace

UNNAMED = "agent:mcp"
_NAME_CHARS_MAX = 64
_ODD = re.compile(r"[^A-Za-z0-9._+-]+")


class ServedLog(NamedTuple):
    """The server's log, and the functions that the command line provides."""

    open: Callable[[], Workspace]
    check_is_on: Callable[[], None]
    """Raises an error if recording is off."""
    refresh: Callable[[Workspace, str], None]
    """Writes the state file of a stream, and reports any problem."""
    session: str
    """The id of this server process."""
    correlation_id: str | None
    """The work that all recorded events belong to."""
    sprint_id: str | None = None
    prompt_file: Callable[[Workspace], str | None] = lambda workspace: None
    """Returns the path of the prompt template in the work tree."""
    reads_only: bool = False

    def caller(self, name: str | None) -> "Caller":
        """Return the caller for a client with the given name."""
        return Caller(actor_of(name), self)


class Caller(NamedTuple):
    """The client that calls a tool, and the log that it uses."""

    actor: str
    served: ServedLog

    def meant(self, named: str | None) -> str | None:
        """Return the sprint to use, or None for the only unfinished sprint."""
        return self.served.sprint_id if named is None else named

    def envelope(self, tool: str, arguments: dict[str, Any], key: str | None) -> Any:
        """Return the metadata for a call's events; a key is bound to the call's arguments.

        Raise `RefusedError` if recording is off.
        """
        self.served.check_is_on()
        return {
            "actor": self.actor,
            "key": key,
            "key_digest": Workspace.key_digest(f"mcp {tool}", arguments) if key else None,
            "correlation_id": self.served.correlation_id,
        }


def actor_of(name: str | None) -> str:
    """Return the actor for a client, based on its name or the loop's name.

    The actor is always an agent: a client cannot use its name to act as a person or as the
    runtime.
    """
    said = os.environ.get("SPRINTLOG_ACTOR", "")
    if not said.startswith("agent:"):
        said = f"agent:{name or ''}"
    kept = _ODD.sub("-", said.removeprefix("agent:")).strip("-")[:_NAME_CHARS_MAX]
    return f"agent:{kept}" if kept else UNNAMED
