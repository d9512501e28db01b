"""Who causes an event: the forms that an actor's name can have."""

from typing import Final

from .errors import InvalidInputError

UNNAMED: Final = ("runtime", "operator")
"""Who causes an event where nobody says more of it."""
ACTORS: Final = ("agent:", "operator:", "import:")
FORMS: Final = "runtime, operator, operator:NAME, agent:NAME or import:NAME"


def check_actor(actor: str) -> str:
    """Return the actor; raise `InvalidInputError` for a form that has no meaning."""
    if actor in UNNAMED or (actor.startswith(ACTORS) and actor[-1] != ":"):
        return actor
    raise InvalidInputError(f"{actor[:40]!r} is no actor: give {FORMS}", field="actor")
