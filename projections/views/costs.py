"""What agents took, as it is answered."""

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

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
    cost_usd: float | UnsetType = UNSET


def spending(took: Spent) -> Spending:
    """Return what agents took."""
    known = {name: x for name, x in asdict(took).items() if x is not None}
    if took.cost_usd is not None:
        # Sums of cents are no cents in binary.
        known["cost_usd"] = round(took.cost_usd, 6)
    return Spending(**known)
