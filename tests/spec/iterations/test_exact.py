"""Numbers are exact, and rounded only when they are printed (ITR-023, ITR-024)."""

from fractions import Fraction

import pytest

from sprintlog.engine.judging.exact import exact, rounded, short, shown


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (4.4, Fraction(44, 10)),
        (0.1, Fraction(1, 10)),
        (75.0, 75),
        (1e-7, Fraction(1, 10**7)),
    ],
)
def test_a_number_is_the_decimal_it_says(number: float, says: Fraction) -> None:
    """4.4 is 4.4, not the nearest binary number."""
    assert exact(number) == says


@pytest.mark.parametrize(
    ("number", "places", "text", "signed"),
    [
        ("0.005", 2, "0.01", "+0.01"),
        ("-0.005", 2, "-0.01", "-0.01"),
        ("0.0049", 2, "0.00", "0.00"),
        ("-0.0049", 2, "0.00", "0.00"),
        ("8.642", 1, "8.6", "+8.6"),
        ("-7.9545", 2, "-7.95", "-7.95"),
        ("8.65", 1, "8.7", "+8.7"),
        ("12", 0, "12", "+12"),
        ("0.07", 2, "0.07", "+0.07"),
        ("100", 1, "100.0", "+100.0"),
    ],
)
def test_prints_halves_away_from_zero(
    number: str, places: int, text: str, signed: str
) -> None:
    """Halves are rounded away from zero, and zero has no sign."""
    value = Fraction(number)
    assert shown(value, places) == text
    assert shown(value, places, signed=True) == signed
    assert rounded(value, places) == Fraction(text)


@pytest.mark.parametrize(("number", "text"), [("75", "75"), ("77.77", "77.8"), ("0", "0")])
def test_leaves_out_decimals_that_are_zero(number: str, text: str) -> None:
    """A number without decimals is printed as 75."""
    assert short(Fraction(number)) == text
    assert short(Fraction(100), 0) == "100"
