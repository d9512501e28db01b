"""The result of a criterion."""

from typing import NamedTuple


class Skip(Exception):  # noqa: N818 - not an error
    """A criterion cannot be judged here; the message states the reason."""


class Verdict(NamedTuple):
    """Whether a criterion is met, with its counts."""

    passed: bool
    counts: str
    problems: list[str]
