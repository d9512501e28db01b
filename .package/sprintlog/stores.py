"""The ports of a log, the stores that implement them, and the types for custom stores."""

from typing import TYPE_CHECKING

from .engine.log.append import PreparedAppend as PreparedAppend, Stamping as Stamping
from .engine.log.chain import START as START
from .engine.log.envelope import (
    DOCUMENT_BYTES_MAX as DOCUMENT_BYTES_MAX,
    Appended as Appended,
    Head as Head,
    NewEvent as NewEvent,
    RecordedEvent as RecordedEvent,
    Span as Span,
)
from .engine.log.port import (
    Acknowledged as Acknowledged,
    Checkpoints as Checkpoints,
    Clock as Clock,
    Digests as Digests,
    Entropy as Entropy,
    EventStore as EventStore,
    Expect as Expect,
    Expected as Expected,
    LeaseHeld as LeaseHeld,
    Locks as Locks,
    Log as Log,
    Maintenance as Maintenance,
    Page as Page,
    Take as Take,
    Wait as Wait,
)
from .engine.log.stores import create_log as create_log, open_log as open_log
from .engine.log.stores.head_file import HeadFile as HeadFile, check_head as check_head
from .engine.log.stores.descriptors import (
    FileLocks as FileLocks,
    MemoryLocks as MemoryLocks,
)

if TYPE_CHECKING:
    from .engine.log.stores.memory import MemoryLog as MemoryLog
    from .engine.log.stores.sqlite.caches import LocalCaches as LocalCaches
    from .engine.log.stores.sqlite.store import SqliteLog as SqliteLog
else:
    _LATE = {
        "LocalCaches": "sqlite.caches",
        "MemoryLog": "memory",
        "SqliteLog": "sqlite.store",
    }

    def __getattr__(name):
        """Import a store when it is first used."""
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f".engine.log.stores.{_LATE[name]}", __package__)
        return getattr(module, name)

    def __dir__():
        """Return all public names, including those not imported yet."""
        return [*globals(), *_LATE]
