"""What a progress.json is that is no journal: other tools use the name, too."""

import msgspec

from ..errors import RefusedError

_JOURNAL = frozenset({"version", "entries", "learnings", "patterns", "created_at"})
_STATUS = frozenset({"status", "indicator", "elapsed_seconds", "last_output", "timestamp"})
_SHOWN_MAX = 5

ELSEWHERE = (
    "`sprintlog journal open --place .ralph/journal.json` puts ours elsewhere; "
    "so does SPRINTLOG_JOURNAL"
)
"""What to do about one."""


def stranger(data: object) -> str | None:
    """Return what a progress.json is; None where it is a journal, or may become one."""
    if not isinstance(data, dict):
        return "JSON, but no object"
    names = {str(name) for name in data}
    if not names or names & _JOURNAL:
        return None
    if {"status", "indicator"} <= names <= _STATUS:
        return "the status file of a loop that is running, with what it is doing now"
    shown = ", ".join(sorted(name[:40] for name in names)[:_SHOWN_MAX])
    return f"no journal but a file of another tool, with {shown}"


def check_no_stranger(content: bytes, place: str) -> None:
    """Refuse to begin a journal where another tool has a file: say what that is."""
    try:
        found = stranger(msgspec.json.decode(content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = "no JSON"
    if found is None:
        hint = f"`sprintlog import journal {place}` takes it in, then repeat this"
        raise RefusedError(
            f"{place} is there already, a journal of another tool", hint=hint, file=place
        )
    raise RefusedError(f"{place} is there already: {found}", hint=ELSEWHERE, file=place)
