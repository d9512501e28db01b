"""Every attack of an insider is found by a head that was signed elsewhere."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sprintlog
from sprintlog.commands import AddNote
from sprintlog.engine.errors import SprintlogError
from sprintlog.projections.health.verify import verify
from sprintlog.projections.trust import heads, proofs
from sprintlog.projections.workspace import Workspace

from ..adapters.trees import put
from .insiders import ATTACKS, attack

NOTES = 8


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree with a log, a head and a proof of one event."""
    tree = tmp_path_factory.mktemp("whole")
    put(tree / "plan.yaml", b"phases:\n  - {id: build, prompt: Build it}\n")
    calls = (("init", "--here"), ("sprint", "create", "auth", "--plan", "plan.yaml"))
    for call in calls:
        command = [sys.executable, "-m", "sprintlog.cli", *call]
        subprocess.run(command, cwd=tree, check=True, capture_output=True)
    with sprintlog.open(tree) as workspace:
        for number in range(NOTES):
            workspace.handle(AddNote(f"note {number}"), sprint_id="auth")
        head = heads.head_of(workspace)
        put(tree / "HEAD.txt", head.text.encode())
        put(tree / "proof.json", proofs.prove(workspace, 5, head, None))
    return tree


def found_by(tree: Path) -> dict[str, bool]:
    """Return which check finds that a log is not what it was."""
    found = {"alone": False, "head file": False, "signed head": False}
    try:
        with Workspace.open(tree, check_head=False) as workspace:
            said = verify(workspace).findings
            found["alone"] = any(one.severity == "damage" for one in said)
            head = heads.read_head(tree / "HEAD.txt")
            differs = bool([*heads.compare(workspace, head)])
            found["signed head"] = found["alone"] or differs
    except SprintlogError:
        found |= {"alone": True, "signed head": True}
    try:
        with Workspace.open(tree):
            found["head file"] = found["alone"]
    except SprintlogError:
        found["head file"] = True
    return found


@pytest.mark.parametrize(("name", "fits"), ATTACKS, ids=lambda value: str(value))
def test_attacks(whole: Path, tmp_path: Path, name: str, fits: bool) -> None:
    """A clumsy one is found by the log alone; one that fits only by a head kept elsewhere.

    The event that a proof shows is proved whatever becomes of the log.
    """
    tree = tmp_path / "tree"
    shutil.copytree(whole, tree)
    attack(tree / ".sprintlog", name, fits=fits)
    found = found_by(tree)
    assert found["signed head"]
    # The head file is beside the log: whoever makes all fit writes it, too.
    assert found["alone"] == found["head file"] == (not fits)
    proof = proofs.read_proof(tree / "proof.json")
    assert proofs.problems(proof, file="proof.json") == []


def test_an_untouched_log_is_sound(whole: Path) -> None:
    """Nothing is found where nothing was changed."""
    assert found_by(whole) == {"alone": False, "head file": False, "signed head": False}
