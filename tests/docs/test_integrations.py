"""The files to copy do what they say: what can be tried without the service is tried."""

import json
import os
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

from .sessions import ROOT

FILES = ROOT / "docs" / "integrations"
SHIM = FILES / "npm" / "bin" / "sprintlog.js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node")
SAYS = """#!/bin/sh
echo "$(basename "$0")" "$@"
exit 7
"""
WAITS = """#!/bin/sh
trap 'echo told; exit 9' TERM
echo ready
for _ in $(seq 400); do sleep 0.05; done
"""


def program(folder: Path, name: str, text: str = SAYS) -> Path:
    """Put a program into a folder and return the folder."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return folder


def shim(*words: str, path: str, at: Path) -> subprocess.CompletedProcess[str]:
    """Run the shim in a folder, with a PATH."""
    assert NODE is not None
    done = (NODE, str(SHIM), *words)
    env = {"PATH": path}
    return subprocess.run(
        done, cwd=at, env=env, capture_output=True, text=True, check=False
    )


def version() -> str:
    """Return the version of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def test_they_are_of_the_same_version() -> None:
    """A shim fetches, and a formula makes, the version that pyproject.toml has."""
    package = json.loads((FILES / "npm" / "package.json").read_text())
    assert package["version"] == version()
    formula = (FILES / "homebrew" / "sprintlog.rb").read_text()
    assert f'version "{version()}"' in formula
    assert f"sprintlog-{version()}.tar.gz" in formula


@needs_node
def test_the_shim_runs_what_is_installed(tmp_path: Path) -> None:
    """Words go on as they are, and the exit code is the program's."""
    folder = program(tmp_path / "bin", "sprintlog")
    done = shim("note", "a  b", "$c", path=f"{folder}:/usr/bin:/bin", at=tmp_path)
    assert (done.stdout, done.returncode) == ("sprintlog note a  b $c\n", 7)


@needs_node
@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("uvx", "uvx --from sprintlog=={version} sprintlog"),
        ("pipx", "pipx run --spec sprintlog=={version} sprintlog"),
    ],
)
def test_the_shim_fetches_its_own_version(tmp_path: Path, name: str, first: str) -> None:
    """Where the program is not installed, the version of the package is fetched."""
    folder = program(tmp_path / "bin", name)
    done = shim("status", path=f"{folder}:/usr/bin:/bin", at=tmp_path)
    assert done.stdout == f"{first.format(version=version())} status\n"


@needs_node
def test_the_shim_runs_nothing_of_the_project(tmp_path: Path) -> None:
    """No program of the work tree or its node_modules, whatever PATH says."""
    program(tmp_path, "sprintlog")
    own = program(tmp_path / "node_modules", "sprintlog")
    done = shim("status", path=f".:{own}:", at=tmp_path)
    assert (done.stdout, done.returncode) == ("", 1)
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")


@needs_node
def test_the_shim_passes_signals_on(tmp_path: Path) -> None:
    """Who ends the shim ends the program, which says how it ended."""
    folder = program(tmp_path / "bin", "sprintlog", WAITS)
    assert NODE is not None
    with subprocess.Popen(
        (NODE, str(SHIM)),
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        started.send_signal(signal.SIGTERM)
        assert started.stdout.readline() == "told\n"
        assert started.wait() == 9


@pytest.mark.skipif(shutil.which("ruby") is None, reason="there is no ruby")
def test_the_formula_is_ruby() -> None:
    """Homebrew can read it."""
    subprocess.run(("ruby", "-c", FILES / "homebrew" / "sprintlog.rb"), check=True)


def test_the_image_is_of_a_python_that_we_support() -> None:
    """The image has a Python that we name, and takes in what the build makes."""
    text = (FILES / "container" / "Containerfile").read_text()
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    (base,) = (line for line in text.splitlines() if line.startswith("FROM "))
    python = base.rpartition(":")[2].partition("-")[0]
    assert f"Programming Language :: Python :: {python}" in named
    assert "COPY dist/*.whl" in text
    assert os.path.basename(text.split("ENTRYPOINT")[1].strip()) == '["sprintlog"]'
