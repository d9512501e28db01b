"""The topics of the journal that have commands."""

from types import ModuleType

from . import rules, suggestions

TOPICS: tuple[ModuleType, ...] = (rules, suggestions)
