"""Every command of the journal, by its topic."""

from functools import cache
from types import ModuleType

from ..command import Commands
from . import rules, suggestions

TOPICS: tuple[ModuleType, ...] = (rules, suggestions)


@cache
def commands() -> Commands:
    """Return every command, with the function that decides on it."""
    return {struct: rule for topic in TOPICS for struct, rule in topic.COMMANDS.items()}
