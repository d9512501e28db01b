"""The cost of every answer of the scripted model, and a record of all answers."""

import json
import threading
from pathlib import Path
from typing import NamedTuple


class Tokens(NamedTuple):
    """The input tokens, cache reads and output tokens of an answer."""

    anew: int = 120
    cached: int = 1000
    out: int = 40
    thoughts: int = 10
    """So many of those written, where a dialect counts them apart."""


ANSWER = Tokens()


class Answered(NamedTuple):
    """An answer as the server returned it."""

    dialect: str
    model: str
    play: str | None
    """None for requests of the agent itself."""
    step: int
    act: str
    status: int
    is_whole: bool
    """Whether all of it was sent before the agent went away."""
    path: str = ""


class Ledger:
    """All answers in order, optionally also written to a file as lines."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._answered: list[Answered] = []

    def enter(self, answered: Answered) -> None:
        """Write down an answer."""
        with self._lock:
            self._answered.append(answered)
            if self._file is not None:
                with self._file.open("a") as file:
                    file.write(json.dumps(answered._asdict()) + "\n")

    def taken(self) -> list[Answered]:
        """Return the answers since the last call."""
        with self._lock:
            answered, self._answered = self._answered, []
        return answered
