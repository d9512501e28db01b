"""Arrows between rooms, and names that rooms are imported by."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator

import grimp
import pytest

from .tree import PACKAGE_PATH, ROOMS, ROOT, door_modules, dotted, modules, parse, relative

LINT_IMPORTS = "from importlinter.cli import lint_imports_command as run; run()"


def imported_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of every absolute import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or ""


@pytest.mark.long
def test_nothing_imports_a_bare_room() -> None:
    """Packages are imported as part of sprintlog: a copy would have different classes."""
    bare = [
        f"{relative(path)}:{line} imports {name}"
        for path in modules(*ROOMS, "tests")
        for line, name in imported_names(parse(path))
        if name.split(".")[0] in ROOMS
    ]
    assert bare == []


@pytest.mark.long
def test_imports_are_relative_inside_a_room() -> None:
    """Imports within a top-level package are relative; absolute imports cross packages."""
    own = [
        f"{relative(path)}:{line} imports {name}"
        for room in ROOMS
        for path in modules(room)
        for line, name in imported_names(parse(path))
        if f"{name}.".startswith(f"sprintlog.{room}.")
    ]
    assert own == []


def test_import_contracts_hold() -> None:
    """Every import contract in pyproject.toml holds."""
    done = subprocess.run(
        [sys.executable, "-c", LINT_IMPORTS, "--no-cache", "--no-logo"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_contracts_see_every_module() -> None:
    """The contracts are checked for the complete package, not for an empty one."""
    graph = grimp.build_graph("sprintlog", cache_dir=None)
    assert graph.modules == {*map(dotted, [*door_modules(), *modules(*ROOMS)])}


def test_no_module_imports_itself_in_a_circle() -> None:
    """No module imports itself, directly or indirectly."""
    graph = grimp.build_graph("sprintlog", cache_dir=None)
    left = {
        module: set(graph.find_modules_directly_imported_by(module))
        for module in graph.modules
    }
    while free := {module for module, targets in left.items() if not targets & left.keys()}:
        left = {module: targets for module, targets in left.items() if module not in free}
    assert left == {}
