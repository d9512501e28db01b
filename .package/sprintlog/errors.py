"""All errors by kind: refusals, conflicts and unreadable data (see docs/reference)."""

from .engine.errors import (
    RESCUE as RESCUE,
    BusyError as BusyError,
    ConflictError as ConflictError,
    ExtensionError as ExtensionError,
    InvalidInputError as InvalidInputError,
    InvalidOptionError as InvalidOptionError,
    KeyConflictError as KeyConflictError,
    LostLogError as LostLogError,
    MovedLogError as MovedLogError,
    NewerVersionError as NewerVersionError,
    NotFoundError as NotFoundError,
    RefusedError as RefusedError,
    SprintlogError as SprintlogError,
    UnreadableError as UnreadableError,
)
