"""What `config` answers: every value, and who says so; `extensions`: what others bring."""

from typing import Any

from msgspec import Struct


class SettingValue(Struct, frozen=True):
    """A key, its value, and where that comes from."""

    key: str
    value: Any
    """In words where nobody says anything, else as it stands there."""
    origin: str
    """`environment`, `file` or `default`."""
    where: str | None = None
    """The variable, or the file and its line."""
    trusted: bool = True
    """Whether it is used: a file's value may have to be trusted first."""


class SettingsAnswer(Struct, frozen=True):
    """The work tree's file, and every value in force."""

    file: str | None
    trusted: bool
    values: list[SettingValue]


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
