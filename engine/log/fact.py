"""The shape every fact shares: a frozen struct with a wire tag and a kind."""

from enum import Enum
from typing import Any, ClassVar, TypeVar

import msgspec

from ..errors import RefusedError
from .port import PAYLOAD_BYTES_MAX

Struct = TypeVar("Struct", bound=msgspec.Struct)


class Kind(Enum):
    """What a rollback does to a fact (DESIGN.md section 4)."""

    EXECUTION = "execution"
    """Voided when a rollback goes back before it."""
    KNOWLEDGE = "knowledge"
    """Never voided: what was learned stays learned."""
    CONTROL = "control"
    """Never voided: rollbacks themselves, and the rules in force."""


class Fact(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that happened; its fields are the payload, its tag the contract."""

    type: ClassVar[str]
    kind: ClassVar[Kind] = Kind.EXECUTION
    schema_version: ClassVar[int] = 1
    payload_bytes_max: ClassVar[int] = PAYLOAD_BYTES_MAX

    def own_time(self) -> str | None:
        """Return when it happened, where the fact itself says so."""
        return None


def fact_of(kind: type[Fact], data: object) -> Fact:
    """Return a fact from its data as JSON gives it.

    Raise `RefusedError` naming a field that is missing, unknown or of the wrong type.
    """
    if not isinstance(data, dict):
        raise RefusedError(f"data of {kind.type} must be an object", field="data")
    known = kind.__struct_fields__
    if extra := [name for name in data if name not in known]:
        raise RefusedError(
            f"data.{extra[0]}: {kind.type} has no such field; "
            f"allowed: {', '.join(known) or 'none'}",
            field=f"data.{extra[0]}",
            allowed=list(known),
        )
    return converted(data, kind, field="data")


def converted(data: Any, kind: type[Struct], *, field: str) -> Struct:
    """Return data as a struct; raise `RefusedError` naming the field that is wrong."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        field = f"{field}{where.rstrip('`')}"
        raise RefusedError(f"{field}: {problem}", field=field) from error
