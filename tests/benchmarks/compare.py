"""`make bench-compare BASE=COMMIT`: compare the cost of the rows at HEAD with a commit.

Both commits are unpacked and measured in turns (A B A B ...), each time in a separate
process. The table shows CPU time, which other processes disturb least, and exit status 1
means that a row could not be measured.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec

PAIRS = 9
_ONE_ROW = Path(__file__).with_name("one_row.py")
_WIDTHS = (38, 2, 7, 7, 7, 7, 6)


class Refusal(Exception):  # noqa: N818 - what was asked for cannot be done
    """The reason why nothing is measured, on one line."""


class Side(NamedTuple):
    """One of the two commits."""

    name: str
    folder: Path
    rows: list[str]
    formerly: dict[str, str]
    """By the name of a row, the one it had in older commits."""

    def own_name(self, row: str, newer: "Side") -> str:
        """Return the name of a newer commit's row here."""
        return row if row in self.rows else newer.formerly.get(row) or row


class Compared(NamedTuple):
    """The seconds of CPU time of a row on either side, by pair."""

    base: list[float]
    head: list[float]

    @property
    def ratio(self) -> float:
        """Return the median, over pairs, of HEAD's time relative to BASE's."""
        pairs = zip(self.base, self.head, strict=True)
        return median(head / base for base, head in pairs)


def main() -> int:
    """Compare the requested rows, and print each result immediately."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", metavar="BASE", help="the commit to compare with")
    parser.add_argument(
        "-k", action="append", metavar="NAME", help="rows that hold this; may be repeated"
    )
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"default: {PAIRS}")
    options = parser.parse_args()
    try:
        if options.pairs < 1:
            raise Refusal("--pairs must be 1 or more")
        with tempfile.TemporaryDirectory(prefix="sprintlog-compare-") as name:
            return compare(Path(name), options.base, options.k or [""], options.pairs)
    except Refusal as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def compare(folder: Path, base_name: str, wanted: list[str], pairs: int) -> int:
    """Measure both commits in subfolders of a folder; return the exit status."""
    # A copy, because the checkout may switch branches in the meantime.
    shutil.copy(_ONE_ROW, folder)
    base, head = (
        _side(name, folder / place) for name, place in ((base_name, "a"), ("HEAD", "b"))
    )
    known = {base.own_name(name, head) for name in head.rows}
    names = [*head.rows, *(name for name in base.rows if name not in known)]
    chosen = [name for name in names if any(part in name for part in wanted)]
    if not chosen:
        rows = "; ".join(names)
        raise Refusal(f"no row holds {' or '.join(wanted)}; there are: {rows}")
    if _git("status", "--porcelain", "--untracked-files=no"):
        _tell("note: changes that are not committed are not measured\n")
    print(f"A = {base.name} (BASE)   B = {head.name} (HEAD)   pairs: {pairs}")
    print(f"load {os.getloadavg()[0]:.1f} at the start\n")
    print("processor time of one unit".rjust(sum(_WIDTHS[:4]) + 3))
    print(_columns("row", "", "A", "B", "least A", "least B", "B/A"), flush=True)
    answers = [_answer(name, base, head, pairs) for name in chosen]
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")
    return int(not all(answers))


def _answer(name: str, base: Side, head: Side, pairs: int) -> bool:
    """Measure a row and print it; return whether it needs no repair."""
    took = Compared([], [])
    _tell(f"{name}: 0")
    try:
        by = _definitions(name, base, head)
        names = [name if side is head else base.own_name(name, head) for side in by]
        for pair in range(pairs):
            _tell(f" {pair + 1}")
            took.base.append(_seconds(names[0], base, by[0]))
            took.head.append(_seconds(names[1], head, by[1]))
    except _Unmeasured as reason:
        line, is_sound = f"{name}: {reason}", not reason.is_failure
    else:
        line, is_sound = _line(name, took), True
        if by[0] != by[1]:
            line += (
                "\n  (each side as it defines this row: B's definition needs what A lacks)"
            )
    _tell("\r\x1b[K" if sys.stderr.isatty() else "\n")
    print(line, flush=True)
    return is_sound


class _Unmeasured(Exception):  # noqa: N818 - not always an error
    """The reason why a row cannot be measured here."""

    def __init__(self, reason: str, *, is_failure: bool) -> None:
        super().__init__(reason)
        self.is_failure = is_failure


def _definitions(name: str, base: Side, head: Side) -> tuple[Side, Side]:
    """Return the source of each side's row definition, after an uncounted run of the row.

    HEAD's definition is used for both sides unless it requires something that BASE lacks.
    The run also compiles the modules that the row requires.
    """
    older = base.own_name(name, head)
    if name not in head.rows:
        raise _Unmeasured(f"only {base.name} has this row", is_failure=False)
    _seconds(name, head, head)
    try:
        _seconds(name, base, head)
    except _Unmeasured as reason:
        if older not in base.rows:
            why = f"only {head.name} has this row"
            raise _Unmeasured(why, is_failure=False) from reason
    else:
        return head, head
    _seconds(older, base, base)
    return base, head


def _seconds(name: str, measured: Side, by: Side) -> float:
    """Return the processor time of one unit, measured in a fresh process."""
    answer = _child(measured.folder, by.folder, name)
    if "seconds" in answer:
        return float(answer["seconds"])
    if "skipped" in answer:
        raise _Unmeasured(f"skipped: {answer['skipped']}", is_failure=False)
    raise _Unmeasured(f"could not be measured: {answer['failed']}", is_failure=True)


def _child(measured: Path, definitions: Path, *name: str) -> dict[str, Any]:
    """Run `one_row.py` for a side, with the dependencies that are installed here."""
    dropped = ("SPRINTLOG_", "PYTHONDONTWRITEBYTECODE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    done = subprocess.run(
        [sys.executable, _ONE_ROW.name, measured, definitions, *name],
        cwd=measured.parent,
        env={
            **kept,
            "PYTHONPATH": str(measured / ".package"),
            "PYTHONPYCACHEPREFIX": str(measured.parent / "bytecode"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"failed": last[-1][:200]}
    answer: dict[str, Any] = msgspec.json.decode(done.stdout)
    return answer


def _side(name: str, folder: Path) -> Side:
    """Unpack a commit; this checkout learns nothing of it."""
    wanted = ("--verify", "--quiet", name + "^{commit}")
    commit = _git("rev-parse", *wanted).decode().strip() if name else ""
    if not commit:
        raise Refusal(f"{name!r} names no commit here; say BASE=COMMIT")
    with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as files:
        files.extractall(folder, filter="data")
    answer = _child(folder, folder)
    if "failed" in answer:
        raise Refusal(f"{name} has no rows to compare: {answer['failed']}")
    return Side(commit[:10], folder, answer["rows"], answer["formerly"])


def _git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise Refusal("there is no git") from None
    return done.stdout if done.returncode == 0 else b""


def _line(name: str, took: Compared) -> str:
    middle = median(took.base)
    unit, size = next(
        (unit, size)
        for unit, size in (("s", 1.0), ("ms", 1e3), ("µs", 1e6))
        if middle * size >= 1 or unit == "µs"
    )
    figures = (middle, median(took.head), min(took.base), min(took.head))
    shown = [f"{figure * size:.{_digits(figure * size)}f}" for figure in figures]
    return _columns(name, unit, *shown, f"{took.ratio:.3f}")


def _digits(figure: float) -> int:
    return 2 if figure < 10 else 1


def _columns(*cells: str) -> str:
    return " ".join(
        cell.rjust(width) if index else cell.ljust(width)
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )


def _tell(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
