"""All commands that can be created by name."""

from functools import cache
from typing import Any

import msgspec

from .command import Command
from .journal import rules
from .sprint.commands import TOPICS as OF_SPRINTS

OF_THE_JOURNAL = (rules,)


@cache
def registered() -> dict[str, type[Command]]:
    """Return a mapping from name to command, sorted by name."""
    found = {
        struct.name(): struct
        for topic in (*OF_SPRINTS, *OF_THE_JOURNAL)
        for struct in vars(topic).values()
        if isinstance(struct, type)
        and issubclass(struct, Command)
        and struct.__module__ == topic.__name__
    }
    return dict(sorted(found.items()))


def schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the commands' JSON Schemas by name, and their shared definitions."""
    every = registered()
    found, parts = msgspec.json.schema_components(
        every.values(), ref_template="#/$defs/{name}"
    )
    return dict(zip(every, found, strict=True)), parts
