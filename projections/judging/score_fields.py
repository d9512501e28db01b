"""A score as it is answered, with the parts that it was made from."""

from typing import Any

from msgspec import Struct

from sprintlog.engine.judging.score import Score


class ScorePart(Struct, frozen=True):
    """One part of a score, and the points of its components."""

    weight: float
    points: float | None
    contribution: float | None
    components: dict[str, float | None]


def score_fields(score: Score) -> dict[str, Any]:
    """Return the fields of an answer that say a score."""
    return {
        "score": plain(score.value),
        "is_score_given": score.is_given,
        "measured_share": float(score.share),
        "dimensions": {
            one.name: ScorePart(
                float(one.weight),
                plain(one.points),
                plain(one.contribution),
                {c.name: plain(c.points) for c in one.components},
            )
            for one in score.dimensions
        },
    }


def plain(value: Any) -> Any:
    """Return a number as JSON has it."""
    return value if value is None or isinstance(value, int | str) else float(value)
