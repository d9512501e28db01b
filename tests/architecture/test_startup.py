"""What is imported before a recording command does anything."""

import importlib.util
import os
import subprocess
import sys

import pytest

from sprintlog.cli.main import COMMANDS, module_of

from .tree import PACKAGE_PATH, ROOT

SLOW = {"defusedxml", "lizard", "pydantic", "sqlite_utils", "structlog", "yaml"}
STORE = "sprintlog.engine.log.stores.sqlite.store"
HOT_PATH = ("sprintlog.projections.workspace", "sprintlog.cli.main", STORE)
OTHERS = {
    "alerts",
    "audit",
    "backup",
    "best",
    "blame",
    "completion",
    "demo",
    "diff",
    "doctor",
    "export",
    "import",
    "init",
    "log",
    "query",
    "rebuild",
    "replay",
    "schema",
    "show",
    "status",
    "verify",
}
"""Commands that do not record a single action; every other one is on the hot path."""
RECORDING_COMMANDS = [
    f"sprintlog.cli.{module_of(name)}" for name in COMMANDS if name not in OTHERS
]


def exists(module: str) -> bool:
    """Tell whether the module can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def packages_imported_by(*names: str) -> set[str]:
    """Return the top-level packages a fresh interpreter holds after the imports."""
    return {name.split(".")[0] for name in modules_imported_by(*names)}


def modules_imported_by(*names: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after the imports."""
    lines = [*(f"import {name}" for name in names), "import sys", "print(*sys.modules)"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("module", HOT_PATH)
def test_hot_path_starts_without_slow_libraries(module: str) -> None:
    """Recording imports no pydantic, structlog, sqlite-utils or PyYAML at start-up."""
    if not exists(module):
        pytest.skip(f"{module} does not exist yet")
    assert packages_imported_by(module) & SLOW == set()


def test_sprints_wait_for_nothing_of_the_journal() -> None:
    """What records and writes a sprint is there without the journal's modules."""
    names = ["sprintlog.projections.workspace", STORE, "sprintlog.cli.work.phase"]
    names += ["sprintlog.cli.work.append", "sprintlog.cli.begin.sprint"]
    lines = [*(f"import {name}" for name in names), "import sys"]
    lines.append("print(*(name for name in sys.modules if 'journal' in name))")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["sprintlog.engine.log.stores.sqlite.journal_mode"]


def test_only_what_reads_agents_output_imports_its_decoders() -> None:
    """Of the commands that record, `run` alone has them from the start."""
    names = [n for n in RECORDING_COMMANDS if exists(n) and not n.endswith(".run")]
    decoders = "sprintlog.engine.adapters.agents"
    assert not any(name.startswith(decoders) for name in modules_imported_by(*names))
    assert decoders in modules_imported_by("sprintlog.cli.work.run")


def test_recording_commands_start_without_slow_libraries() -> None:
    """No recording command's module imports a slow library before it is called."""
    commands = [name for name in RECORDING_COMMANDS if exists(name)]
    if not commands:
        pytest.skip("sprintlog.cli.commands has no recording command yet")
    assert packages_imported_by(*commands) & SLOW == set()
