"""Files read whole, and descriptors given back: what closing says comes too late."""

import os
from contextlib import suppress
from pathlib import Path


def read_whole(path: Path, *, at_most: int = -1) -> bytes:
    """Return a file's bytes, or the first of them where it may not be read further."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(at_most)
    finally:
        give_back(descriptor)


def give_back(descriptor: int) -> None:
    """Close a descriptor of which nothing is wanted any more.

    The system takes it back even where it reports an interruption or a failed disk, and
    what was read or synced before that is as good as ever.
    """
    with suppress(OSError):
        os.close(descriptor)
