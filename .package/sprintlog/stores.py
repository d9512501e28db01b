"""What a store of a log can do, the stores there are, and what one of your own needs."""

from .engine.log.envelope import (
    Appended as Appended,
    Head as Head,
    NewEvent as NewEvent,
    RecordedEvent as RecordedEvent,
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
    Locks as Locks,
    Log as Log,
    Maintenance as Maintenance,
    Take as Take,
)
from .engine.log.stores import create_log as create_log, open_log as open_log
from .engine.log.stores.memory import MemoryLog as MemoryLog
from .engine.log.stores.sqlite.store import SqliteLog as SqliteLog
