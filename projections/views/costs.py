"""What agents took, as it is answered."""

from msgspec import UNSET, Struct, UnsetType

from sprintlog.engine.sprint.state.sprint import Spent


class Spending(Struct, frozen=True, omit_defaults=True):
    """What agents took; what none of them said is left out."""

    runs: int
    duration_ms: int
    turns: int | UnsetType = UNSET
    input_tokens: int | UnsetType = UNSET
    output_tokens: int | UnsetType = UNSET
    cache_read_tokens: int | UnsetType = UNSET
    cache_creation_tokens: int | UnsetType = UNSET
    tokens: int | UnsetType = UNSET
    """Input, cache creation and output; reads from a cache are not counted."""
    cost_usd: float | UnsetType = UNSET
    at_least: tuple[str, ...] = ()
    """The names of the figures here that are lower bounds."""
    runs_without_cost: int = 0
    """How many of the runs did not say what they cost; left out where all did."""
    runs_without_tokens: int = 0
    """Of how many the tokens are not fully known."""
    runs_cut_short: int = 0
    """How many more were ended with their loop: what they took, nobody knows."""


def spending(took: Spent) -> Spending:
    """Return what agents took."""
    names = [name for name in Spending.__struct_fields__ if hasattr(took, name)]
    known = {n: x for n in names if (x := getattr(took, n)) is not None}
    return Spending(
        **known,
        runs_without_cost=took.without_cost,
        runs_without_tokens=took.without_tokens,
        runs_cut_short=took.cut_short,
    )
