"""Sums of money: exact, in any order, and always the same."""

from decimal import Decimal, localcontext

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.judging.events import Usage
from sprintlog.engine.log.event import Versioned
from sprintlog.engine.sprint.events import AgentRan, RunStarted
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.iterations.run_record import spent_since
from sprintlog.engine.sprint.state.sprint import Sprint, pack, unpack
from sprintlog.engine.usage import is_less, minus, percent, plus, product

AT = "2026-01-15T09:00:00Z"
AMOUNTS = st.floats(min_value=0, max_value=1e9, allow_nan=False)
COSTS = st.lists(AMOUNTS, max_size=12)


def ran(cost: float) -> AgentRan:
    """Return a run of an agent at a cost."""
    return AgentRan("a", "completed", usage=Usage(cost_usd=cost))


def added(costs: list[float]) -> str | None:
    """Return the sum that a sprint has of costs."""
    events = [(n, AT, ran(cost)) for n, cost in enumerate(costs, 1)]
    return fold(Sprint("s"), events).knowledge.spent.cost


def exactly(costs: list[float]) -> Decimal:
    """Return the sum of decimal texts."""
    with localcontext(prec=400):
        return sum((Decimal(repr(cost)) for cost in costs), Decimal(0))


@given(COSTS)
def test_a_sum_is_that_of_the_decimals(costs: list[float]) -> None:
    """The sum is exact, however small or large the amounts are."""
    assert Decimal(added(costs) or "0") == exactly(costs)


@given(COSTS.flatmap(lambda costs: st.tuples(st.just(costs), st.permutations(costs))))
def test_the_order_makes_no_difference(pair: tuple[list[float], list[float]]) -> None:
    """The same amounts in any order have the same sum."""
    costs, others = pair
    assert added(costs) == added(others)


@given(COSTS, COSTS)
def test_a_saved_state_goes_on_with_the_sum(first: list[float], then: list[float]) -> None:
    """Continued from a saved state, the sums include everything; a run has only its own."""
    begin = RunStarted("r", AT, "box", 1, "1", "b")
    events: list[Versioned] = [(n, AT, ran(cost)) for n, cost in enumerate(first, 1)]
    events.append((len(first) + 1, AT, begin))
    events += [(n, AT, ran(cost)) for n, cost in enumerate(then, len(first) + 2)]
    straight = fold(Sprint("s"), events)
    half = unpack(pack(fold(Sprint("s"), events[: len(first) + 1])))
    assert pack(fold(half, events[len(first) + 1 :])) == pack(straight)
    took = spent_since(straight, AT)
    assert took.runs == len(then)
    own = float(exactly(then))
    assert (took.cost_usd or 0.0) == own


@given(AMOUNTS, AMOUNTS)
def test_what_is_compared_is_what_is_written(one: float, other: float) -> None:
    """Less, difference and share follow the decimals."""
    first, second = Decimal(repr(one)), Decimal(repr(other))
    assert is_less(one, other) == (first < second)
    with localcontext(prec=400):
        assert Decimal(minus(plus(None, one), plus(None, other))) == first - second
        if second:
            share = int(100 * first / second)
            assert percent(plus(None, one), plus(None, other)) == share


@given(st.integers(0, 10**12), AMOUNTS, st.integers(0, 9))
def test_a_product_is_exact(count: int, each: float, places: int) -> None:
    """A price times a number of tokens is exact in decimals."""
    with localcontext(prec=400):
        exact = count * Decimal(repr(each)) / 10**places
        assert Decimal(product(count, each, places=places)) == exact
