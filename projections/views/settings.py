"""What `config` answers: every value, and who says so."""

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
