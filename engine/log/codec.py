"""Encodes events as payloads and decodes payloads by event type, upcasting old shapes."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from ..errors import RESCUE, NewerVersionError, UnreadableError, wrong_type_error
from ..masking import mask_all, may_hold_secret
from .envelope import NewEvent, RecordedEvent
from .event import PREFIX, Event, ExtensionEvent, read
from .port import Form, Page, Row, form_of
from .upcast import Upcasts, check_upcasts, upcast

Decode = Callable[[Any], Any]
"""A function that decodes a payload into an event."""

Reader = tuple[Decode, type[Event]]
"""The decoder for a stored form, and its event type."""

DAMAGE = (msgspec.MsgspecError, KeyError, TypeError, ValueError)
"""The exceptions that decoding raises for bytes that do not match their event type."""

_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """Return the event's fields as JSON, without default values.

    Bytes that are not UTF-8 are escaped readably and can be recovered (`engine.readable`).
    """
    # Third-party data is stored unchanged, without sprintlog's fields around it.
    said = event.data if type(event) is ExtensionEvent else event
    try:
        return _encoder.encode(said)
    except UnicodeEncodeError:
        # Imported here: hardly any event has such a text.
        from ..readable import as_json

        return as_json(said)


def encode_masked(event: Event) -> bytes:
    """Return the event's fields as JSON, with every secret masked.

    Every payload with external input is encoded here. The JSON is checked for secrets as a
    single string, which is much faster than checking each value separately.
    """
    payload = encode(event)
    if not may_hold_secret(payload.decode()):
        return payload
    # Imported here: hardly any payload contains a word of a secret's format.
    from ..readable import as_json, originals

    return as_json(mask_all(originals(payload)))


class _UnknownError(KeyError):
    """An event type or shape that only a newer version supports."""


class Codec:
    """Decodes the payloads of a set of event types."""

    def __init__(
        self,
        events: Iterable[type[Event]],
        upcasts: Upcasts,
        *,
        more: Callable[[], Iterable[type[Event]]] = lambda: (),
    ) -> None:
        """Register event types; `more` provides additional types on demand."""
        self._upcasts = upcasts
        self._known: dict[str, type[Event]] = {}
        self._readers: dict[Form, Reader] = {}
        self._more: Callable[[], Iterable[type[Event]]] | None = more
        self._learn(events)

    @property
    def events(self) -> dict[str, type[Event]]:
        """Return a mapping from tag to event type."""
        if self._more is not None:
            more, self._more = self._more, None
            self._learn(more())
            today = {tag: event.schema_version for tag, event in self._known.items()}
            check_upcasts(today, self._upcasts)
        return self._known

    def _learn(self, events: Iterable[type[Event]]) -> None:
        for event in events:
            self._known[event.type] = event
        today = {tag: event.schema_version for tag, event in self._known.items()}
        ours = {step: upcast for step, upcast in self._upcasts.items() if step[0] in today}
        check_upcasts(today, ours)

    def decode(self, event: RecordedEvent) -> Event:
        """Return the decoded event.

        Raise `UnreadableError` for an unknown type, a shape from a newer version, an erased
        payload, or a payload that does not match its type.
        """
        form = form_of(event.type, event.schema_version)
        return self.event_of((event.at, form, event.payload), event.position)

    def as_read(self, new: NewEvent) -> Event:
        """Return a new event as it will be decoded after it has been appended.

        Raise `InvalidInputError`, naming the field, if a field does not round-trip.
        """
        decode, _ = self.reader(form_of(new.type, new.schema_version))
        try:
            return decode(new.payload)  # type: ignore[no-any-return]
        except msgspec.ValidationError as error:
            raise wrong_type_error(error, new.type) from error

    def today(self, recorded: RecordedEvent) -> bytes | None:
        """Return the event's payload in the current shape; None if it was erased.

        If the stored payload already has that shape, it is returned unchanged. Raise
        `UnreadableError` under the same conditions as `decode`.
        """
        if recorded.payload is None:
            return None
        event = self.decode(recorded)
        return (
            recorded.payload
            if recorded.schema_version == event.schema_version
            else encode(event)
        )

    def events_of_rows(self, pages: Iterable[Page]) -> Iterator[tuple[int, str, Event]]:
        """Yield the version, time and event of each row; raise the errors of `decode`."""
        readers = self._readers
        for page in pages:
            for version, row in zip(page.versions, page.rows, strict=True):
                at, form, payload = row
                try:
                    if type(at) is not str:
                        raise TypeError
                    event = readers[form][0](payload)
                except DAMAGE:
                    # Or a form whose decoder has not been created yet.
                    event = self.event_of(row, page.position_of(version))
                yield version, at, event

    def event_of(self, row: Row, position: int) -> Event:
        """Return the event stored in a row; raise the same errors as `decode`."""
        at, form, payload = row
        try:
            if type(at) is not str:
                raise TypeError("the envelope is erased as well")
            decode, _ = self._readers.get(form) or self.reader(form)
            return decode(payload)  # type: ignore[no-any-return]
        except _UnknownError as error:
            raise NewerVersionError(
                f"{error.args[0]}: a newer sprintlog is required",
                position=position,
                hint="upgrade sprintlog",
            ) from error
        except DAMAGE as error:
            tag = form[0] if isinstance(form, tuple) else form
            raise UnreadableError(
                "the payload was erased"
                if payload is None
                else f"payload of {tag} is damaged: {error}",
                position=position,
                hint=RESCUE,
            ) from error

    def reader(self, form: Form) -> Reader:
        """Return a stored form's decoder and type; raise `KeyError` for an unknown form.

        Decoders are created on first use, because most commands need only a few.
        """
        if (made := self._readers.get(form)) is not None:
            return made
        tag, shape = form if isinstance(form, tuple) else (form, 1)
        # A damaged column may contain a number.
        if isinstance(tag, str) and tag.startswith(PREFIX):
            # The extension is not consulted: its events are read in the same way without
            # it.
            self._readers[form] = made = partial(read, tag, shape), ExtensionEvent
            return made
        event = self._known.get(tag) or self.events.get(tag)
        if event is None or shape > event.schema_version:
            raise _UnknownError(f"{tag} version {shape} is not supported")
        if shape == event.schema_version:
            made = msgspec.json.Decoder(event).decode, event
        else:
            made = partial(self._decode_old, event, shape), event
        self._readers[form] = made
        return made

    def _decode_old(self, event: type[Event], shape: int, payload: str | bytes) -> Event:
        data = msgspec.json.decode(payload, type=dict[str, Any])
        to = event.schema_version
        today = upcast(self._upcasts, event.type, data, since=shape, to=to)
        return msgspec.convert(today, event)
