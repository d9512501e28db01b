"""Events to payloads and back, by wire tag; old shapes go through the upcasts."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from ..errors import RESCUE, InvalidInputError, UnreadableError
from .envelope import RecordedEvent
from .event import Event
from .port import Page, Row, row_of
from .upcast import Upcasts, check_upcasts, upcast

Decode = Callable[[Any], Any]
"""Makes an event of a payload in today's shape."""

Reader = tuple[int, Decode, type[Event]]
"""Which shape of an event is today's, what decodes that, and the event."""

DAMAGE = (msgspec.MsgspecError, KeyError, TypeError, ValueError)
"""What decoding raises for bytes that are not that event."""

_encoder = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """Return the event's fields as JSON, defaults left out.

    Raise `InvalidInputError` for text that is not Unicode, like bytes of a command line
    in another encoding.
    """
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{event.type} holds text that is not UTF-8") from error


class _UnknownError(Exception):
    """A type or a shape that only a newer version knows."""


class Codec:
    """Decodes the payloads of a known set of events."""

    def __init__(
        self,
        events: Iterable[type[Event]],
        upcasts: Upcasts,
        *,
        more: Callable[[], Iterable[type[Event]]] = lambda: (),
    ) -> None:
        """Know some events; `more` gives others when one is met that is not among them."""
        self._upcasts = upcasts
        self._known: dict[str, type[Event]] = {}
        self._readers: dict[str, Reader] = {}
        self._more: Callable[[], Iterable[type[Event]]] | None = more
        self._learn(events)

    @property
    def events(self) -> dict[str, type[Event]]:
        """Return every event there is, by its tag."""
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
        """Return the event's event.

        Raise `UnreadableError` for an unknown type, a shape from a newer version, an
        erased payload, or bytes that are not that event.
        """
        return self.event_of(row_of(event), event.position)

    def today(self, recorded: RecordedEvent) -> bytes | None:
        """Return the event's payload in today's shape; None when it was erased.

        The stored bytes where they have it already. Raise `UnreadableError` as `decode`
        does.
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
        """Yield version, time and event of each row; raise as `decode` does."""
        readers = self._readers
        for page in pages:
            for version, row in zip(page.versions, page.rows, strict=True):
                at, tag, shape, payload = row
                reader = readers.get(tag)
                # One object stands for each small number.
                if reader is not None and reader[0] is shape and type(at) is str:
                    try:
                        event = reader[1](payload)
                    except DAMAGE:
                        event = self.event_of(row, page.position_of(version))
                else:
                    event = self.event_of(row, page.position_of(version))
                yield version, at, event

    def event_of(self, row: Row, position: int) -> Event:
        """Return the event of a row; raise as `decode` does."""
        at, tag, schema_version, payload = row
        try:
            if type(at) is not str or type(schema_version) is not int:
                raise TypeError("what is around it is, too")
            today = self._readers.get(tag) or self.reader(tag)
            if today is not None and today[0] == schema_version:
                return today[1](payload)  # type: ignore[no-any-return]
            return self._decode_old(tag, schema_version, payload)
        except DAMAGE as error:
            raise UnreadableError(
                "the payload was erased"
                if payload is None
                else f"payload of {tag} is damaged: {error}",
                position=position,
                hint=RESCUE,
            ) from error
        except _UnknownError as error:
            raise UnreadableError(
                str(error),
                position=position,
                hint="the log was written by a newer sprintlog: upgrade this one",
            ) from error

    def reader(self, tag: str) -> Reader | None:
        """Return what reads an event in today's shape; None for one that is not known.

        It is made when the event is first met: most commands meet few of them.
        """
        if (made := self._readers.get(tag)) is not None:
            return made
        if (event := self._known.get(tag)) is None:
            return None
        made = event.schema_version, msgspec.json.Decoder(event).decode, event
        self._readers[tag] = made
        return made

    def _decode_old(
        self, tag: str, schema_version: int, payload: str | bytes | None
    ) -> Event:
        event = self.events.get(tag)
        if event is None or schema_version > event.schema_version:
            raise _UnknownError(f"{tag} version {schema_version} is not known here")
        if payload is None:
            raise TypeError
        shape = upcast(
            self._upcasts,
            tag,
            msgspec.json.decode(payload),
            since=schema_version,
            to=event.schema_version,
        )
        return msgspec.convert(shape, event)
