"""A step that an agent names as not done."""

from typing import NamedTuple


class WantedStep(NamedTuple):
    """A step that an agent names as not done."""

    prompt: str | None
    id: str | None = None
