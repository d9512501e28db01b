"""Facts to payloads and back, by wire tag; old shapes go through the upcasts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from ..errors import RESCUE, InvalidInputError, UnreadableError
from .envelope import Recorded
from .fact import Fact
from .port import Row
from .upcast import Upcasts, check_upcasts, upcast

ROWS_PER_PAGE = 512

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


class _UnknownError(Exception):
    """A type or a shape that only a newer version knows."""


class Codec:
    """Decodes the payloads of a known set of facts."""

    def __init__(
        self,
        facts: Iterable[type[Fact]],
        upcasts: Upcasts,
        *,
        more: Callable[[], Iterable[type[Fact]]] = lambda: (),
    ) -> None:
        """Know some facts; `more` gives others when one is met that is not among them."""
        self._upcasts = upcasts
        self._known: dict[str, type[Fact]] = {}
        self._decoders: dict[str, tuple[int, Callable[[Any], Any]]] = {}
        self._more: Callable[[], Iterable[type[Fact]]] | None = more
        self._learn(facts)

    @property
    def facts(self) -> dict[str, type[Fact]]:
        """Return every fact there is, by its tag."""
        if self._more is not None:
            more, self._more = self._more, None
            self._learn(more())
            today = {tag: fact.schema_version for tag, fact in self._known.items()}
            check_upcasts(today, self._upcasts)
        return self._known

    def _learn(self, facts: Iterable[type[Fact]]) -> None:
        for fact in facts:
            self._known[fact.type] = fact
            decode = msgspec.json.Decoder(fact).decode
            self._decoders[fact.type] = (fact.schema_version, decode)
        today = {tag: fact.schema_version for tag, fact in self._known.items()}
        ours = {step: upcast for step, upcast in self._upcasts.items() if step[0] in today}
        check_upcasts(today, ours)

    def decode(self, event: Recorded) -> Fact:
        """Return the event's fact.

        Raise `UnreadableError` for an unknown type, a shape from a newer version, an
        erased payload, or bytes that are not that fact.
        """
        row = (
            event.version,
            event.at,
            event.type,
            event.schema_version,
            event.payload,
            event.position,
        )
        return self._facts([row])[0][2]

    def today(self, event: Recorded) -> bytes | None:
        """Return the event's payload in today's shape; None when it was erased.

        The stored bytes where they have it already. Raise `UnreadableError` as `decode`
        does.
        """
        if event.payload is None:
            return None
        fact = self.decode(event)
        return (
            event.payload if event.schema_version == fact.schema_version else encode(fact)
        )

    def facts_of(self, rows: Iterable[Row]) -> Iterator[tuple[int, str, Fact]]:
        """Yield version, time and fact of each row; raise as `decode` does."""
        rows = iter(rows)
        # Page by page: to read a row, decode it and fold it, one after another, takes a
        # tenth longer than to do each of it with many.
        while page := list(islice(rows, ROWS_PER_PAGE)):
            yield from self._facts(page)

    def _facts(self, rows: Sequence[Row]) -> list[tuple[int, str, Fact]]:
        decoders = self._decoders
        facts: list[tuple[int, str, Fact]] = []
        try:
            for version, at, tag, schema_version, payload, _ in rows:
                if type(at) is not str or type(schema_version) is not int:
                    raise TypeError("what stands around it is, too")
                today = decoders.get(tag)
                if today is not None and today[0] == schema_version:
                    facts.append((version, at, today[1](payload)))
                else:
                    fact = self._decode_old(tag, schema_version, payload)
                    facts.append((version, at, fact))
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
            _, _, tag, _, payload, position = rows[len(facts)]
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
                position=rows[len(facts)][-1],
                hint="the log was written by a newer sprintlog: upgrade this one",
            ) from error
        return facts

    def _decode_old(
        self, tag: str, schema_version: int, payload: str | bytes | None
    ) -> Fact:
        fact = self.facts.get(tag)
        if fact is None or schema_version > fact.schema_version:
            raise _UnknownError(f"{tag} version {schema_version} is not known here")
        if payload is None:
            raise TypeError
        shape = upcast(
            self._upcasts,
            tag,
            msgspec.json.decode(payload),
            since=schema_version,
            to=fact.schema_version,
        )
        return msgspec.convert(shape, fact)
