"""Repeated signatures: patterns, and infinite loops (ITR-070 to ITR-073)."""

from fractions import Fraction

import pytest

from sprintlog.engine.judging.evaluation import Signature, find_loop, signature
from sprintlog.engine.judging.events import IterationMeasured, Metrics

from .measured import Measured, now


def signatures(text: str) -> list[Signature | None]:
    """Return a signature for each letter; a dash is an unknown one."""
    return [None if c == "-" else Signature((ord(c), 1, 1, 0)) for c in text]


def partial(text: str) -> list[Signature | None]:
    """Return signatures without errors: one letter for tests, and one for the files."""
    return [
        Signature((ord(one[0]), 1, 1, None), None if one[1] == "?" else one[1])
        for one in text.split()
    ]


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


@pytest.mark.parametrize(
    ("number", "seen", "found"),
    [
        (11, "A1 B2 A1", "infinite"),
        (11, "A1 B2 A3", None),
        (11, "A? B2 A1", "pattern"),
        (11, "A? B? A?", "pattern"),
        (11, "A1 A2 A1", "infinite"),
        (11, "A? A? A?", None),
        (10, "A1 B2 A1 B2", "pattern"),
        (10, "A? B? A? B?", "pattern"),
        (10, "A1 B2 A3 B2", None),
        (10, "A1 A2 A1 A2", "pattern"),
        (5, "A? A? A? A? A?", "pattern"),
        (11, "A? A? A? A? A?", "pattern"),
        (11, "A1 A1 A1 A1 A1", "infinite"),
        (11, "A1 A1 A? A1 A1", "pattern"),
        (11, "A1 A2 A3 A4 A5", None),
    ],
)
def test_fewer_parts_need_the_same_files(number: int, seen: str, found: str | None) -> None:
    """If a part is unknown, the files must be equal; unknown files require a person."""
    loop = find_loop(number, partial(seen), after=10)
    assert (loop and ("infinite" if loop.is_infinite else "pattern")) == found


def test_a_signature_has_four_parts() -> None:
    """The parts are tests, pass rate, coverage and errors; without any, there is none."""
    whole = {"test_count": 9, "tests_passed": 9, "coverage_percentage": 1, "error_count": 0}
    assert signature(now(**whole)) == ((9, Fraction(100), Fraction(1), 0), None, ())
    for name in whole:
        found = signature(now(**{n: v for n, v in whole.items() if n != name}))
        assert found is not None
        assert None in found.parts
    assert signature(now(lint_errors=None)) is None
    assert signature(now(file_count=1), "t") == ((None,) * 4, "t", ())


def test_files_are_those_that_were_measured() -> None:
    """The digest of the work tree is recorded with the measurement."""
    found = Measured()
    for number, tree in enumerate(["t1", "t2", "t1"], start=9):
        found.take(IterationMeasured(number, Metrics(9, 9), number - 1, tree=tree))
    judged = found.judge(11)
    assert judged.loop is not None
    assert judged.loop.is_infinite


def test_looks_at_the_chain_alone() -> None:
    """Discarded iterations do not count, nor does the baseline."""

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
