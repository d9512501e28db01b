"""Commands run in a separate process, as if the user had typed them."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from sprintlog.engine.adapters.processes.output import Output
from sprintlog.engine.adapters.processes.supervised import run_kept
from sprintlog.engine.errors import SprintlogError
from sprintlog.projections.views.answers import LINES

from ..context import here
from ..rpc.frames import CANCELLED, OF_EXIT_CODE, FailedRequestError
from ..rpc.params import Call, CallEnded

ANSWER_BYTES_MAX = 64 * 1024 * 1024
LINE_CHARS_MAX = 10_000
SECONDS_MAX = 10 * 365 * 86_400.0
"""The time limit of a command: ten years, because a loop may run for very long."""
STOPPING_SECONDS = 5.0
"""The time for a loop to record its interruption and to update its state file."""
PRINTS_JSON = ("schema",)
"""Commands that always print JSON."""

Tell = Callable[[str], None]


def call(given: Call, *, tell: Tell, stop: int) -> CallEnded:
    """Run a command and return its answer; raise `FailedRequestError` if it fails.

    The command's messages are forwarded line by line. When `stop` becomes readable or the
    caller exits, the command and all its processes are stopped by SIGTERM, then by SIGKILL.
    """
    answer, errors = _Kept(), _Lines(tell)
    ended = run_kept(
        [sys.executable, "-P", "-m", "sprintlog.cli", *arguments_of(given.words)],
        folder=here(),
        environment=os.environ,
        timeout_seconds=SECONDS_MAX,
        output=answer,
        errors=errors,
        given=given.input,
        stop=stop,
        stopping_seconds=STOPPING_SECONDS,
    )
    if ended is None:
        raise FailedRequestError(CANCELLED, "cancelled: events already recorded remain")
    errors.feed(b"\n")
    lines = answer.lines()
    if ended.exit != 0 and not lines:
        said = errors.error or {"error": "error", "message": errors.last, "hint": None}
        raise FailedRequestError(OF_EXIT_CODE - abs(ended.exit), said["message"], said)
    is_list = bool({" ".join(given.words[:count]) for count in (1, 2)} & LINES)
    return CallEnded(ended.exit, lines if is_list else next(iter(lines), None))


def arguments_of(words: list[str]) -> list[str]:
    """Return the arguments, adding `--json` unless the command always prints JSON."""
    if words[0] in PRINTS_JSON:
        return words
    # Arguments after `--` belong to another program.
    end = words.index("--") if "--" in words else len(words)
    return [*words[:end], "--json", *words[end:]]


class _Kept(Output):
    """The complete output of a command."""

    def __init__(self) -> None:
        super().__init__()
        self._all = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Append the next chunk."""
        super().feed(chunk)
        self._all += chunk[: ANSWER_BYTES_MAX + 1 - len(self._all)]

    def lines(self) -> list[Any]:
        """Return the answers, one per line; raise `SprintlogError` for any other output."""
        if len(self._all) > ANSWER_BYTES_MAX:
            said = f"the answer is longer than {ANSWER_BYTES_MAX} bytes"
            raise SprintlogError(said, hint="request less, or run the command itself")
        try:
            return [msgspec.json.decode(line) for line in self._all.splitlines()]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SprintlogError("the command has no JSON output") from error


class _Lines(Output):
    """Forwards a command's error output line by line, and stores the reported error."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell
        self._rest = b""
        self.error: dict[str, Any] | None = None
        self.last = "it exited without output"

    def feed(self, chunk: bytes) -> None:
        """Process the next chunk."""
        super().feed(chunk)
        *ended, self._rest = (self._rest + chunk).split(b"\n")
        self._rest = self._rest[:LINE_CHARS_MAX]
        for line in ended:
            self._take(line)

    def _take(self, line: bytes) -> None:
        text = line.decode(errors="replace")[:LINE_CHARS_MAX]
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            said = msgspec.json.decode(line)
            if isinstance(said, dict) and {"error", "message"} <= said.keys():
                self.error = said
                return
        if text.strip():
            self.last = text
            self._tell(text)
