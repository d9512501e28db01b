"""Helpers for saved states in tests."""

from typing import Any

from sprintlog.engine.service.streams.catalogue import State
from sprintlog.engine.service.streams.repository import Repository


def keep_only(repository: Repository[State], state: State) -> None:
    """Save this state, and no other state of its stream."""
    stream = repository.kind.stream(state.id)
    repository.checkpoints.forget(stream)
    repository.checkpoints.save(stream, state, since=0)


def saved_states(log: Any) -> dict[tuple[str, int], tuple[int, bytes]]:
    """Return format and bytes of every saved state of a log, by stream and version."""
    rows = log.checkpoints._connection.rows(
        "SELECT stream, version, format, state FROM checkpoints"
    )
    return {(stream, version): (format_, state) for stream, version, format_, state in rows}


def put_state(log: Any, key: tuple[str, int], state: bytes) -> None:
    """Replace the bytes of a saved state."""
    log.checkpoints._connection.rows(
        "UPDATE checkpoints SET state = ? WHERE stream = ? AND version = ?", (state, *key)
    )
