"""The shape every fact shares: a frozen struct with a wire tag and a kind."""

from enum import Enum
from typing import ClassVar

import msgspec

from .port import PAYLOAD_BYTES_MAX


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
