"""Whether a file will look different when somebody writes to it after it was read.

Mostly it does: its time of change moves on. But what is written through a memory map moves
it only when the page was clean before, and on a file system that keeps nothing but memory
hardly ever. So one that somebody still has open for writing is not believed; where nobody
can tell that, its pages are made clean; and where that means nothing, no file is believed.
"""

import os
from contextlib import suppress
from pathlib import Path

from ...log.stores.descriptors import is_being_written
from ...log.stores.sqlite.journal_mode import MOUNTS, file_system

IN_MEMORY = frozenset({"ramfs", "tmpfs"})
LEASING = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "xfs"})
"""Where a lease is refused for as long as a file can be written by a map, too."""


class Quiet:
    """Knows which files of one tree can be believed to look as they are."""

    def __init__(self, root: Path) -> None:
        self._kind = kind_of(root)
        self.device = root.stat().st_dev
        self.is_local = self._kind in LEASING
        """Whether its files have the times of this system."""

    def prepare(self, descriptor: int) -> None:
        """Do what has to be done before a file is looked at and read."""
        if self._kind not in LEASING | IN_MEMORY:
            # A disk that is full or fails here says so when the file is read.
            with suppress(OSError):
                os.fsync(descriptor)

    def is_kept(self, descriptor: int, device: int) -> bool:
        """Tell whether what is written to a file after this will be seen by its time."""
        if device != self.device or self._kind in IN_MEMORY:
            return False
        return not is_being_written(descriptor)


def kind_of(root: Path) -> str | None:
    """Return the type of the file system a tree lies on; None where nobody tells."""
    try:
        mounts = MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    return file_system(root.resolve(), mounts)
