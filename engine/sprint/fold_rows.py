"""Fold: from the rows of a stream to the state of a sprint, in one loop."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ..log.codec import DAMAGE, Codec
from ..log.port import Form, Page
from .fold import Row, Taker, take_in
from .iterations.stretches import Interval
from .state.sprint import Sprint
from .topics import HANDLERS


class RowFold:
    """Folds rows as a store has them: each event is taken in as soon as it is decoded."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._takers = _Takers(codec)

    def __call__(
        self,
        sprint: Sprint,
        pages: Iterable[Page],
        live: Sequence[Interval] | None = None,
    ) -> Sprint:
        """Return the sprint as `fold` does; raise as `Codec.decode` does."""
        page = Page((), (), ())

        def rows() -> Iterator[Iterable[Row]]:
            nonlocal page
            for page in pages:
                yield zip(page.versions, page.rows, strict=True)

        try:
            return take_in(sprint, chain.from_iterable(rows()), self._takers, live)
        except DAMAGE:
            for row, position in zip(page.rows, page.positions, strict=True):
                self._codec.event_of(row, position)
            # All events are sound: what went wrong is ours.
            raise


class _Takers(dict[Form, Taker]):
    """What is to be done with an event, by its form; found when it is first met."""

    def __init__(self, codec: Codec) -> None:
        super().__init__()
        self._codec = codec

    def __missing__(self, form: Form) -> Taker:
        decode, kind = self._codec.reader(form)
        self[form] = taker = (decode, *HANDLERS[kind])
        return taker
