"""Locks beside the log: files of which one process at a time holds one."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sprintlog.engine.log.stores.descriptors import give_back


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only one that holds a lock file, which is made where it is missing."""
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        give_back(descriptor)
