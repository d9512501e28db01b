"""Detects why an agent will not call installed hooks, but never marks a folder trusted."""

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...readable import quoted
from .files import SCOPES, HookFile, HookLocation
from .forms import HOOKS

_BYTES_MAX = 4 * 1024 * 1024


class Hindrance(NamedTuple):
    """A reason why hooks are not called, and how to fix it."""

    says: str
    helps: str | None = None


def hindrances(file: HookFile, around: HookLocation) -> Iterator[Hindrance]:
    """Yield the reasons why a file's hooks may not be called, or may be called twice."""
    form, in_project = file.form, file.scope == SCOPES[0]
    yield from _program(around)
    for scope in SCOPES if form.off else ():
        place = around.file(form.agent, scope).path
        if form.off and _at(_read(place, json.loads), *form.off.key) is form.off.value:
            said = f"{'.'.join(form.off.key)} = {json.dumps(form.off.value)}"
            yield Hindrance(f"{place} contains {said}", "remove that line")
    if file.what == HOOKS and form.agent in _OF_AGENTS:
        yield from _OF_AGENTS[form.agent](file, around)
    for note in (form.notes if in_project else (), form.always):
        if note:
            yield Hindrance(*note)


def covered_by(file: HookFile, around: HookLocation) -> Path | None:
    """Return another agent's file whose hooks this agent also calls, or None."""
    if (file.form.agent, file.what, file.scope) != ("copilot", HOOKS, "project"):
        return None
    other = around.file("claude", "project")
    return other.path if other.events() else None


def _program(around: HookLocation) -> Iterator[Hindrance]:
    for folder in around.environment.get("PATH", "").split(os.pathsep):
        if folder and os.access(Path(folder) / "sprintlog", os.X_OK):
            return
    yield Hindrance(
        "sprintlog is not on the PATH, so agents do not find it",
        f"`export PATH={quoted(str(Path(sys.executable).parent))}:$PATH`",
    )


def _codex(file: HookFile, around: HookLocation) -> Iterator[Hindrance]:
    own = around.file("codex", "user").root / "config.toml"
    config = _read(own, tomllib.loads)
    if _at(config, "features", "hooks") is False:
        yield Hindrance(f"{own} says hooks = false", "remove that line")
    project = _at(config, "projects", str(around.project), "trust_level")
    if file.scope == "project" and project != "trusted":
        yield Hindrance(
            f"codex does not trust {around.project}, and skips its hooks without a word",
            "`codex exec --trust`, once",
        )
    states = _at(config, "hooks", "state")
    known = states if isinstance(states, dict) else {}
    if not any(str(file.path) in name for name in known):
        yield Hindrance(
            "codex runs a hook only after you looked at it",
            "`/hooks` inside `codex`, or --dangerously-bypass-hook-trust for one run",
        )
    beside = file.path.with_name("config.toml")
    if set(_mapping(_read(beside, tomllib.loads).get("hooks"))) - {"state"}:
        yield Hindrance(f"{beside} has hooks, too: codex wants one place")


def _gemini(file: HookFile, around: HookLocation) -> Iterator[Hindrance]:
    if file.scope == "user":
        return
    trusted = around.file("gemini", "user").root / ".gemini" / "trustedFolders.json"
    if around.environment.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return
    if not _is_trusted(around.project, _read(trusted, json.loads)):
        yield Hindrance(
            f"gemini does not trust {around.project}, and then runs no hooks of a "
            "project, nor with --skip-trust",
            "`GEMINI_CLI_TRUST_WORKSPACE=true gemini …`, or --scope user",
        )


def _copilot(file: HookFile, around: HookLocation) -> Iterator[Hindrance]:
    if other := covered_by(file, around):
        yield Hindrance(
            f"copilot also runs the hooks in {other}: each event comes twice, and is "
            "recorded once",
            "`sprintlog hooks uninstall copilot`",
        )
    if file.scope == "project" and not around.environment.get("COPILOT_ALLOW_ALL"):
        yield Hindrance(
            "copilot runs hooks only in a folder that is trusted",
            "`copilot --trust-folder`",
        )


_OF_AGENTS: dict[str, Callable[[HookFile, HookLocation], Iterator[Hindrance]]] = {
    "codex": _codex,
    "gemini": _gemini,
    "copilot": _copilot,
}


def _is_trusted(project: Path, known: Mapping[str, Any]) -> bool:
    for folder, said in known.items():
        if said == "TRUST_FOLDER" and project.is_relative_to(folder):
            return True
        if said == "TRUST_PARENT" and project.is_relative_to(Path(folder).parent):
            return True
    return False


def _read(path: Path, loads: Callable[[str], Any]) -> dict[str, Any]:
    try:
        return _mapping(loads(_text(path)))
    except (OSError, ValueError, RecursionError):
        # There is no warning about unreadable files.
        return {}


def _text(path: Path) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(_BYTES_MAX).decode()


def _at(found: Any, *keys: str) -> Any:
    for key in keys:
        found = _mapping(found).get(key)
    return found


def _mapping(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
