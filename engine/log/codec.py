"""Facts to payloads and back, by wire tag; old shapes go through the upcasts."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ..errors import InvalidInputError, UnreadableError
from .envelope import Recorded
from .fact import Fact
from .upcast import Upcasts, check_upcasts, upcast

_encoder = msgspec.json.Encoder()


def encode(fact: Fact) -> bytes:
    """Return the fact's fields as JSON, defaults left out.

    Raise `InvalidInputError` for text that is not Unicode, like bytes of a command line
    in another encoding.
    """
    try:
        return _encoder.encode(fact)
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{fact.type} holds text that is not UTF-8") from error


class Codec:
    """Decodes the payloads of a known set of facts."""

    def __init__(self, facts: Iterable[type[Fact]], upcasts: Upcasts) -> None:
        self.facts = {fact.type: fact for fact in facts}
        self._upcasts = upcasts
        check_upcasts(
            {tag: fact.schema_version for tag, fact in self.facts.items()}, upcasts
        )
        self._decoders: dict[tuple[str, int], msgspec.json.Decoder[Any]] = {
            (tag, fact.schema_version): msgspec.json.Decoder(fact)
            for tag, fact in self.facts.items()
        }

    def decode(self, event: Recorded) -> Fact:
        """Return the event's fact.

        Raise `UnreadableError` for an unknown type, a shape from a newer version, an
        erased payload, or bytes that are not that fact.
        """
        decoder = self._decoders.get((event.type, event.schema_version))
        if event.payload is None:
            raise UnreadableError("the payload was erased", position=event.position)
        try:
            if decoder is not None:
                return decoder.decode(event.payload)  # type: ignore[no-any-return]
            return self._decode_old(event, event.payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnreadableError(
                f"payload of {event.type} is damaged: {error}", position=event.position
            ) from error

    def _decode_old(self, event: Recorded, payload: bytes) -> Fact:
        fact = self.facts.get(event.type)
        if fact is None or event.schema_version > fact.schema_version:
            raise UnreadableError(
                f"{event.type} version {event.schema_version} is not known here",
                position=event.position,
                hint="the log was written by a newer sprintlog: upgrade this one",
            )
        stored = msgspec.json.decode(payload)
        shape = upcast(
            self._upcasts,
            event.type,
            stored,
            since=event.schema_version,
            to=fact.schema_version,
        )
        return msgspec.convert(shape, fact)
