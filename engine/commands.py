"""Every command there is: its name, its struct, the function that decides on it."""

from functools import cache
from typing import Any, NamedTuple

import msgspec

from .command import Command, Decider
from .journal import rules
from .sprint.commands import TOPICS as OF_SPRINTS

OF_THE_JOURNAL = (rules,)


class RegisteredCommand(NamedTuple):
    """A command, as whoever takes it by its name needs it."""

    name: str
    struct: type[Command]
    decide: Decider
    stream: str
    """What kind of stream decides on it: `sprint` or `journal`."""


@cache
def registered() -> dict[str, RegisteredCommand]:
    """Return every command by its name, in order of name."""
    found = [
        RegisteredCommand(struct.name(), struct, decide, struct.stream)
        for topic in (*OF_SPRINTS, *OF_THE_JOURNAL)
        for struct, decide in topic.COMMANDS.items()
    ]
    return {one.name: one for one in sorted(found)}


def schemas() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the JSON Schema of each command by name, and the shared definitions."""
    every = registered()
    found, parts = msgspec.json.schema_components(
        [one.struct for one in every.values()], ref_template="#/$defs/{name}"
    )
    return dict(zip(every, found, strict=True)), parts
