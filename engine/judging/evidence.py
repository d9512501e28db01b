"""Whether a measurement agrees with the claim that the goal is reached; pure."""

from collections.abc import Sequence

from .events import MeasuringRun, Metrics
from .metrics import Figures, figures, named


def agreement(
    metrics: Metrics,
    baseline: Metrics | None,
    runs: Sequence[MeasuringRun],
    until: str | None,
    *,
    is_incomplete: bool = False,
) -> tuple[bool | None, str]:
    """Return whether a measurement agrees with a claim, and its result in words.

    The answer is unknown (None) if the measurement neither confirms nor refutes the claim,
    because it states only a score or figures other than tests. `is_incomplete` means that
    it lacks figures which the best iteration has.
    """
    if any(run.timed_out for run in runs):
        return False, "the measure timed out"
    if until is not None:
        # Imported here: few loops have a condition.
        from .conditions import parse, values_of

        unmet = parse(until).unmet(values_of(metrics, runs))
        return not unmet, "; ".join(unmet) or f"{until} is met"
    failed = next((run.exit_code for run in runs if run.exit_code), 0)
    if (found := _of_tests(figures(metrics), baseline)) is not None:
        passes, said = found
        if failed and passes:
            return False, f"{said}, but the measure exited with {failed}"
        return passes, said
    if failed:
        return False, f"the measure exited with {failed}"
    had_tests = baseline is not None and _of_tests(figures(baseline), None) is not None
    if had_tests or is_incomplete:
        return False, "the measure no longer states the figures that it stated before"
    stated = {name for name, value in named(metrics).items() if value is not None}
    if stated <= {"build_status"}:
        return True, "the measure exited with 0"
    return None, "the measure states no tests"


def _of_tests(now: Figures, baseline: Metrics | None) -> tuple[bool, str] | None:
    """Return whether the tests agree with a claim, and their counts; None without tests."""
    count, passed = now.test_count, now.tests_passed
    if count is None and passed is None and now.tests_failed is None:
        return None
    if count is None or passed is None or now.tests_failed is None:
        return False, "the number of failed tests is not known"
    said = f"{passed} of {count} tests pass"
    before = figures(baseline).test_count if baseline is not None else None
    if before is not None and count < before:
        return False, f"{said}, and {before} tests ran before the first iteration"
    return now.tests_failed == 0 and passed > 0, said
