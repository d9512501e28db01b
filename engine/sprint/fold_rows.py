"""Fold: from the rows of a stream to the state of a sprint, in one loop."""

from collections.abc import Iterable, Iterator, Sequence

from ..log.codec import DAMAGE, Codec
from ..log.port import Form, Page
from .fold import Part, Taker, take_in, taker
from .state.effective_history import Interval
from .state.sprint import Sprint


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
        self.take_in(sprint, pages, live)
        sprint.plan.settle()
        return sprint

    def take_in(
        self,
        sprint: Sprint,
        pages: Iterable[Page],
        live: Sequence[Interval] | None = None,
    ) -> None:
        """Do the same, but for what is left to `settle` of the plan: more is to come."""
        page = Page((), (), ())

        def parts() -> Iterator[Part]:
            nonlocal page
            for page in pages:
                if len(page.versions) != len(page.rows):
                    raise ValueError("a page has a row for each version")
                yield page.versions, page.rows

        try:
            take_in(sprint, parts(), self._takers, live)
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
        self[form] = found = taker(decode, kind)
        return found
