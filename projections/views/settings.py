"""The JSON answers of `config`, `extensions` and `setup`."""

from typing import Any

from msgspec import Struct


class HookNote(Struct, frozen=True):
    """A reason why installed content might not be used, and a remedy."""

    says: str
    helps: str | None = None


class SetupStep(Struct, frozen=True):
    """A file or a log that `setup` changes."""

    what: str
    """`log`, `hooks`, `mcp`, `section`, `skill`, `measure`, `transcripts` or `plan`."""
    file: str
    """A path relative to the root; for the log, its folder."""
    action: str
    """`create`, `update`, `import`, `remove`, `skip` or `keep`."""
    says: str
    problem: str | None = None
    """Why nothing is changed."""


class SetupAnswer(Struct, frozen=True):
    """The differences between a work tree, or a user's files, and their setup."""

    root: str
    """The work tree, or the user's home folder for the scope `user`."""
    agents: list[str]
    steps: list[SetupStep]
    done: bool
    """Whether the steps without a problem were carried out."""
    notes: list[HookNote] = []


class SettingValue(Struct, frozen=True):
    """A setting, its value and the value's origin."""

    key: str
    value: Any
    """A description of the default, otherwise the value in the file."""
    origin: str
    """`environment`, `file` or `default`."""
    where: str | None = None
    """The environment variable, or the file and line."""
    trusted: bool = True
    """Whether the value is used; a value from a file may have to be trusted first."""


class SettingsAnswer(Struct, frozen=True):
    """The settings file of the work tree, and every effective value."""

    file: str | None
    trusted: bool
    values: list[SettingValue]


class ExtensionRow(Struct, frozen=True):
    """An extension that a package provides."""

    kind: str
    """`event`, `projection`, `agent`, `report`, `importer`, `store` or `notifier`."""
    name: str
    package: str
    version: str
    value: str
    """The object that the package provides: `module:name`."""
    problem: str | None = None
    """Why it cannot be used; only if it was checked."""


class ProgramRow(Struct, frozen=True):
    """A program that is available as a command."""

    name: str
    file: str


class ExtensionsInstalled(Struct, frozen=True):
    """The installed extensions and programs, none of which has been run."""

    extensions: list[ExtensionRow]
    programs: list[ProgramRow]


class ExtensionsChecked(Struct, frozen=True):
    """The results of importing each extension."""

    extensions: list[ExtensionRow]


class ProjectedAnswer(Struct, frozen=True):
    """The result of an extension's projection for a sprint."""

    projection: str
    sprint: str
    said: Any
    """The result, in the format chosen by the projection."""
