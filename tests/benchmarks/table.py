"""How the table is printed: for a terminal, as Markdown, and as JSON."""

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from .measure import Figure, Goal, Skip, shown

_HEADS = ("row", "ours", "against", "theirs", "ratio", "processor", "pairs", "goal")
_WIDTHS = (38, 11, 44, 11, 8, 9, 7, 8)
_LEFT = (0, 2)


class Broken(NamedTuple):
    """A row that could not be measured because something failed."""

    reason: str


class Measured(NamedTuple):
    """A row and its result."""

    name: str
    goal: Goal
    found: Figure | Skip | Broken
    load: float
    """How many processes wanted the processor in the minute before."""
    seconds: float = 0
    """How long it took to measure, making ready included."""

    @property
    def is_passed(self) -> bool | None:
        """Return whether the goal was met; None without a goal or a figure."""
        if not isinstance(self.found, Figure):
            return None
        return self.goal.is_met_by(self.found.ratio)

    def answer(self) -> dict[str, Any]:
        """Return the row as JSON."""
        goal, found = self.goal, self.found
        wanted = {
            "goal": goal.value,
            "goal_is": "at most" if goal.at_most else "at least",
            "load": self.load,
            "seconds": self.seconds,
        }
        if isinstance(found, Skip):
            return {"name": self.name, **wanted, "skipped": str(found)}
        if isinstance(found, Broken):
            return {"name": self.name, **wanted, "failed": found.reason}
        return {"name": self.name, **found._asdict(), **wanted, "passed": self.is_passed}

    def cells(self) -> list[str]:
        """Return the row's cells, in the order of the columns."""
        goal, found = self.goal, self.found
        assert isinstance(found, Figure)
        wanted = "-"
        if goal.value is not None:
            unit = "" if goal.unit == "x" else goal.unit
            wanted = f"{'≤' if goal.at_most else '≥'} {goal.value:,g} {unit}".rstrip()
        ours, theirs = (shown(side, found.unit) for side in (found.ours, found.theirs))
        ratio = shown(found.ratio, "" if goal.unit == "x" else goal.unit)
        ways = (
            "-" if way is None else shown(way) for way in (found.processor, found.pairs)
        )
        return [self.name, ours, found.against, theirs, ratio, *ways, wanted]

    def unmeasured(self) -> str:
        """Return the reason why there is no figure."""
        if isinstance(self.found, Broken):
            return f"could not be measured: {self.found.reason}"
        return f"skipped: {self.found}"

    def verdict(self) -> str:
        """Return PASS, FAIL or nothing, and the row's note."""
        assert isinstance(self.found, Figure)
        word = {True: "PASS", False: "FAIL", None: ""}[self.is_passed]
        return "  ".join(part for part in (word, self.found.note) if part)


def measured_now(
    name: str, goal: Goal, found: Figure | Skip | Broken, *, since: float
) -> Measured:
    """Return a row just measured, with the load during its measurement."""
    seconds = round(time.monotonic() - since, 1)
    return Measured(name, goal, found, round(os.getloadavg()[0], 1), seconds)


def print_now(line: str) -> None:
    """Print a line immediately."""
    print(line, flush=True)


class Terminal:
    """A table in columns, printed row by row."""

    def head(self, machine: dict[str, str]) -> None:
        """Print the machine, and the names of the columns."""
        for name, value in machine.items():
            print(f"{name:<12} {value}")
        print(f"\n{_columns(_HEADS)}", flush=True)

    def row(self, row: Measured) -> None:
        """Print a row."""
        if not isinstance(row.found, Figure):
            print(f"{row.name:<{_WIDTHS[0]}}  {row.unmeasured()}", flush=True)
            return
        print(f"{_columns(row.cells())}  {row.verdict()}".rstrip(), flush=True)

    def foot(self, summary: str) -> None:
        """Print the summary."""
        print(f"\n{summary}")


class Markdown:
    """The table of `docs/explanation/performance.md`."""

    def __init__(self, say: Callable[[str], object] = print_now) -> None:
        self._say = say

    def head(self, machine: dict[str, str]) -> None:
        """Print the machine, and the names of the columns."""
        for name, value in machine.items():
            self._say(f"- {name}: {value}")
        heads = (*_HEADS, "")
        sides = ("---" if at in (*_LEFT, 8) else "--:" for at in range(len(heads)))
        self._say(f"\n{piped(heads)}\n|{'|'.join(sides)}|")

    def row(self, row: Measured) -> None:
        """Print a row."""
        if isinstance(row.found, Figure):
            self._say(piped((*row.cells(), row.verdict())))
            return
        empty = [""] * (len(_HEADS) - 1)
        self._say(piped((row.name, *empty, row.unmeasured())))

    def foot(self, summary: str) -> None:
        """Print the summary."""
        self._say(f"\n{summary}")


def summary(rows: list[Measured], began: float) -> str:
    """Return one line with the number of goals met, the load, and the duration."""
    passed = sum(row.is_passed is True for row in rows)
    failed = [row.name for row in rows if row.is_passed is False]
    load = max((row.load for row in rows), default=0)
    minutes = (time.monotonic() - began) / 60
    missed = f" ({'; '.join(failed)})" if failed else ""
    return (
        f"{passed} PASS, {len(failed)} FAIL{missed}; load at most {load:.1f}; "
        f"{minutes:.1f} minutes"
    )


def _columns(cells: tuple[str, ...] | list[str]) -> str:
    return "  ".join(
        cell.ljust(width) if index in _LEFT else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ).rstrip()


def piped(cells: tuple[str, ...]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
