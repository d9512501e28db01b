"""Who calls: from the name that a client gives itself to the actor of an event."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from ..record import Options, check_is_on

UNNAMED = "agent:mcp"
_NAME_CHARS_MAX = 64
_ODD = re.compile(r"[^A-Za-z0-9._+-]+")


class ServedLog(NamedTuple):
    """How the server is wanted."""

    session: str
    """What all that it records belongs to, where nothing else says it."""
    sprint_id: str | None = None
    prompt_file: str | None = None
    prompt_base: Path | None = None
    reads_only: bool = False

    def caller(self, name: str | None) -> "Caller":
        """Return who calls, by the name that a client gives itself."""
        return Caller(actor_of(name), self)


class Caller(NamedTuple):
    """Who calls a tool, and for which sprint."""

    actor: str
    served: ServedLog

    def meant(self, named: str | None) -> str | None:
        """Return the sprint that is meant; None for the only unfinished one."""
        return self.served.sprint_id if named is None else named

    def options(self, given: Any, key: str | None = None) -> Options:
        """Return what a recording command is given besides its arguments.

        Raise `RefusedError` where nothing is to be recorded.
        """
        check_is_on()
        work = None if "SPRINTLOG_CORRELATION" in os.environ else self.served.session
        return Options(
            {
                "sprint_id": self.meant(given),
                "actor": self.actor,
                "key": key,
                "correlation_id": work,
            }
        )


def actor_of(name: str | None) -> str:
    """Return the actor for a client: what it may be called, or what a loop calls it.

    It is an agent whatever it says: nobody becomes a person or the runtime by a name.
    """
    said = os.environ.get("SPRINTLOG_ACTOR", "")
    if not said.startswith("agent:"):
        said = f"agent:{name or ''}"
    kept = _ODD.sub("-", said.removeprefix("agent:")).strip("-")[:_NAME_CHARS_MAX]
    return f"agent:{kept}" if kept else UNNAMED
