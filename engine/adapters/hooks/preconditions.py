"""Detects why an agent will not use installed content, but never marks a folder trusted.

The reasons and remedies are in `agents.toml`, by precondition.
"""

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InvalidInputError
from ...readable import quoted
from .files import SCOPES, HookFile, HookLocation
from .forms import HOOKS

_BYTES_MAX = 4 * 1024 * 1024


class Hindrance(NamedTuple):
    """A reason why hooks are not called, and how to fix it."""

    says: str
    helps: str | None = None


def hindrances(file: HookFile, around: HookLocation) -> Iterator[Hindrance]:
    """Yield the reasons why a file's content may not be used, or may be used twice."""
    folders = filter(None, around.environment.get("PATH", "").split(os.pathsep))
    if not any(os.access(Path(folder) / "sprintlog", os.X_OK) for folder in folders):
        yield Hindrance(
            "sprintlog is not on the PATH, so agents do not find it",
            f"`export PATH={quoted(str(Path(sys.executable).parent))}:$PATH`",
        )
    for name, reason in file.form.reasons.items():
        if name.startswith(SCOPES[0]) and file.scope != SCOPES[0]:
            continue
        if found := PRECONDITIONS[name](file, around):
            said = {"project": around.project, "found": found}
            yield Hindrance(*(one.format(**said) for one in reason))


def covered_by(file: HookFile, around: HookLocation) -> Path | None:
    """Return another agent's file whose hooks this agent also calls, or None."""
    if (file.form.agent, file.what, file.scope) != ("copilot", HOOKS, SCOPES[0]):
        return None
    other = around.file("claude", SCOPES[0])
    with suppress(InvalidInputError):
        return other.path if other.events() else None
    return None


Precondition = Callable[[HookFile, HookLocation], object]


def _distrusted_by_gemini(file: HookFile, around: HookLocation) -> bool:
    known = _read(around.file("gemini", "user").root / ".gemini" / "trustedFolders.json")
    of = {"TRUST_FOLDER": Path, "TRUST_PARENT": lambda folder: Path(folder).parent}
    trusted = [of[str(x)](folder) for folder, x in known.items() if str(x) in of]
    if around.environment.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return False
    return not any(around.project.is_relative_to(folder) for folder in trusted)


def _two_places(file: HookFile, around: HookLocation) -> Path | None:
    beside = file.path.with_name("config.toml")
    return beside if {*_at(_read(beside), "hooks")} - {"state"} else None


def _off(name: str, *keys: str, value: bool) -> Precondition:
    """Return a precondition that finds a settings file that turns hooks off."""

    def found(file: HookFile, around: HookLocation) -> Path | None:
        files = [around.file(file.form.agent, scope).path for scope in SCOPES]
        for place in (one.with_name(name) for one in files):
            if _at(_read(place), *keys[:-1]).get(keys[-1]) is value:
                return place
        return None

    return found


PRECONDITIONS: dict[str, Precondition] = {
    "always": lambda file, around: True,
    "project": lambda file, around: True,
    "project-copilot": lambda file, around: not around.environment.get("COPILOT_ALLOW_ALL"),
    "project-codex": lambda file, around: (
        _at(_config(around), "projects", str(around.project)).get("trust_level")
        != "trusted"
    ),
    "project-gemini": _distrusted_by_gemini,
    "not-reviewed": lambda file, around: (
        not any(str(file.path) in name for name in _at(_config(around), "hooks", "state"))
    ),
    "covered": covered_by,
    "two-places": _two_places,
    "claude-off": _off("settings.json", "disableAllHooks", value=True),
    "codex-off": _off("config.toml", "features", "hooks", value=False),
    "gemini-off": _off("settings.json", "hooksConfig", "enabled", value=False),
}
"""Each returns a true value if a reason in `agents.toml` applies, such as the file that
causes it; names that begin with `project` apply only to a project's files."""


def _config(around: HookLocation) -> dict[str, Any]:
    return _read(around.file("codex", "user").root / "config.toml")


def _read(path: Path) -> dict[str, Any]:
    loads = tomllib.loads if path.suffix == ".toml" else json.loads
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return _at(loads(file.read(_BYTES_MAX).decode()))
    except (OSError, ValueError, RecursionError):
        # There is no warning about unreadable files.
        return {}


def _at(found: Any, *keys: str) -> dict[str, Any]:
    """Return the object under some keys, or an empty one."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}
