"""Conditions on measured values, such as `tests_failed=0 and coverage>=80`.

Grammar: `NAME (=|!=|<|<=|>|>=) NUMBER`, `and`, `or` and parentheses; `and` binds more
tightly than `or`. Comparisons are exact.
"""

import math
import operator
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from ..errors import InvalidOptionError
from .events import MeasuringRun, Metrics, RulesSet
from .exact import Number, plain
from .metrics import NAME, NAMES, VALUE_MAX, figures, named

CHARS_MAX = 1000
DEPTH_MAX = 20
"""The maximum nesting of parentheses."""
EXIT_STATUS = "exit_status"
"""The highest exit status of the measuring commands."""
ALIASES = {"coverage": "coverage_percentage", "complexity": "complexity_score"}
"""Short names of metrics."""
KNOWN = (*(name for name in NAMES if name != "build_status"), *ALIASES, EXIT_STATUS)
"""The built-in names; `build_status` is not a number."""

_SIGNS = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
"""The comparisons, with the names of their functions in `operator`."""
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[A-Za-z_]\w*)|(?P<number>[+-]?\d+(?:\.\d+)?(?![\w.]))"
    r"|(?P<sign>[<>!]=|[<>=])|(?P<bracket>[()])|(?P<end>\Z)|(?P<other>[^\s()<>=!]+|\S))",
    re.ASCII,
)
_HINT = "write comparisons such as `tests_failed=0`, joined by `and` or `or`"

Values = Mapping[str, Number | float]
"""Measured values by name."""


class Relation(NamedTuple):
    """A comparison of a value with a number."""

    name: str
    sign: str
    limit: Fraction
    said: str
    """The number as text."""

    @property
    def names(self) -> set[str]:
        """Return the compared name."""
        return {self.name}

    def unmet(self, values: Values) -> list[str]:
        """Return why the comparison does not hold; empty if it does."""
        if (value := _value(values, self.name)) is None:
            return [f"{self.name} is unknown, must be {self.sign} {self.said}"]
        holds = getattr(operator, _SIGNS[self.sign])
        if not holds(value, self.limit):
            said = plain(value)
            if holds(Fraction(said), self.limit):
                # A rounded value would contradict the statement.
                said = repr(float(value))
            return [f"{self.name} is {said}, must be {self.sign} {self.said}"]
        if self.name == "tests_failed":
            # Without a test, no test has failed either.
            return Relation("test_count", ">", Fraction(0), "0").unmet(values)
        return []


class Condition(NamedTuple):
    """Comparisons and conditions, all or (with `or`) at least one of which must hold."""

    word: str
    parts: tuple["Condition | Relation", ...]

    @property
    def names(self) -> set[str]:
        """Return the names in the condition."""
        return {name for part in self.parts for name in part.names}

    def unmet(self, values: Values) -> list[str]:
        """Return why the condition does not hold; empty if it does."""
        found = [part.unmet(values) for part in self.parts]
        if self.word == "and":
            return [entry for entries in found for entry in entries]
        return [] if not all(found) else [", or ".join(map(" and ".join, found))]


def parse(text: str) -> Condition:
    """Return the condition in a text.

    Raise `InvalidOptionError` with the position, counted from 1, of the first problem.
    """
    if len(text) > CHARS_MAX:
        raise InvalidOptionError(f"longer than {CHARS_MAX} characters", field="until")
    reader = _Reader(text)
    found = reader.joined(0)
    if reader.kind != "end":
        raise reader.expected("`and`, `or` or the end")
    return found


class _Reader:
    """A recursive descent parser with the current token."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.finditer(text)
        self.advance()

    def advance(self) -> str:
        """Return the current token after moving to the next one."""
        before = getattr(self, "token", "")
        match = next(self._tokens)
        self.kind = match.lastgroup or ""
        self.token = match[self.kind]
        self._position = match.start(self.kind) + 1
        return before

    def joined(self, depth: int, word: str = "or") -> Condition:
        """Return the conditions joined by a word, `or` or `and`."""
        parts: list[Condition | Relation] = []
        while not parts or self.token == word:
            if parts:
                self.advance()
            parts.append(self.joined(depth, "and") if word == "or" else self._one(depth))
        return Condition(word if parts[1:] else "and", (*parts,))

    def _one(self, depth: int) -> Condition | Relation:
        if self.token != "(":
            return self._comparison()
        if depth == DEPTH_MAX:
            raise self._error(f"more than {DEPTH_MAX} nested parentheses")
        self.advance()
        found = self.joined(depth + 1)
        if self.token != ")":
            raise self.expected("`and`, `or` or `)`")
        self.advance()
        return found

    def _comparison(self) -> Relation:
        if self.kind != "name" or self.token in ("and", "or"):
            raise self.expected("a name or `(`")
        if not re.fullmatch(NAME, self.token):
            raise self._error(f"invalid name {self.token[:40]!r}")
        name = self.advance()
        if self.kind != "sign":
            raise self.expected("one of = != < <= > >=")
        sign = self.advance()
        if self.kind != "number":
            raise self.expected("a number")
        if abs(limit := Fraction(self.token)) > VALUE_MAX:
            raise self._error(f"out of range (-{VALUE_MAX} to {VALUE_MAX})")
        return Relation(name, sign, limit, self.advance())

    def expected(self, what: str) -> InvalidOptionError:
        """Return the error for an unexpected token."""
        found = "the end" if self.kind == "end" else repr(self.token[:40])
        return self._error(f"expected {what}, not {found}")

    def _error(self, problem: str) -> InvalidOptionError:
        said = f"{problem}, at position {self._position}"
        return InvalidOptionError(said, field="until", hint=_HINT)


def _value(values: Values, name: str) -> Fraction | None:
    """Return the exact value of a name; None if it is unknown."""
    value = values.get(ALIASES.get(name, name))
    if not isinstance(value, float):
        return None if value is None else Fraction(value)
    return Fraction(repr(value)) if math.isfinite(value) else None


def values_of(
    metrics: Metrics, runs: Iterable[MeasuringRun] = ()
) -> dict[str, Number | float]:
    """Return the values of a measurement by the names that conditions use.

    Values that follow from others, such as the pass rate, are computed.
    """
    known = {**named(metrics), **figures(metrics).known()}
    known |= {long: known[short] for short, long in ALIASES.items()}
    known[EXIT_STATUS] = max((run.exit_code for run in runs), default=None)
    return {name: x for name, x in known.items() if not isinstance(x, str | None)}


def undeclared(rules: RulesSet) -> set[str]:
    """Return the names in the rules' condition that only a measurement can define."""
    names = parse(rules.loop.until).names if rules.loop.until is not None else set[str]()
    return names.difference(KNOWN, (one.name for one in rules.metrics))


def check_names(condition: Condition, other: Iterable[str]) -> None:
    """Raise `InvalidOptionError` for names that are neither known nor among the others."""
    names = (*KNOWN, *sorted({*other}.difference(KNOWN)))
    if unknown := sorted(condition.names.difference(names)):
        raise InvalidOptionError(
            f"unknown metric {unknown[0]!r}; known: {', '.join(names)}",
            field="until",
            hint=f"use `sprintlog iteration rules set --metric {unknown[0]}` to declare "
            "a metric, or `sprintlog run --until COND --measure CMD` if CMD prints it",
            unknown=(unknown[0], names),
        )
