"""What tokens cost where an agent does not say it: by the price that was given; pure."""

from msgspec.structs import replace

from ...errors import RefusedError
from ...usage import TOKENS, Usage, open_figures
from ..events import Price
from ..state.knowledge import says_cost
from ..state.money import plus, product

MILLION = 6
"""A price is for ten to the power of so many tokens."""


def priced(used: Usage | None, price: Price | None) -> Usage | None:
    """Return what a run took with its cost, where only its tokens are known.

    Tokens that are put into a cache cost as those that are given.
    """
    if price is None or used is None or says_cost(used) or TOKENS in open_figures(used):
        return used
    from_cache = price.given if price.cached is None else price.cached
    parts = (
        (used.input_tokens, price.given),
        (used.cache_creation_tokens, price.given),
        (used.cache_read_tokens, from_cache),
        (used.output_tokens, price.written),
    )
    total: str | None = None
    for tokens, each in parts:
        total = plus(total, product(max(tokens or 0, 0), each, places=MILLION))
    return replace(used, cost_usd=float(total or "0"))


def price_of(text: str) -> Price:
    """Return a price from `IN/OUT` or `IN/OUT/CACHED`, in dollars for a million tokens.

    Raise `RefusedError` for anything else.
    """
    parts = text.strip().split("/")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3) or not all(0 <= number <= 1e6 for number in numbers):
        raise RefusedError(
            f"price {text[:40]!r} is none: give IN/OUT, the dollars for a million tokens "
            "that are given and that are written, like 3/15; or IN/OUT/CACHED",
            field="price",
        )
    return Price(*numbers)
