"""Whose message an object of JSON is: told from what is in it, never from a name."""

from . import claude, codex, copilot, gemini, opencode
from .items import Items
from .values import mapping

_READERS = (opencode.read, copilot.read, gemini.read, codex.read, claude.read)
"""Those with the clearest marks first."""


def read_messages(found: object) -> list[Items | None]:
    """Return what an object, or each one of a list, says; None for an unknown one."""
    if isinstance(found, list):
        return [_read(message) for message in found]
    return [_read(found)] if isinstance(found, dict) else []


def _read(found: object) -> Items | None:
    message = mapping(found)
    return next((x for read in _READERS if (x := read(message)) is not None), None)
