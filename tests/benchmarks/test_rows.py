"""Every row can be measured, and names its baseline."""

import math
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests import needs

from . import measure
from .logs import TINY, Bench
from .measure import OURS, Figure, Sides, Skip
from .run import ROWS

ROOT = Path(__file__).resolve().parents[2]
OUR_CODE = tuple(str(ROOT / part) for part in ("engine/", "projections/", "cli/"))


class Watch:
    """Records whether our code ran, in this process or in a child."""

    def __init__(self) -> None:
        self.is_ours = False
        self._is_on = False
        self._running: list[Any] = []

    def run(self, work: Callable[[], object]) -> None:
        """Run work under watch."""
        before, self._is_on = sys.getprofile(), True
        sys.setprofile(self._called)
        try:
            work()
        finally:
            sys.setprofile(before)
            self._is_on = False

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OUR_CODE):
            self.is_ours = True

    def look_around(self) -> None:
        """Record our code that runs before both sides and serves both of them."""
        self.is_ours |= any(process.poll() is None for process in self._running)

    def started(self, *words: Any, **settings: Any) -> Any:
        """Start a command, and record whether it is sprintlog's."""
        process = _popen(*words, **settings)
        if any("sprintlog" in str(word) for word in words[0][:3]):
            self.is_ours |= self._is_on
            self._running.append(process)
        return process


_popen = subprocess.Popen


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Watch the baseline of every row."""
    watch = Watch()
    monkeypatch.setattr(subprocess, "Popen", watch.started)

    def side_by_side(ours: Any, theirs: Any, **settings: Any) -> Sides:
        watch.look_around()
        return original(ours, partial(watch.run, theirs), **settings)

    original = measure.side_by_side
    for name, module in list(sys.modules.items()):
        if name.startswith("tests.benchmarks.rows."):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    monkeypatch.setattr(module, attribute, side_by_side)
    return watch


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Provide a benchmark run with sizes for tests."""
    return Bench(tmp_path, TINY)


@pytest.mark.sampled(2, 6)
@pytest.mark.parametrize("name", ROWS)
def test_a_row_gives_a_figure_and_names_its_baseline(
    name: str, bench: Bench, watch: Watch
) -> None:
    """A row has finite figures, names its baseline, and marks a baseline of our own."""
    try:
        found: Figure = ROWS[name].measure(bench)
    except Skip as reason:
        pytest.skip(needs.line(f"a package: {reason}"))
    figures = (found.ours, found.theirs, found.ratio)
    assert all(math.isfinite(figure) and figure > 0 for figure in figures)
    assert found.against.strip(" -")
    assert found.against.startswith(OURS) == watch.is_ours


def test_rows_about_time_tell_both_ratios() -> None:
    """The least processor time and the median of pairs are printed, in the goal's units."""
    sides = Sides(2.0, 4.0, processor=0.25, pairs=0.5)
    faster = measure.rate(sides, "something")
    longer = measure.duration(sides, "something")
    assert (faster.ratio, faster.processor, faster.pairs) == (2, 4, 2)
    assert (longer.ratio, longer.processor, longer.pairs) == (0.5, 0.25, 0.5)


def test_the_median_of_pairs_outlives_a_disturbed_round() -> None:
    """A single disturbed round changes neither ratio."""
    ticks = iter([0, 1, 0, 2, 0, 90, 0, 1, 0, 1, 0, 2])  # theirs is first in round 2
    by = measure.By(lambda: float(next(ticks)), min)
    sides = measure.side_by_side(lambda: None, lambda: None, rounds=3, by=by)
    assert (sides.ratio, sides.processor, sides.pairs) == (0.5, 0.5, 0.5)
