"""Definitions as files in a folder, compiled as a user would have them compiled."""

from pathlib import Path
from typing import Any

from sprintlog.cli.intake.definition import CompiledFiles, DefinitionError, compile_files

Data = dict[str, Any]


def write(folder: Path, sprint: str, **workflows: str) -> Path:
    """Write a SPRINT.yaml and the workflows it may name; return the SPRINT.yaml.

    A workflow's name is that of its argument, underscores as dashes.
    """
    home = folder / ".claude" / "workflows"
    home.mkdir(parents=True, exist_ok=True)
    for name, text in workflows.items():
        (home / f"{name.replace('_', '-')}.yaml").write_text(text, encoding="utf-8")
    file = folder / "SPRINT.yaml"
    file.write_text(sprint, encoding="utf-8")
    return file


def compiled(folder: Path, sprint: str, **workflows: str) -> CompiledFiles:
    """Return the result of a definition that compiles."""
    return compile_files(write(folder, sprint, **workflows))


def problems(folder: Path, sprint: str, **workflows: str) -> list[tuple[str, str, int]]:
    """Return code, file and line of every message about a definition."""
    try:
        found = compiled(folder, sprint, **workflows).warnings
    except DefinitionError as error:
        found = error.problems
    return [(one.code, Path(one.file).name, one.line or 0) for one in found]


def tree(plan: Data) -> list[tuple[str, str | None]]:
    """Return address and prompt of every phase, step and sub-phase, in order."""
    found: list[tuple[str, str | None]] = []
    for phase in plan["phases"]:
        found.append((phase["id"], phase.get("prompt")))
        for step in phase.get("steps", ()):
            where = f"{phase['id']}/{step['id']}"
            found.append((where, step["prompt"]))
            found += [(f"{where}/{sub['id']}", sub["prompt"]) for sub in step["phases"]]
    return found
