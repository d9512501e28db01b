"""Laws of `next` and of hints: they lead to the end, or to a person who can continue."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ..living import live_to_the_end
from .test_sprint_laws import laws

chances = st.randoms(use_true_random=False)


@laws
@given(chances)
def test_doing_what_next_says_ends_the_sprint_or_asks_a_person(chance: Random) -> None:
    """From any reachable state, following `next` ends the sprint or requires a person.

    A person followed the hints until then, and none of them led in a circle.
    """
    live_to_the_end(chance)
