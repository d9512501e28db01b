"""Repeated signatures: patterns, and infinite loops (R315-R318, P10)."""

from fractions import Fraction

import pytest

from sprintlog.engine.iterations.facts import Metrics
from sprintlog.engine.iterations.loops import Signature, find_loop, signature

from .measured import Measured, now


def signatures(text: str) -> list[Signature | None]:
    """Return a signature for each letter; a dash is one that is not known."""
    return [None if c == "-" else (ord(c), Fraction(1), Fraction(1), 0) for c in text]


@pytest.mark.parametrize(
    ("number", "seen", "found"),
    [
        (11, "ABA", "infinite"),
        (10, "ABA", None),
        (10, "ABAB", "pattern"),
        (11, "ABAB", "infinite"),
        (4, "ABAB", "pattern"),
        (3, "BAB", None),
        (5, "AAAAA", "pattern"),
        (10, "AAAAA", "pattern"),
        (11, "AAAAA", "infinite"),
        (11, "AAAA", None),
        (11, "BAAAA", None),
        (11, "BABBB", "infinite"),
        (11, "ABBBA", "infinite"),
        (11, "ABBBBA", None),
        (11, "ABCDE", None),
        (11, "A-A", None),
        (11, "AB-A", "infinite"),
        (10, "A-AB", None),
        (10, "-ABAB", "pattern"),
        (10, "AAAA", None),
        (11, "AB-", None),
        (11, "", None),
    ],
)
def test_finds_what_repeats(number: int, seen: str, found: str | None) -> None:
    """Up to iteration 10 to-and-fro and five alike are a pattern; then any repeat stops."""
    loop = find_loop(number, signatures(seen), after=10)
    assert (loop and ("infinite" if loop.is_infinite else "pattern")) == found


def test_a_signature_needs_all_four_parts() -> None:
    """Tests, pass rate, coverage and errors: with one missing there is no signature."""
    whole = {"test_count": 9, "tests_passed": 9, "coverage_percentage": 1, "error_count": 0}
    assert signature(now(**whole)) == (9, Fraction(100), Fraction(1), 0)
    for name in whole:
        assert signature(now(**{n: v for n, v in whole.items() if n != name})) is None


def test_looks_at_the_chain_alone() -> None:
    """What a rollback left behind does not count, and the baseline is no turn of it."""

    def one(tests: int) -> Metrics:
        return Metrics(tests, tests, coverage_percentage=1, error_count=0)

    found = Measured(one(2))
    for number, tests in enumerate([1, 2, 1], start=1):
        assert found.measure(one(tests), number=number).loop is None
    assert found.measure(one(2), number=4).loop is not None
    assert found.measure(one(2), number=5, previous=1).loop is None
    assert found.measure(one(1), number=6, previous=5).loop is None
    again = found.measure(one(2), number=11, previous=6)
    assert again.loop is not None
    assert again.loop.is_infinite
