"""Which facts live in which stream, and how their payloads are read."""

from msgspec import structs

from sprintlog.engine.log.codec import Codec, encode
from sprintlog.engine.log.envelope import Draft
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.log.upcast import UPCASTS
from sprintlog.engine.masking import mask_texts
from sprintlog.engine.sprint.facts import FACTS

CODEC = Codec(FACTS, UPCASTS)

_SPRINT = "sprint/"


def sprint_stream(sprint_id: str) -> str:
    """Return the name of a sprint's stream."""
    return _SPRINT + sprint_id


def sprint_of(stream: str) -> str | None:
    """Return the sprint whose stream this is, or None."""
    return stream.removeprefix(_SPRINT) if stream.startswith(_SPRINT) else None


def masked(fact: Fact) -> Fact:
    """Return a fact with known tokens in its free texts masked."""
    fields = structs.asdict(fact)
    texts = mask_texts(fields)
    return fact if texts == fields else structs.replace(fact, **texts)


def draft(
    fact: Fact,
    *,
    at: str,
    actor: str,
    observed: bool = False,
    correlation_id: str | None = None,
    causation_id: str | None = None,
) -> Draft:
    """Return a fact as an event that the log can take."""
    return Draft(
        type=fact.type,
        payload=encode(fact),
        at=at,
        actor=actor,
        schema_version=fact.schema_version,
        correlation_id=correlation_id,
        causation_id=causation_id,
        observed=observed,
        payload_bytes_max=fact.payload_bytes_max,
    )
