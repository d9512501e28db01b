"""Random metrics, including invalid ones."""

from typing import Any

from hypothesis import strategies as st

from sprintlog.engine.judging.events import Metrics, OwnMetric

COUNTS = st.none() | st.integers(-3, 30)
RATES = st.none() | st.floats(-10, 110, allow_nan=False)
OWN = st.sampled_from(["p95_ms", "rps", "pass_rate"])
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-5, 99),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    tuple[str, ...]: st.lists(st.sampled_from(["", "p0", "2026"]), max_size=3).map(tuple),
    Metrics: st.builds(
        Metrics,
        test_count=COUNTS,
        tests_passed=COUNTS,
        tests_skipped=COUNTS,
        coverage_percentage=RATES,
        lint_errors=COUNTS,
        lint_warnings=COUNTS,
        build_status=st.sampled_from([None, "success", "failed", "?"]),
        loc_total=COUNTS,
        complexity_score=RATES,
        own=st.dictionaries(OWN, st.integers(-5, 99) | st.floats(-9, 99), max_size=2),
    ),
    tuple[OwnMetric, ...]: st.lists(
        st.builds(
            OwnMetric,
            OWN,
            better=st.sampled_from(["higher", "lower", None, "?"]),
            weight=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
            target=st.none() | st.sampled_from([-1.0, 0.0, 50.0]),
        ),
        max_size=3,
    ).map(tuple),
}
"""What a field of an event may hold, by its type; every other type is a text."""
