"""Random histories of work trees, and the shortest failing part of one."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from .played import History, Step
from .world import TREES, World

STEPS = 20
OPEN_MAX = 2
TREES_MAX = (1, 1, 2, 2, 3)
"""How many trees a history may have."""
EDITS = ("edit", "edit", "edit", "edit", "commit", "stash", "pop", "switch", "large")
COPY = "copy"

Make = Callable[[Path], World]


class Failure(NamedTuple):
    """A history that contradicts the model, shortened as far as possible."""

    seed: int
    steps: list[Step]
    error: BaseException

    def __str__(self) -> str:
        """Return the failure, and its steps as a test plays them again."""
        steps = "".join(f"    {step!r},\n" for step in self.steps)
        return f"seed {self.seed}: {type(self.error).__name__}: {self.error}\n[\n{steps}]"


class _Drawn:
    """A rough model of a tree after the steps drawn so far."""

    def __init__(self) -> None:
        self.open = self.ended = self.undoable = self.redoable = 0

    def possible(self) -> dict[str, int]:
        """Return the steps that may change something now, with their weights."""
        if not self.open + self.ended:
            return {"begin": 8, "edit": 3, "commit": 1}
        weights = {"edits": 16}
        if self.open < OPEN_MAX:
            weights |= {"begin": 2 if self.open else 7, "mortal begin": 1}
        if self.open:
            weights |= {"end": 8, "kill": 1}
        weights |= {"rollback": 2 if self.open else 8, "dry run": 1}
        if not self.open:
            weights |= {"killed rollback": 2, "move": 1, "remove": 1, "finish": 1}
            weights |= {"undo": 40 * self.undoable, "redo": 20 * self.redoable}
        return weights

    def take(self, name: str) -> None:
        """Process a step."""
        self.open += (name in ("begin", "mortal begin")) - (name in ("end", "kill"))
        self.ended += name == "end"
        if name == "rollback":
            self.undoable, self.redoable = 1, 0
        elif name in ("undo", "redo"):
            self.undoable, self.redoable = int(name == "redo"), int(name == "undo")
        elif name != "dry run":
            self.undoable = self.redoable = 0


def steps_of(seed: int, count: int = STEPS) -> list[Step]:
    """Return the steps of a random history."""
    chance = Random(seed)
    names = chance.sample([*TREES], chance.choice(TREES_MAX))
    drawn = {name: _Drawn() for name in names}
    steps: list[Step] = []
    while len(steps) < count:
        if (
            len(TREES_MAX) > 1
            and "main" in names
            and COPY not in drawn
            and steps
            and chance.random() < 0.02
        ):
            steps.append(("copy", "main", 0))
            drawn[COPY] = _Drawn()
        tree = chance.choice([*drawn])
        possible = drawn[tree].possible()
        name = chance.choices([*possible], [*possible.values()])[0]
        if name == "edits":
            name = chance.choice(EDITS)
        drawn[tree].take(name)
        steps.append((name, tree, chance.randrange(1 << 30)))
    return steps


def contradiction(
    steps: Sequence[Step], folder: Path, make: Make = World
) -> BaseException | None:
    """Play steps in a new folder; return the contradiction to the model, if any."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    history = History(make(folder))
    try:
        for step in steps:
            history.play(step)
    except Exception as error:  # noqa: BLE001 (a history is replayed despite any error)
        return error
    finally:
        history.close()
        shutil.rmtree(folder, ignore_errors=True)
    return None


def failure(
    seed: int, folder: Path, make: Make = World, *, shrinks: bool = True
) -> Failure | None:
    """Play a random history; return how it contradicts the model, if it does."""
    steps = steps_of(seed)
    if (error := contradiction(steps, folder, make)) is None:
        return None
    size = len(steps) // 2 if shrinks else 0
    while size:
        for at in range(len(steps) - size, -1, -size):
            fewer = steps[:at] + steps[at + size :]
            again = contradiction(fewer, folder, make)
            if again is not None and _kind(again) == _kind(error):
                steps, error = fewer, again
        size //= 2
    return Failure(seed, steps, error)


def _kind(error: BaseException) -> object:
    return getattr(error, "kind", type(error))
