"""What every fact declares about itself."""

import pytest

from sprintlog.engine.log.fact import Fact, Kind
from sprintlog.engine.sprint.events import FACTS
from sprintlog.engine.sprint.fold import EVOLVE


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: str(fact.type))
def test_kind_says_what_a_rollback_does(fact: type[Fact]) -> None:
    """Execution facts, and no others, change the Plan, which a rollback takes back."""
    assert (fact in EVOLVE) == (fact.kind is Kind.EXECUTION)


def test_tags_are_never_used_twice() -> None:
    """Each fact has a wire tag of its own."""
    assert len({fact.type for fact in FACTS}) == len(FACTS)
