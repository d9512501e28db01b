"""What `extensions` answers: what others bring, and whether it can be used."""

from typing import Any

from msgspec import Struct


class ExtensionRow(Struct, frozen=True):
    """What a package brings."""

    kind: str
    """`event`, `projection`, `agent`, `report`, `importer`, `store` or `notifier`."""
    name: str
    package: str
    version: str
    value: str
    """Where it is: `module:name`."""
    problem: str | None = None
    """Why it cannot be used; only where it was tried."""


class ProgramRow(Struct, frozen=True):
    """A program that is a command here."""

    name: str
    file: str


class ExtensionsInstalled(Struct, frozen=True):
    """What is installed; none of it was run."""

    extensions: list[ExtensionRow]
    programs: list[ProgramRow]


class ExtensionsChecked(Struct, frozen=True):
    """What became of importing each of them."""

    extensions: list[ExtensionRow]


class ProjectedAnswer(Struct, frozen=True):
    """What a projection of an extension says of a sprint."""

    projection: str
    sprint: str
    said: Any
    """In the shape that the projection chose."""
