"""Corrections: a measurement taken back, another baseline. What was recorded stays."""

from ...command import Command, Commands
from ...errors import NotFoundError, RefusedError
from ...judging.events import BaselineReplaced, MeasurementRetracted, Metrics
from ...judging.tracker import BASELINE_NUMBER
from ...log.event import Event
from ..state.sprint import Sprint
from ..state.transitions import check_exists

REASON_CHARS_MAX = 1000


class RetractMeasurement(Command, frozen=True):
    """Say that the measurement of an iteration was wrong: nothing is judged by it any more.

    It may be measured again. What was recommended before stays.
    """

    number: int
    reason: str
    retracted: MeasurementRetracted | None = None
    """What follows for the others; whoever handles a command fills it in."""


def check_retraction(sprint: Sprint, number: int, reason: str) -> None:
    """Raise `NotFoundError` for what was not measured, `RefusedError` for a baseline."""
    check_exists(sprint)
    _check_reason(reason)
    tracker = sprint.knowledge.tracker
    if number == BASELINE_NUMBER:
        if tracker.baseline is None:
            raise NotFoundError("no baseline was measured", iteration=number)
        if tracker.highest or tracker.baselines:
            raise RefusedError(
                "the baseline cannot be retracted: others were compared with it",
                hint="`sprintlog iteration baseline --from N` takes another one",
                iteration=number,
                command="retract",
            )
        return
    if tracker.entry(number) is None:
        raise NotFoundError(
            f"there is nothing to retract: iteration {number} has no measurement",
            hint="`sprintlog iteration list` lists what was measured",
            iteration=number,
        )
    if tracker.baseline_number == number:
        raise RefusedError(
            f"iteration {number} cannot be retracted: it is the baseline",
            hint="`sprintlog iteration baseline --from N` takes another one before",
            iteration=number,
            command="retract",
        )


def retract_measurement(
    sprint: Sprint, command: RetractMeasurement, at: str
) -> list[Event]:
    """Decide on `RetractMeasurement`."""
    check_retraction(sprint, command.number, command.reason)
    given = command.retracted
    return [
        MeasurementRetracted(command.number, command.reason) if given is None else given
    ]


class ReplaceBaseline(Command, frozen=True):
    """Compare what is measured from now on with another iteration; 0 is the first one."""

    number: int
    reason: str | None = None
    metrics: Metrics | None = None
    """Those of the iteration; whoever handles a command fills them in."""


def replace_baseline(sprint: Sprint, command: ReplaceBaseline, at: str) -> list[Event]:
    """Decide on `ReplaceBaseline`."""
    check_exists(sprint)
    if command.reason is not None:
        _check_reason(command.reason)
    tracker, number = sprint.knowledge.tracker, command.number
    is_there = (
        tracker.baseline is not None
        if number == BASELINE_NUMBER
        else tracker.entry(number) is not None
    )
    if not is_there or command.metrics is None:
        raise NotFoundError(
            f"iteration {number} cannot be the baseline: it has no measurement",
            hint="`sprintlog iteration list` lists what was measured",
            iteration=number,
        )
    is_in_force = tracker.baseline_number == number
    if is_in_force and tracker.baseline_at(sprint.version) == command.metrics:
        return []
    return [BaselineReplaced(number, command.metrics, command.reason)]


def _check_reason(reason: str) -> None:
    if not 0 < len(reason.strip()) <= REASON_CHARS_MAX:
        raise RefusedError(
            f"a reason has 1 to {REASON_CHARS_MAX} characters, not {len(reason)}",
            field="reason",
        )


COMMANDS: Commands = {
    RetractMeasurement: retract_measurement,
    ReplaceBaseline: replace_baseline,
}
