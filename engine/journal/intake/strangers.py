"""What a progress.json is that is no journal: other tools use the name, too."""

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
