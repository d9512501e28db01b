"""Old shapes are converted to the current one step by step, without gaps."""

from typing import Any, ClassVar

import pytest

from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.log.codec import Codec, encode
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.upcast import Upcasts, check_upcasts


class LampLit(Event, frozen=True):
    """A toy event whose shape changed twice."""

    type: ClassVar[str] = "lamp-lit"
    schema_version: ClassVar[int] = 3
    room: str
    watts: int = 60


def rename_place(shape: dict[str, Any]) -> dict[str, Any]:
    """Version 1 has another name for the place."""
    return {"room": shape["place"], **{k: v for k, v in shape.items() if k != "place"}}


def parse_watts(shape: dict[str, Any]) -> dict[str, Any]:
    """In version 2, watts were text."""
    return {**shape, "watts": int(shape["watts"])} if "watts" in shape else shape


STEPS: Upcasts = {("lamp-lit", 1): rename_place, ("lamp-lit", 2): parse_watts}


def stored(
    payload: bytes | None, *, schema_version: int, tag: str = "lamp-lit"
) -> RecordedEvent:
    """Return an event as returned by a store."""
    return RecordedEvent(
        position=7,
        stream="house",
        version=1,
        id="id",
        type=tag,
        schema_version=schema_version,
        at="2026-01-30T12:00:00Z",
        recorded_at="2026-01-30T12:00:00.000Z",
        actor="runtime",
        correlation_id="id",
        causation_id="id",
        key=None,
        key_digest=None,
        remaining=0,
        observed=False,
        salt=b"",
        payload=payload,
        payload_digest=bytes(32),
        hash=bytes(32),
    )


@pytest.mark.parametrize(
    ("schema_version", "payload"),
    [
        (1, b'{"place":"hall","watts":"40"}'),
        (2, b'{"room":"hall","watts":"40"}'),
        (3, b'{"room":"hall","watts":40}'),
    ],
)
def test_every_stored_version_reads_as_today(schema_version: int, payload: bytes) -> None:
    """Each shape that was ever stored results in the same event."""
    event = stored(payload, schema_version=schema_version)
    assert Codec([LampLit], STEPS).decode(event) == LampLit(room="hall", watts=40)


def test_field_added_with_a_default_needs_no_step() -> None:
    """A field that is missing in the stored shape has its default."""
    event = stored(b'{"room":"hall"}', schema_version=3)
    assert Codec([LampLit], STEPS).decode(event) == LampLit(room="hall", watts=60)


def test_encoding_leaves_defaults_out() -> None:
    """A default value is not stored, and restored on reading."""
    event = LampLit(room="hall")
    assert encode(event) == b'{"room":"hall"}'
    assert Codec([LampLit], STEPS).decode(stored(encode(event), schema_version=3)) == event


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (stored(b"{}", schema_version=4), "version 4 is not supported"),
        (stored(b"{}", schema_version=1, tag="lamp-sold"), "lamp-sold"),
        (stored(None, schema_version=3), "erased"),
        (stored(b'{"room":1}', schema_version=3), "damaged"),
        (stored(b'{"room":"hall', schema_version=3), "damaged"),
        (stored(b"\xff", schema_version=2), "damaged"),
    ],
)
def test_unknown_and_damaged_events_are_refused_with_their_place(
    event: RecordedEvent, words: str
) -> None:
    """No unknown event is skipped silently: the error names its kind and position."""
    with pytest.raises(UnreadableError, match=words) as caught:
        Codec([LampLit], STEPS).decode(event)
    assert caught.value.fields["position"] == 7


@pytest.mark.parametrize(
    "steps",
    [
        {},
        {("lamp-lit", 1): rename_place},
        {**STEPS, ("lamp-lit", 3): parse_watts},
        {**STEPS, ("lamp-sold", 1): parse_watts},
    ],
)
def test_chain_of_steps_has_no_gap_and_no_stranger(steps: Upcasts) -> None:
    """A missing step, or one from an invalid shape, stops the program immediately."""
    with pytest.raises(ValueError, match="upcast"):
        check_upcasts({"lamp-lit": 3}, steps)
