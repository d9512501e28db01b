"""An installed copy of sprintlog, which is replaced while it works."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.adapters.trees import git
from tests.architecture.tree import PACKAGE_PATH, ROOMS, ROOT

LOADED = "raise RuntimeError('a module of the new version in a process of the old one')\n"


class Installed(NamedTuple):
    """A copy of the package in a separate folder, and a work tree."""

    site: Path
    tree: Path
    environment: dict[str, str]
    python: str = sys.executable

    def command(self, *words: str) -> list[str]:
        """Return the command line of the installed copy."""
        return [self.python, "-P", "-m", "sprintlog.cli", *words]

    def run(self, *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a command of the installed copy in the work tree."""
        return subprocess.run(
            self.command(*words),
            cwd=self.tree,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def upgrade(self) -> str:
        """Return a shell command that replaces every module with one that raises.

        Compiled modules and all other files are removed, as an installer does.
        """
        package, raising = self.site / "sprintlog", self.site / "raising"
        for path in package.rglob("*.py"):
            new = raising / path.relative_to(package)
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(LOADED)
        return (
            f"[ ! -e '{raising}' ] || {{ rm -r '{package}'; mv '{raising}' '{package}'; }}"
        )

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the recorded events of some types, read by the checkout's code."""
        done = subprocess.run(
            self.command("log", "--all", "--json"),
            cwd=self.tree,
            env={**self.environment, "PYTHONPATH": str(PACKAGE_PATH)},
            capture_output=True,
            text=True,
            check=True,
        )
        found = [json.loads(line) for line in done.stdout.splitlines()]
        return [event for event in found if not kinds or event["type"] in kinds]


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """Copy the package and create a repository next to it."""
    package = tmp_path / "site" / "sprintlog"
    shutil.copytree(
        PACKAGE_PATH / "sprintlog",
        package,
        ignore=lambda folder, names: {*ROOMS, "__pycache__"} & {*names},
    )
    for room in ROOMS:
        shutil.copytree(ROOT / room, package / room)
    tree = tmp_path / "tree"
    tree.mkdir()
    git(tree, "init", "-q")
    git(tree, "commit", "-q", "--allow-empty", "-m", "i")
    clean = {n: v for n, v in os.environ.items() if not n.startswith("SPRINTLOG_")}
    given = {"PYTHONPATH": str(package.parent), "HOME": str(tmp_path)}
    return Installed(package.parent, tree, clean | given)
