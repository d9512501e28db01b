"""The installed wheel works with only its declared dependencies."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from .test_archives import build
from .tree import ROOT


def needed(name: str, seen: dict[str, Distribution]) -> dict[str, Distribution]:
    """Return the dependencies of a package without extras, recursively, by name."""
    for line in distribution(name).requires or ():
        wanted = Requirement(line)
        is_asked = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        if is_asked and wanted.name not in seen:
            seen[wanted.name] = distribution(wanted.name)
            needed(wanted.name, seen)
    return seen


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a new environment with only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("bare")
    wheel = build("wheel", folder / "made")
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    at = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
    for one in needed("sprintlog", {}).values():
        for top in {file.parts[0] for file in one.files or () if ".." not in file.parts}:
            if not (at / top).exists() and top != "__pycache__":
                (at / top).symlink_to(Path(str(one.locate_file(top))).resolve())
    install = (
        "install",
        "--no-deps",
        "--no-index",
        "--no-warn-script-location",
        "-q",
        wheel,
    )
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    subprocess.run((*pip, *install), check=True, cwd=folder)
    return folder


def run(bare: Path, *words: str, at: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a folder, without access to other environments."""
    home = at / "home"
    home.mkdir(exist_ok=True)
    path = f"{bare / 'env' / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    done = subprocess.run(
        words,
        cwd=at,
        env={"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done


@pytest.mark.long
def test_the_installed_wheel_plays_the_demo(bare: Path, tmp_path: Path) -> None:
    """The demo runs to its end with the packages that the wheel names."""
    assert "sound" in run(bare, "sprintlog", "demo", "played", at=tmp_path).stdout


@pytest.mark.long
def test_the_installed_wheel_records_shows_and_goes_back(
    bare: Path, tmp_path: Path
) -> None:
    """A wrapped loop is recorded, shown as a page, and restored with its files."""
    run(bare, "git", "init", "-q", at=tmp_path)
    for number in ("1", "2"):
        words = ("wrap", "--snapshot", "--", "sh", "-c", f"echo {number} > made.txt")
        run(bare, "sprintlog", *words, at=tmp_path)
    run(bare, "sprintlog", "report", "--html", "page.html", at=tmp_path)
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    run(bare, "sprintlog", "rollback", "iter:1", "--yes", at=tmp_path)
    assert (tmp_path / "made.txt").read_text() == "1\n"
    assert "sound" in run(bare, "sprintlog", "verify", at=tmp_path).stdout


@pytest.mark.long
def test_the_manual_page_comes_with_it(bare: Path) -> None:
    """`man sprintlog` finds its page relative to the environment's programs."""
    page = bare / "env" / "share" / "man" / "man1" / "sprintlog.1"
    assert page.read_bytes() == (ROOT / "docs" / "reference" / "sprintlog.1").read_bytes()


@pytest.mark.long
def test_the_same_sources_make_the_same_wheel(bare: Path, tmp_path: Path) -> None:
    """Two builds are identical, so a build can be compared with the published wheel."""
    (first,) = (bare / "made").iterdir()
    assert build("wheel", tmp_path / "made").read_bytes() == first.read_bytes()


@pytest.mark.long
def test_the_version_is_said_by_the_program(bare: Path, tmp_path: Path) -> None:
    """`--version` prints the version in pyproject.toml."""
    said = run(bare, "sprintlog", "--version", at=tmp_path).stdout.split()[-1]
    line = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert line is not None
    assert said == line[1]


def test_windows_is_refused_in_two_lines(tmp_path: Path) -> None:
    """Without POSIX file locks the command reports this, and the supported systems."""
    code = "import os; os.name = 'nt'; from sprintlog.cli.__main__ import main; main()"
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: sprintlog does not run on Windows")
    assert hint.startswith("hint: ")
