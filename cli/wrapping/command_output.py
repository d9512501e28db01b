"""A wrapped command's output, read from the frames sent by its parent process."""

from typing import BinaryIO

from sprintlog.engine.adapters.agents.outcome import Activity
from sprintlog.engine.adapters.agents.output import OutputReader, with_errors
from sprintlog.engine.adapters.hooks.transcript_calls import StreamCalls
from sprintlog.engine.adapters.processes.output import Output
from sprintlog.engine.sprint.answers.verdict import Answer

from .frames import COUNTS, ENDED, FRAME, MISSED, RESULT, read_pair


class Heard:
    """The output of a command, and how it ended."""

    def __init__(self) -> None:
        self.output, self.errors = Output(), Output()
        self.calls = StreamCalls()
        self._hearing = OutputReader(also=self.calls.take)
        self.problem: Exception | None = None
        """The error that occurred while parsing the output."""
        self.ended: tuple[int, int] | None = None
        """The exit code and duration; None if the waiting process was killed."""

    def read(self, frames: BinaryIO) -> None:
        """Read all frames to the end of input."""
        while head := _exactly(frames, FRAME.size):
            kind, size = FRAME.unpack(head)
            content = _exactly(frames, size)
            if kind == ENDED:
                self.ended = read_pair(RESULT, content)
            elif kind == MISSED:
                out, errors = read_pair(COUNTS, content)
                self.output.miss(out)
                self.errors.miss(errors)
            elif kind == 1:
                self.output.feed(content)
                self._understand(content)
            else:
                self.errors.feed(content)

    def _understand(self, content: bytes) -> None:
        if self.problem is None:
            try:
                self._hearing.feed(content)
            except Exception as error:  # noqa: BLE001 (the rest must still be read)
                self.problem = error

    def understood(self, exit_code: int | None) -> tuple[Answer, Activity]:
        """Return the answer and the activity; call this method once, at the end."""
        try:
            if self.problem is None:
                heard, errors = self._hearing.heard(), self.errors.text()
                return with_errors(heard, errors, exit_code=exit_code)
        except Exception as error:  # noqa: BLE001 (hostile output must not stop recording)
            self.problem = error
        return OutputReader().heard()


def _exactly(frames: BinaryIO, size: int) -> bytes:
    """Return `size` bytes, or none at the end of input."""
    parts = bytearray()
    while len(parts) < size:
        if not (more := frames.read(size - len(parts))):
            return b""
        parts += more
    return bytes(parts)
