"""The SHA-256 of long text that starts like the previous text; only the rest is hashed."""

from hashlib import sha256
from typing import Any

STEP = 128 * 1024
"""The distance in bytes between two intermediate states."""


class Sum:
    """The intermediate SHA-256 states of the most recently hashed content."""

    def __init__(self) -> None:
        self._content = b""
        self._steps: list[Any] = []
        """Hashes of prefixes of the content, each one step longer than the previous one."""

    def digest(self, content: bytes, *, like: bytes, same: int) -> bytes:
        """Return the SHA-256 of content whose first `same` bytes equal those of `like`."""
        steps = self._steps
        if like is not self._content or not steps:
            steps, same = [sha256()], 0
        del steps[1 + same // STEP :]
        view, last = memoryview(content), steps[-1].copy()
        place = STEP * (len(steps) - 1)
        while len(content) - place > STEP:
            last.update(view[place : place + STEP])
            steps.append(last.copy())
            place += STEP
        last.update(view[place:])
        self._content, self._steps = content, steps
        digest: bytes = last.digest()
        return digest
