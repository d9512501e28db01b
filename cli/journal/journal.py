"""The `sprintlog journal` commands: attempts, learnings and patterns."""

from .. import typed

PARTS = ("entry", "learning", "pattern")
WHOLE = {"open": "open_", "status": "status", "search": "search", "migrate": "migrate"}


@typed.group(
    "journal",
    lazy={
        **{name: f"journal.{name}:command" for name in PARTS},
        **{name: f"journal.contents:{function}" for name, function in WHOLE.items()},
    },
)
def command() -> None:
    """Record attempts, learnings and patterns; search or summarize the journal."""
