"""Many cases shared out among runners that work side by side."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from tests.faults.runner import Runner
from tests.faults.shim import Unavailable

from .criterion import Skip

Turn = TypeVar("Turn")


def one_runner() -> Runner:
    """Return a runner; raise `Skip` if none is available."""
    try:
        return Runner()
    except Unavailable as reason:
        raise Skip(str(reason)) from reason


class Runners:
    """Runners that take turns."""

    def __init__(self, some: Sequence[Runner]) -> None:
        self.first = some[0]
        """Runs before and after the measured turns."""
        self._count = len(some)
        self._free: SimpleQueue[Runner] = SimpleQueue()
        for runner in some:
            self._free.put(runner)

    def play(
        self,
        turns: Sequence[Turn],
        folder: Path,
        sweep: Callable[[Runner, Turn, Path], Iterable[str]],
    ) -> list[str]:
        """Play each turn in a separate folder; return the problems."""

        def one(number: int) -> list[str]:
            runner = self._free.get()
            try:
                place = folder / f"turn-{number}"
                place.mkdir()
                return [*sweep(runner, turns[number], place)]
            finally:
                self._free.put(runner)

        with ThreadPoolExecutor(self._count) as pool:
            return [said for found in pool.map(one, range(len(turns))) for said in found]


@contextmanager
def runners(count: int) -> Iterator[Runners]:
    """Provide some runners; raise `Skip` if none are available."""
    with ExitStack() as stack:
        yield Runners([stack.enter_context(one_runner()) for _ in range(count)])
