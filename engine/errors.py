"""The errors of this package: refusals, conflicts and unreadable data."""

from collections.abc import Iterable
from typing import Any, ClassVar

RESCUE = "use `sprintlog doctor --salvage FOLDER` to save the events, or restore a backup"
"""The hint for a damaged log."""


class SprintlogError(Exception):
    """The base class of all errors in this package; `--json` prints `fields`.

    `unknown` contains an unknown word and the known words, so that the closest word can be
    suggested.
    """

    kind: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        unknown: tuple[str, Iterable[str]] | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.unknown = unknown
        self.fields = fields


class RefusedError(SprintlogError):
    """A rule refused the request; nothing was recorded."""

    kind = "refused"


class NotFoundError(RefusedError):
    """An object named in the command does not exist."""

    kind = "not-found"


class InvalidInputError(RefusedError):
    """The input is invalid; the error names the file and the field or line."""

    kind = "invalid"

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        field: str | None = None,
        hint: str | None = None,
        unknown: tuple[str, Iterable[str]] | None = None,
    ) -> None:
        place = file or ""
        if line is not None:
            place = f"{place}:{line}" if place else f"line {line}"
        text = ": ".join(filter(None, (place, field, problem)))
        about: dict[str, Any] = {"file": file, "line": line, "field": field}
        super().__init__(text, hint=hint, unknown=unknown, **about, problem=problem)


class InvalidOptionError(InvalidInputError):
    """The value of a command's option is invalid; the exit status is 2."""


def wrong_type_error(
    error: Exception, what: str, *, field: str | None = None, hint: str | None = None
) -> InvalidInputError:
    """Convert a msgspec error to an error that names the field."""
    problem, _, where = str(error).partition(" - at `$")
    problem = f"{problem[:1].lower()}{problem[1:]}, in {what}"
    return InvalidInputError(problem, field=field or where.strip("`.") or None, hint=hint)


class ConflictError(SprintlogError):
    """A concurrent writer changed the stream, so its version is not the expected one."""

    kind = "conflict"

    def __init__(
        self, *, stream: str, expected: int | str, actual: int, hint: str | None = None
    ) -> None:
        super().__init__(
            f"stream {stream} is at version {actual}, expected {expected}",
            hint=hint or "reload the sprint and repeat the decision",
            stream=stream,
            expected=expected,
            actual=actual,
        )


class KeyConflictError(SprintlogError):
    """The idempotency key was already used for a different command."""

    kind = "conflict"

    def __init__(self, *, key: str, position: int) -> None:
        super().__init__(
            f"key {key!r} was already used at position {position} for a different command",
            hint="use a new key for a new command",
            key=key,
            position=position,
        )


class BusyError(SprintlogError):
    """Another process held the log for longer than the wait limit."""

    kind = "conflict"


class UnreadableError(SprintlogError):
    """Stored data cannot be read by this version, or a hash chain is broken."""

    kind = "unreadable"

    def __init__(
        self, problem: str, *, position: int | None = None, hint: str | None = None
    ) -> None:
        where = "" if position is None else f"position {position}: "
        super().__init__(f"{where}{problem}", hint=hint, position=position, problem=problem)


class LostLogError(UnreadableError):
    """The log was deleted or replaced while it was open."""


class MovedLogError(UnreadableError):
    """The log was moved while it was open, and its new location is unknown."""


class NewerVersionError(UnreadableError):
    """The data was written by, and requires, a newer version of sprintlog."""


class ExtensionError(SprintlogError):
    """An extension failed; the message names the extension."""

    kind = "extension"
