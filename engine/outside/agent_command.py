"""Runs an agent's command: the prompt on its standard input, nothing of it left over."""

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .kept import run_kept
from .output import Output

ANSWER_BYTES_MAX = 4 * 1024 * 1024
"""How much of the end of an agent's output is read for its answer."""


class AgentOutput(Output):
    """An agent's output within its bound, and the end of it whole, where the answer is."""

    def __init__(self) -> None:
        super().__init__()
        self._end = bytearray()

    @property
    def answer(self) -> str:
        """Return the end of the output, all of it where it is not too long."""
        return self._end[-ANSWER_BYTES_MAX:].decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        super().feed(chunk)
        self._end += chunk
        if len(self._end) > 2 * ANSWER_BYTES_MAX:
            del self._end[:-ANSWER_BYTES_MAX]


class AgentRun(NamedTuple):
    """How an agent's command ended, and what it printed."""

    exit_code: int | None
    """Minus the number of the signal that ended it; None when nobody knows."""
    timed_out: bool
    duration_ms: int | None
    output: AgentOutput
    errors: Output
    left_behind: int
    """How many processes it left running; they were ended."""


def run_agent(
    command: Sequence[str],
    *,
    prompt: str,
    folder: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    held: Collection[int] = (),
    tick: Callable[[], None] = lambda: None,
) -> AgentRun:
    """Run a command in a folder; return once it and all it started ended.

    The descriptors `held` stay open until then. `tick` is called once a minute.
    """
    output, errors = AgentOutput(), Output()
    # A file and no pipe: an agent that reads nothing of it must not stop us.
    with tempfile.TemporaryFile() as given:
        given.write(prompt.encode("utf-8", "surrogateescape"))
        given.flush()
        given.seek(0)
        ended = run_kept(
            command,
            folder=folder,
            environment=environment,
            timeout_seconds=timeout_seconds,
            output=output,
            errors=errors,
            given=given.fileno(),
            held=held,
            tick=tick,
        )
    if ended is None:
        return AgentRun(None, False, None, output, errors, 0)
    return AgentRun(
        ended.exit,
        ended.timed_out,
        round(1000 * ended.seconds),
        output,
        errors,
        ended.left_behind,
    )
