"""Exact sums of amounts that agents state: decimals as text, added as whole numbers.

A binary fraction has no 0.1, so a night of cents added up as such is none of them.
`decimal` would cost every recording command its import.
"""


def plus(total: str | None, amount: float | str) -> str:
    """Return a sum, exactly, of what is written in decimals; None stands for nothing."""
    return _added(total or "0", str(amount), sign=1)


def minus(total: str, amount: str | None) -> str:
    """Return a difference in the same way."""
    return _added(total, amount or "0", sign=-1)


def is_less(one: float | str, other: float | str) -> bool:
    """Tell whether an amount is less than another one."""
    (first, places), (second, others) = _scaled(str(one)), _scaled(str(other))
    return bool(first * 10**others < second * 10**places)


def _added(one: str, other: str, *, sign: int) -> str:
    (first, places), (second, others) = _scaled(one), _scaled(other)
    most = max(places, others)
    total = first * 10 ** (most - places) + sign * second * 10 ** (most - others)
    return text_of(total, most)


def text_of(digits: int, places: int) -> str:
    """Return a number of so many decimal places as text, without zeros at its end."""
    mark = "-" if digits < 0 else ""
    said = str(abs(digits)).rjust(places + 1, "0")
    whole, part = said[: len(said) - places], said[len(said) - places :].rstrip("0")
    return f"{mark}{whole}.{part}" if part else f"{mark}{whole}"


def _scaled(text: str) -> tuple[int, int]:
    """Return a number's digits, and how many of them are decimal places."""
    mantissa, _, power = text.partition("e")
    whole, _, part = mantissa.partition(".")
    digits, places = int(whole + part), len(part) - int(power or 0)
    return (digits, places) if places >= 0 else (digits * 10**-places, 0)


def product(count: int, each: float | str, *, places: int = 0) -> str:
    """Return so many times an amount, divided by ten to the power of `places`; exactly."""
    digits, own = _scaled(str(each))
    return text_of(count * digits, own + places)


def percent(part: str, whole: str) -> int:
    """Return how much of the whole a part is, rounded down."""
    (first, places), (second, others) = _scaled(part), _scaled(whole)
    if not second:
        return 100
    return int(100 * first * 10**others // (second * 10**places))


def dollars(text: str) -> str:
    """Return an amount for people, all of its decimals: `$1,234.50`."""
    mark = "-" if text.startswith("-") else ""
    whole, _, part = text.removeprefix("-").partition(".")
    return f"{mark}${int(whole):,}.{part.ljust(2, '0')}"
