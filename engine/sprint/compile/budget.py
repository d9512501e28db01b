"""How large a plan may get: counted while it is built; a small file can ask for much.

A few workflows that inline each other can stand for more phases than memory holds, and a
template can name a long text a million times.
"""

from ...log.envelope import DOCUMENT_BYTES_MAX


class TooLargeError(Exception):
    """The plan grows beyond what can be recorded."""


class Budget:
    """What is left of the room that a recorded plan has."""

    def __init__(self) -> None:
        self._left = DOCUMENT_BYTES_MAX

    def spend(self, text: str, beside: int = 0) -> None:
        """Take a text, and bytes beside it; raise `TooLargeError` when no room is left."""
        self._left -= len(text) + beside
        if self._left < 0:
            raise TooLargeError
