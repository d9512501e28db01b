"""Exact numbers as fractions, and their decimal representations.

This module also contains two hint texts, about how to measure iterations and why iterations
are equal.
"""

from fractions import Fraction
from functools import lru_cache

HOW_TO_MEASURE = (
    "use `sprintlog wrap --measure CMD -- COMMAND` to measure each run, or `sprintlog "
    "iteration end --metric NAME=VALUE` to record a value"
)
"""The hint if no iteration was measured."""
BY_EXIT_CODE = (
    "the exit code of a command alone: let its last line be like `3/4` (passed of all), or "
    "let it write a JUnit file for `--report`"
)
"""The hint if iterations have equal scores because only an exit status was measured."""
Number = Fraction | int


@lru_cache(maxsize=1024)
def exact(number: float) -> Fraction:
    """Return a number as the decimal that was written, not as its binary approximation."""
    return Fraction(repr(number))


def rounded(number: Number, places: int) -> Fraction:
    """Return a number rounded to the given decimal places; halves round away from zero."""
    scale = 10**places
    whole = (abs(number) * scale * 2 + 1) // 2
    return Fraction(whole if number >= 0 else -whole, scale)


def shown(number: Number, places: int, *, signed: bool = False) -> str:
    """Return a number as text; halves are rounded away from zero, and zero has no sign."""
    value = rounded(number, places)
    text = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}d}"
    whole, decimals = (text[:-places], f".{text[-places:]}") if places else (text, "")
    sign = "-" if value < 0 else "+" if signed and value > 0 else ""
    return f"{sign}{whole}{decimals}"


def short(number: Number, places: int = 1) -> str:
    """Return a number as text without trailing zeros: 75, not 75.0."""
    text = shown(number, places)
    return text.rstrip("0").rstrip(".") if places else text


def plain(number: Number, *, signed: bool = False) -> str:
    """Return a number of any size as text, with six significant digits."""
    text = f"{float(number):.6g}"
    if number.denominator == 1:
        text = str(number.numerator)
    return f"+{text}" if signed and number > 0 else text
