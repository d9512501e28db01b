"""The `sprintlog config` command: settings and their origins, and trust in the file."""

import os
from collections.abc import Iterator
from typing import Any

import click

from sprintlog.engine.errors import NotFoundError
from sprintlog.projections.views.settings import SettingsAnswer, SettingValue

from .. import settings, typed
from ..context import with_json
from ..output import print_answer, table
from ..settings import trust
from ..settings.file import KEYS, Key, SettingsFile
from ..suggest import closest


@typed.command("config")
@typed.argument("key", required=False)
@typed.flag(
    "--trust",
    "trusts",
    help="Trust the commands, variables, paths and actor currently in the file.",
)
@with_json
def command(key: str | None, trusts: bool, as_json: bool) -> None:
    """Show each setting with its origin: environment, file or default.

    Options on the command line take precedence over all of them. The file is
    `sprintlog.toml` at the work tree's root, or `[tool.sprintlog]` in its pyproject.toml.
    The file's commands, and its paths and actor for recording, are used only after --trust,
    which must be repeated whenever they change.

    Examples: sprintlog config

    sprintlog config agent.command --json

    sprintlog config --trust
    """
    if key is not None and key not in KEYS:
        meant = closest(key, KEYS)
        hint = "run `sprintlog config` to list the keys"
        hint = f"did you mean `{meant}`?" if meant else hint
        raise NotFoundError(f"unknown key {key[:60]!r}", hint=hint)
    found = settings.settings_file()
    if trusts:
        if key is not None:
            raise click.UsageError("--trust cannot be combined with KEY")
        _trust(found)
    known = [key] if key is not None else [*KEYS]
    values = [_value(name, KEYS[name], found) for name in known]
    file = str(found.path) if found else None
    answer = SettingsAnswer(file, found is None or found.is_trusted, values)
    print_answer(answer, _lines(answer, found), as_json=as_json)


def _trust(found: SettingsFile | None) -> None:
    if found is None:
        raise NotFoundError(
            f"this work tree has neither {settings.NAME} nor [tool.sprintlog]",
            hint="no settings require trust",
        )
    for name in found.needs_trust:
        # Malformed values cannot be trusted.
        found.checked(name)
    found.is_trusted = True
    if found.needs_trust:
        trust.trust(found.folder, found.digest)


def _value(name: str, key: Key, found: SettingsFile | None) -> SettingValue:
    if key.variable and (said := os.environ.get(key.variable)):
        return SettingValue(name, said, "environment", key.variable)
    if found is None or name not in found.given:
        return SettingValue(name, key.default, "default")
    line = found.line_of(name)
    where = f"{found.path}:{line}" if line else str(found.path)
    is_used = found.is_trusted or not key.needs_trust
    return SettingValue(name, found.checked(name), "file", where, is_used)


def _lines(answer: SettingsAnswer, found: SettingsFile | None) -> Iterator[str]:
    rows = []
    for one in answer.values:
        origin = one.where or one.origin
        rows.append((one.key, _shown(one.value), origin + ("" if one.trusted else "  !")))
    yield from table(rows, spare=(1,))
    if found is None or answer.trusted:
        return
    yield "! is not used before it is trusted: `sprintlog config --trust`"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{name}={_shown(one)}" for name, one in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
