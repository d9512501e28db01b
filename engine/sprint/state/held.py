"""What the knowledge keeps of snapshots and restores."""

import msgspec

from ..events import RestoreStarted


class HeldSnapshot(msgspec.Struct, array_like=True):
    """A snapshot that the store holds."""

    snapshot: str
    iteration: int
    version: int
    purpose: str
    worktree: str


class Restore(msgspec.Struct, array_like=True):
    """A restore, and the version that began it."""

    version: int
    event: RestoreStarted
