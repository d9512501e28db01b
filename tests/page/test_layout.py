"""The positions in a timeline: rows, bars, gaps, arrows, ticks."""

import pytest

from sprintlog.facts import Delay, Instant, Return, Work
from sprintlog.projections.page.layout import (
    BAR_MIN,
    ROWS_MAX,
    WHOLE,
    percent,
    place_timeline,
    plot,
    ticks,
)

MINUTE = 60_000


def work(row: str, begin: int, end: int) -> Work:
    """Return a piece of work between two minutes."""
    return Work(row, begin * MINUTE, end * MINUTE, "good", ("a long label", "short"))


def test_bars_are_placed_by_the_clock() -> None:
    """Half of the time corresponds to half of the width."""
    found = place_timeline([work("a", 0, 5), work("b", 5, 10)])
    places = [(bar.row, bar.x, bar.width) for bar in found.bars]
    assert places == [(0, 0, 5000), (1, 5000, 5000)]


def test_rows_stand_in_the_order_of_work() -> None:
    """A row is listed once, at its first occurrence; signs may also add a row."""
    found = place_timeline([work("b", 0, 1), work("a", 1, 2), work("b", 2, 3)],
                     signs=[Instant("c", 0, "retry", "")])  # fmt: skip
    assert found.rows == ["b", "a", "c"]
    assert [bar.row for bar in found.bars] == [0, 1, 0]


def test_a_short_bar_can_be_seen() -> None:
    """A bar without duration has the minimum width, and stays inside at the end."""
    found = place_timeline([work("a", 0, 100), work("a", 100, 100)])
    assert found.bars[1][1:3] == (WHOLE - BAR_MIN, BAR_MIN)


def test_a_clock_that_went_backwards_makes_nothing_negative() -> None:
    """An end before its beginning is a bar of the least width at its beginning."""
    found = place_timeline(
        [work("a", 10, 4), work("a", 0, 20)], [Delay(9 * MINUTE, 0, "x")]
    )
    assert found.bars[0][1:3] == (5000, BAR_MIN)
    assert found.gaps[0][1:3] == (4500, BAR_MIN)


def test_nothing_is_a_timeline_too() -> None:
    """Without events there are no rows, and a single moment causes no division by zero."""
    assert place_timeline([]).rows == []
    assert place_timeline([work("a", 3, 3)]).bars[0].width == BAR_MIN


def test_many_rows_are_counted() -> None:
    """The maximum number of rows is drawn, and the others are reported as missing."""
    found = place_timeline([work(str(n), n, n + 1) for n in range(ROWS_MAX + 7)])
    assert (len(found.rows), found.left_out) == (ROWS_MAX, 7)
    assert {bar.row for bar in found.bars} == set(range(ROWS_MAX))


def test_ways_back_that_cross_have_levels() -> None:
    """Two rollbacks over the same time are drawn above one another; others are not."""
    back = [Return(4 * MINUTE, 0, ""), Return(6 * MINUTE, 2 * MINUTE, "")]
    back += [Return(10 * MINUTE, 8 * MINUTE, "")]
    found = place_timeline([work("a", 0, 10)], returns=back)
    assert [arrow.level for arrow in found.arrows] == [0, 1, 0]
    assert (found.arrows[0].x, found.arrows[0].to) == (4000, 0)


def test_two_hundred_ways_back_are_drawn() -> None:
    """The existing levels are sufficient for any number of rollbacks."""
    back = [Return((n + 1) * MINUTE, 0, "") for n in range(200)]
    assert len(place_timeline([work("a", 0, 200)], returns=back).arrows) == 200


@pytest.mark.parametrize(
    ("minutes", "labels"),
    [
        (6, ["00:01", "00:02", "00:03", "00:04", "00:05", "00:06"]),
        (9 * 60, ["02:00", "04:00", "06:00", "08:00"]),
        (3 * 24 * 60, ["12:00", "Jan 2", "12:00", "Jan 3", "12:00", "Jan 4"]),
    ],
)
def test_ticks_are_whole(minutes: int, labels: list[str]) -> None:
    """The axis is divided at whole minutes, hours or days of UTC."""
    found = [tick.label for tick in ticks(1, minutes * MINUTE)]
    assert found == labels


@pytest.mark.parametrize("length", [1, 999, 10**6, 10**9, 10**12, 10**14])
def test_ticks_are_few(length: int) -> None:
    """For any duration, the axis has a few ticks, all inside."""
    found = ticks(7, 7 + length)
    assert len(found) <= 9
    assert all(0 <= tick.x <= WHOLE for tick in found)


def test_a_missing_value_is_no_zero() -> None:
    """An unknown value has no point, and the others keep their positions."""
    found = plot([0.5, None, 1.0], low=0, high=1, is_on=[True] * 3)
    assert [(p.x, p.y) for p in found.points] == [(1666, 5000), (8333, 0)]


def test_the_line_leaves_out_what_is_off_the_path() -> None:
    """A discarded iteration is a point next to the line."""
    found = plot([1, 2, 3], low=1, high=3, is_on=[True, False, True])
    assert [p.nth for p in found.line] == [0, 2]
    assert len(found.points) == 3


def test_equal_values_stand_in_the_middle() -> None:
    """Nothing is divided by a span of zero."""
    found = plot([4, 4], low=4, high=4, is_on=[True] * 2)
    assert [p.y for p in found.points] == [5000, 5000]


def test_places_are_written_as_shares() -> None:
    """Fractions of a percent have two digits; whole percents have none."""
    assert [percent(x) for x in (0, 5, 1250, 10_000)] == ["0%", "0.05%", "12.50%", "100%"]


def test_a_label_is_one_that_has_room() -> None:
    """The longest label that fits is used, or none if even the shortest is too long."""
    found = place_timeline([work("a", 0, 880), work("a", 880, 980), work("a", 980, 1000)])
    assert [bar.wide.text for bar in found.bars] == ["a long label", "short", ""]
