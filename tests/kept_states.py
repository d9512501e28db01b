"""Saved states as a test wants them."""

from sprintlog.engine.service.streams.catalogue import State
from sprintlog.engine.service.streams.repository import Repository


def keep_only(repository: Repository[State], state: State) -> None:
    """Save this state, and no other state of its stream."""
    stream = repository.kind.stream(state.id)
    repository.checkpoints.forget(stream)
    repository.checkpoints.save(stream, state, since=0)
