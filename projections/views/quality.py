"""How good a sprint's iterations are, and what waits for an answer, as `status` has it."""

from collections import Counter

from msgspec import UNSET, Struct, UnsetType

from sprintlog.engine.service.streams.judged import Judged

from ..iterations.quality import standing
from .iterations import Advice, advice


class Quality(Struct, frozen=True):
    """What one iteration is worth."""

    iteration: int
    classification: str | None
    score: float | None
    measured_share: float


class StandingAnswer(Struct, frozen=True):
    """How good the iterations are; of a sprint without a measurement nothing is there."""

    best: Quality | None
    last: Quality | None
    alerts: dict[str, int]
    """How many alerts the last iteration raised, by their severity."""
    advice: Advice | UnsetType = UNSET
    """What is advised other than to continue, while nothing was done about it."""


def iterations_standing(judged: Judged) -> StandingAnswer:
    """Return how good a sprint's iterations are, and what waits for an answer."""
    found = standing(judged)
    alerts = () if found.last is None else found.last.alerts
    best, last = (
        None
        if one is None
        else Quality(
            one.number,
            one.classification,
            None if one.score.value is None else float(one.score.value),
            float(one.score.share),
        )
        for one in (found.best, found.last)
    )
    return StandingAnswer(
        best,
        last,
        dict(Counter(alert.severity for alert in alerts)),
        UNSET if found.advice is None else advice(found.advice),
    )
