"""Fold: from the rows of a stream to the state of a sprint, in one loop."""

from collections.abc import Iterable, Sequence

from ..log.codec import DAMAGE, Codec, Decode
from ..log.event import Event
from ..log.port import Page
from .events import SprintImported
from .fold import EVERY, NONE_LEFT, begin_anew
from .iterations.stretches import Interval
from .state.sprint import Evolve, Learn, Sprint
from .topics import HANDLERS

_Taker = tuple[int | None, Decode, Learn | None, Evolve | None, bool]
"""Which shape of an event is today's, what decodes it, what it changes, and whether it
is a document that came in."""


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
        takers, plan, knowledge = self._takers, sprint.plan, sprint.knowledge
        stretches = iter((EVERY,) if live is None else live)
        first, last = next(stretches, NONE_LEFT)
        for page in pages:
            version = sprint.version
            try:
                for version, row in zip(page.versions, page.rows, strict=True):
                    at, tag, shape, payload = row
                    today, decode, learn, evolve, came_in = takers[tag]
                    # One object stands for each small number.
                    if shape is today and type(at) is str:
                        event = decode(payload)
                    else:
                        event = self._codec.event_of(row, page.position_of(version))
                        learn, evolve = HANDLERS[type(event)]
                        came_in = type(event) is SprintImported
                    if learn is not None:
                        learn(knowledge, event, version)
                    if evolve is not None:
                        while version > last:
                            first, last = next(stretches, NONE_LEFT)
                        if version < first:
                            continue
                        if came_in:
                            begin_anew(plan, event, version)
                        else:
                            plan.touched = True
                        evolve(plan, event, at)
                        # Last: a patch was made against what was there before.
                        plan.last_at = at
            except DAMAGE:
                self._codec.event_of(row, page.position_of(version))
                # The event is sound: what went wrong is ours.
                raise
            sprint.version = version
        return sprint


class _Takers(dict[str, _Taker]):
    """What is to be done with an event, by its tag; found when it is first met."""

    def __init__(self, codec: Codec) -> None:
        super().__init__()
        self._codec = codec

    def __missing__(self, tag: str) -> _Taker:
        if (reader := self._codec.reader(tag)) is None:
            # Of another kind of stream, or of a newer version: the codec tells.
            return None, _unknown, None, None, False
        shape, decode, kind = reader
        came_in = kind is SprintImported
        self[tag] = taker = (shape, decode, *HANDLERS[kind], came_in)
        return taker


def _unknown(payload: object) -> Event:
    raise KeyError(payload)
