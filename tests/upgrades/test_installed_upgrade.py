"""A wheel of another version is installed while an older wheel is in use."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import needs
from tests.adapters.trees import git
from tests.architecture import test_archives
from tests.architecture.test_installed import bare as bare
from tests.architecture.tree import ROOT

from .conftest import Installed
from .test_upgrades import PLAN, SAID

CHANGED = {
    "engine/adapters/processes/supervisor.py": [
        ("FORMAT = 1", "FORMAT = 2"),
        ('order["stopping"]', 'order["stopping-seconds"]'),
        ('"exit": superv', '"code": superv'),
    ],
    "engine/adapters/processes/supervised.py": [
        ('"stopping": stopping', '"stopping-seconds": stopping'),
        ("    exit: int", "    code: int"),
    ],
    "pyproject.toml": [('version = "0.2.0"', 'version = "0.9.0"')],
}
"""What the other version changes, by file: messages of the supervisor, its own number."""
MOVED = {
    "engine/service/driver/pulse.py": ("driver.pulse", "driver.agents_pulse"),
    "engine/adapters/snapshots/capture.py": ("snapshots.capture", "snapshots.captured"),
    "engine/service/work_tree/capturer.py": ("work_tree.capturer", "work_tree.measuring"),
}
"""The modules that it moves, and how their imports change."""


@pytest.fixture(scope="module")
def other_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel in which messages are others and modules have moved."""
    needs.package("hatchling", "hatchling")
    folder = tmp_path_factory.mktemp("other")
    tree = folder / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "engine", "cli", "projections", ".package", "docs"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    top = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
    for name in (*top, *filter(None, listed.stdout.split("\0"))):
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    for name, pairs in CHANGED.items():
        text = (tree / name).read_text()
        for before, after in pairs:
            assert before in text, (name, before)
            text = text.replace(before, after)
        (tree / name).write_text(text)
    for name, (before, after) in MOVED.items():
        new = after.rpartition(".")[2]
        (tree / name).rename((tree / name).with_name(f"{new}.py"))
        old = before.rpartition(".")[2]
        for path in tree.rglob("*.py"):
            text = path.read_text()
            moved = text.replace(before, after).replace(f"from .{old} ", f"from .{new} ")
            if moved != text:
                path.write_text(moved)
    made = folder / "made"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(made)]
    done = subprocess.run(build, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = made.iterdir()
    return wheel


@pytest.fixture
def upgraded(
    bare: Path, other_wheel: Path, tmp_path: Path
) -> tuple[Installed, Callable[[], str]]:
    """Return an installed wheel with a work tree, and its current version."""
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    git(tree, "commit", "-q", "--allow-empty", "-m", "i")
    kept = ("PATH", "LANG")
    clean = {name: os.environ[name] for name in kept if name in os.environ}
    python = str(bare / "env" / "bin" / "python")
    installed = Installed(bare, tree, clean | {"HOME": str(tmp_path)}, python)
    return installed, lambda: installed.run("--version").stdout


def install(bare: Path, wheel: Path) -> str:
    """Return the shell command that replaces the installed wheel."""
    python = bare / "env" / "bin" / "python"
    return (
        f"'{sys.executable}' -m pip --disable-pip-version-check --python '{python}' install"
        f" --no-deps --no-index --force-reinstall -q '{wheel}'"
    )


@pytest.mark.long
@pytest.mark.parametrize("command", ["run", "wrap"])
def test_a_newer_wheel_is_installed_while_the_agent_works(
    bare: Path,
    other_wheel: Path,
    upgraded: tuple[Installed, Callable[[], str]],
    tmp_path: Path,
    command: str,
) -> None:
    """Work started under one version is recorded as completed by it."""
    installed, version = upgraded
    own = test_archives.build("wheel", tmp_path / "own")
    subprocess.run(["/bin/sh", "-c", install(bare, own)], check=True, capture_output=True)
    assert "0.2.0" in version()
    script = f"cat > /dev/null; {install(bare, other_wheel)}; echo x > x; echo '{SAID}'"
    words = ("--snapshot", "--measure", "echo 3/4", "--", "sh", "-c", script)
    if command == "run":
        (installed.tree / "plan.yaml").write_text(PLAN.replace("SCRIPT", "echo sound"))
        installed.run("init")
        installed.run("sprint", "create", "s", "--plan", "plan.yaml")
    done = installed.run(command, *words)
    assert done.returncode == 0, done.stderr
    assert "0.9.0" in version()
    runs = [event["data"]["status"] for event in installed.events("agent-ran")]
    assert runs == ["completed"] * (2 if command == "run" else 1)
    assert installed.events("iteration-measured")
    # The newer version continues the older version's log.
    again = installed.run("wrap", "--sprint", "other", "--", "sh", "-c", f"echo '{SAID}'")
    assert (again.returncode, again.stderr) == (0, "")
    assert installed.run("verify").returncode == 0
