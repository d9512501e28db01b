"""Contracts on appends, SQL and decisions: a violation breaks them."""

import shutil
from pathlib import Path

import pytest

from .contracts import CONTRACTS
from .tree import ROOT

PLANTS = {
    "engine knows no projection": {
        "engine/sprint/planted.py": "from sprintlog.projections.workspace import Workspace",
        "engine/journal/planted.py": "def late():\n    from ...cli import main",
    },
    "only the service appends": {
        "projections/sql/planted.py": "def f(log):\n    log.append('s', [], expect=0)",
        "cli/planted.py": "def f(w, more):\n    w.log.append('s', [], **more)",
    },
    "only stores know sql": {
        "projections/planted.py": "def f(log):\n    log.ask('PRAGMA user_version')",
        "engine/planted.py": "import sqlite3",
        "cli/planted.py": "def f(w):\n    return w.log.rows('x')",
        "projections/sql/planted.py": "def f(w):\n    return w.log.connection",
    },
    "cli decides nothing": {
        "cli/planted.py": "from sprintlog.engine.sprint.events import SprintStarted\n"
        "def f():\n    return SprintStarted()",
        "cli/work/planted.py": "from sprintlog.engine.sprint.phases import lifecycle\n"
        "def f(act):\n    act(lifecycle.StartSprint().decide)",
        "cli/back/planted.py": "def f(state) -> list[Event]:\n    return []",
        "cli/begin/planted.py": "from sprintlog.engine.journal.rules import OpenJournal\n"
        "def f(state):\n    return OpenJournal().decide(state, 'now')",
    },
    "outer folders use the front door": {
        "engine/adapters/agents/planted.py": "from ...usage import Usage"
    },
}
"""What breaks each contract, by the file it is put into."""


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_the_contract_holds(name: str) -> None:
    """The sources violate no contract."""
    assert CONTRACTS[name](ROOT) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "file"), [(name, file) for name, files in PLANTS.items() for file in files]
)
def test_a_planted_violation_is_seen(tmp_path: Path, name: str, file: str) -> None:
    """In a copy of the surrounding sources, the contract names the planted file."""
    folder = (tmp_path / file).parent
    shutil.copytree(ROOT / folder.relative_to(tmp_path), folder, ignore=_folders)
    before = {*CONTRACTS[name](tmp_path)}
    (tmp_path / file).write_text(f"{PLANTS[name][file]}\n")
    found = {*CONTRACTS[name](tmp_path)} - before
    assert {line.partition(":")[0] for line in found} == {file}


def _folders(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".py")]


def test_every_contract_is_tried() -> None:
    """For each contract, a violation is planted."""
    assert PLANTS.keys() == CONTRACTS.keys()
