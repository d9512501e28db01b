"""Labels of bars: none is cut or overlaps, and each short number is present."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.facts import sprint_facts
from sprintlog.projections.page.layout import (
    CHAR,
    INSIDE,
    OVER,
    THIN,
    WHOLE,
    WIDE,
    Box,
    Label,
    Timeline,
    labels_of,
)
from sprintlog.projections.page.timeline import laid_out

from .night import SPRINT, night

NAMES = ("7 $1.58", "12", "payment", "a person")


@st.composite
def boxes(draw: st.DrawFn) -> list[Box]:
    """Return bars of a few rows that do not overlap."""
    found, ends = [], dict.fromkeys(range(3), 0)
    for _ in range(draw(st.integers(1, 12))):
        row = draw(st.integers(0, 2))
        x = ends[row] + draw(st.integers(0, 3000))
        width = draw(st.integers(35, 4000))
        if x + width <= WHOLE:
            ends[row] = x + width
            found.append(Box(row, x, width, (draw(st.sampled_from(NAMES)), "12")))
    return found


def extent(box: Box, label: Label, pixels: int) -> tuple[float, float]:
    """Return the start and the end of a label, in pixels."""
    x, width = box.x * pixels / WHOLE, box.width * pixels / WHOLE
    length = len(label.text) * CHAR
    begin = {INSIDE: x + 4, OVER: x + (width - length) / 2}[label.place]
    return begin, begin + length


@pytest.mark.parametrize("pixels", [WIDE, THIN])
@given(found=boxes())
def test_no_label_is_cut_or_meets_another(found: list[Box], pixels: int) -> None:
    """In any layout, a text has enough space and stays inside the drawing."""
    labels = labels_of(found, pixels)
    by_row: dict[int, list[tuple[float, float]]] = {}
    for box, label in zip(found, labels, strict=True):
        begin, end = extent(box, label, pixels)
        if label.text:
            by_row.setdefault(box.row, []).append((begin, end))
            assert begin >= -4
            assert end <= pixels + 4
        if label.text and label.place == INSIDE:
            assert end <= (box.x + box.width) * pixels / WHOLE
    for places in by_row.values():
        for (_, end), (begin, _) in zip(sorted(places), sorted(places)[1:], strict=False):
            assert end <= begin + 1.5


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    """Return the timeline of a night."""
    with night(tmp_path) as workspace:
        return laid_out(sprint_facts(workspace, SPRINT))


@pytest.mark.parametrize("size", ["wide", "thin"])
def test_each_iteration_of_a_night_has_its_number(timeline: Timeline, size: str) -> None:
    """The labels are complete on screens and phones, even for minutes out of many hours."""
    bars = [bar for bar in timeline.bars if bar.row == 0]
    said = [getattr(bar, size).text.partition(" ")[0] for bar in bars]
    assert said == [str(number) for number in range(1, 10)]


def test_a_wait_names_whom_it_is_for(timeline: Timeline) -> None:
    """Its label is complete, or omitted if it does not fit."""
    assert timeline.gaps[-1].wide.text == ""
    assert timeline.gaps[0].wide == Label("the usage limit", INSIDE)
