"""Runs an agent's command: the prompt on its standard input, nothing of it left over."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .output import Output
from .supervised import TICK_SECONDS, OutcomeUnknownError, run_kept


class _Heard(Output):
    """Output that somebody listens to as it comes."""

    def __init__(self, listen: Callable[[bytes], None]) -> None:
        super().__init__()
        self._listen = listen

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        super().feed(chunk)
        self._listen(chunk)


class AgentRun(NamedTuple):
    """How an agent's command ended, and what it printed."""

    exit_code: int | None
    """Minus the number of the signal that ended it; None when nobody knows."""
    timed_out: bool
    duration_ms: int | None
    output: Output
    errors: Output
    unknown: str | None = None
    """Why nobody can say how it ended, although it did."""


def run_agent(
    command: Sequence[str],
    *,
    prompt: str,
    folder: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    held: Collection[int] = (),
    listen: Callable[[bytes], None] = lambda chunk: None,
    tick: Callable[[], None] = lambda: None,
    watch: Callable[[int, bool], float] = lambda pid, has_printed: TICK_SECONDS,
) -> AgentRun:
    """Run a command in a folder; return once it and all it started ended.

    The descriptors `held` stay open until then. `listen` is given its output as it
    comes. `tick` is called once a minute; for `watch` see `run_kept`.
    """
    output, errors = _Heard(listen), Output()
    try:
        ended = run_kept(
            command,
            folder=folder,
            environment=environment,
            timeout_seconds=timeout_seconds,
            output=output,
            errors=errors,
            given=prompt,
            held=held,
            tick=tick,
            watch=watch,
        )
    except OutcomeUnknownError as error:
        return AgentRun(None, False, None, output, errors, error.message)
    if ended is None:
        return AgentRun(None, False, None, output, errors)
    took = round(1000 * ended.seconds)
    return AgentRun(ended.exit, ended.timed_out, took, output, errors)
