"""Translates PostgreSQL and network errors into this package's errors."""

import psycopg
from psycopg import errors as codes

from sprintlog import errors

from .address import Address

_PASSING = (
    *(codes.AdminShutdown, codes.CrashShutdown, codes.CannotConnectNow),
    *(codes.TooManyConnections, codes.SerializationFailure, codes.DeadlockDetected),
    *(codes.ConnectionException, codes.IdleSessionTimeout),
)
_PASSING_WORDS = (
    *("starting up", "shutting down", "recovery", "not yet accepting", "too many"),
    *("administrator command", "remaining connection slots", "server_login_retry"),
)
"""Words in a server's messages while it is temporarily unavailable."""

_FINAL_WORDS = ("FATAL", "could not translate host name", "failed to resolve host")


def is_passing(error: psycopg.Error) -> bool:
    """Return whether retrying can help, because the server is unavailable or busy."""
    if isinstance(error, _PASSING) or is_standby(error):
        return True
    if not isinstance(error, psycopg.OperationalError) or error.sqlstate is not None:
        return False
    said = str(error)
    if any(word in said for word in _FINAL_WORDS):
        return any(word in said for word in _PASSING_WORDS)
    return True


def is_standby(error: psycopg.Error) -> bool:
    """Return whether the server is read-only, such as a standby before its promotion."""
    if isinstance(error, codes.ReadOnlySqlTransaction):
        return True
    # A statement that first requests a transaction id has no separate error code.
    return isinstance(error, codes.InternalError_) and "during recovery" in str(error)


def explained(error: psycopg.Error, address: Address) -> errors.SprintlogError:
    """Return this package's error for a PostgreSQL error, with a hint."""
    said = " ".join((error.diag.message_primary or str(error)).split())
    where = address.shown
    if is_standby(error):
        return errors.RefusedError(
            f"nothing recorded: {where} is a standby, or is configured as read-only",
            hint="specify the primary, or add target_session_attrs=read-write",
        )
    match error:
        case codes.LockNotAvailable():
            return errors.BusyError(
                f"the log {address.log} stays locked by another writer",
                hint="wait for the writer to finish, or end it, and repeat the command",
            )
        case codes.InsufficientPrivilege():
            return errors.RefusedError(
                f"permission denied ({said})",
                hint="ask the database's owner to run `GRANT sprintlog_writer TO role`",
            )
        case codes.UndefinedTable() | codes.InvalidSchemaName() | codes.UndefinedFunction():
            return errors.NotFoundError(
                f"there is no log at {where}: the database has no schema named sprintlog",
                hint="run `sprintlog init --log ADDRESS` to create it",
            )
        case codes.DiskFull():
            return errors.RefusedError(
                f"nothing recorded: the disk of the server is full ({said})",
                hint="free some space there and repeat the command",
            )
        case codes.DataCorrupted() | codes.IndexCorrupted():
            return errors.UnreadableError(
                f"the server reports damaged data ({said})",
                hint="restore the server from a backup",
            )
        case _:
            return _of_server(error, said, where)


def unsure(error: psycopg.Error, address: Address) -> errors.SprintlogError:
    """Return the error for an append with an unknown result."""
    said = explained(error, address).message.removeprefix("nothing recorded: ")
    return errors.SprintlogError(
        f"{said}: an event being recorded may or may not be in the log",
        hint="repeat the command with the same key to get the recorded answer",
    )


def _of_server(error: psycopg.Error, said: str, where: str) -> errors.SprintlogError:
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        return errors.SprintlogError(
            f"the server of {where} cannot be reached ({said})",
            hint="check the address, the network and the server; put a password in "
            "PGPASSFILE, a service file or PGPASSWORD",
        )
    return errors.SprintlogError(f"PostgreSQL failed at {where} ({said})")
