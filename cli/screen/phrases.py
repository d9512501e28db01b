"""Times as this terminal shows them."""

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.times import parse

from . import times
from .terminal import clock, terminal


def when(text: object, *, is_relative: bool = False) -> str:
    """Return a recorded time for people: short and local on a terminal, else as it is."""
    said = str(text)
    if terminal().has_utc:
        return said
    try:
        moment = parse(said)
    except InvalidInputError:
        return said
    told = times.relative if is_relative else times.short
    return told(moment, now=times.moment_of(clock() * 1000), zone=None)
