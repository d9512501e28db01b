"""The contents of the built archives: the wheel for users, and the source archive."""

import importlib.util
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from .tree import DOOR, ROOMS, ROOT, relative

IGNORED = {"__pycache__", ".DS_Store"}


def build(target: str, folder: Path) -> Path:
    """Build one archive into the folder, without a network, and return its path."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.fail("hatchling is missing: install the dev extra (make test does)")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [archive] = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every name in a freshly built wheel."""
    with zipfile.ZipFile(build("wheel", tmp_path_factory.mktemp("wheel"))) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every name in a freshly built source archive, without the leading folder."""
    with tarfile.open(build("sdist", tmp_path_factory.mktemp("sdist"))) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def room_files() -> set[str]:
    """Return every file of the top-level packages, relative to the root."""
    return {
        relative(path)
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and not IGNORED & set(path.parts)
    }


def test_wheel_holds_the_rooms_and_nothing_else(wheel: list[str]) -> None:
    """A wheel contains the public package and every file once, a manual, and metadata."""
    files = sorted(name for name in wheel if ".dist-info/" not in name)
    ours = {*room_files(), *(path.name for path in door_files())}
    (manual,) = (
        name for name in files if name.endswith(".data/data/share/man/man1/sprintlog.1")
    )
    assert sorted({*files} - {manual}) == sorted(f"sprintlog/{name}" for name in ours)


@pytest.mark.long
def test_the_door_opens_in_a_wheel(tmp_path: Path) -> None:
    """Public modules can be imported from a wheel, with the wheel's version."""
    with zipfile.ZipFile(build("wheel", tmp_path / "made")) as archive:
        archive.extractall(tmp_path / "in")
    code = "import sprintlog as s; print(s.open, s.events, s.__version__, *s.__path__)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[1:] += {sys.path!r}; {code}"],
        cwd=tmp_path / "in",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith(str(tmp_path / "in" / "sprintlog"))


def door_files() -> list[Path]:
    """Return the files of the public package, without the links."""
    return [path for path in DOOR.iterdir() if path.is_file()]


@pytest.mark.parametrize("room", ROOMS)
def test_wheel_marks_every_room_as_typed(wheel: list[str], room: str) -> None:
    """Type checkers of users find `py.typed` in each top-level package."""
    assert {"sprintlog/py.typed", f"sprintlog/{room}/py.typed"} <= {*wheel}


@pytest.mark.long
def test_sdist_holds_what_building_and_testing_need(sdist: list[str]) -> None:
    """A source archive contains the packages once, and the files to build and test them."""
    needed = {
        ".ci/oldest.txt",
        ".ci/run",
        *map(relative, door_files()),
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "pyproject.toml",
        "tests/architecture/test_archives.py",
    }
    assert (needed | room_files()) - set(sdist) == set()
    assert len(sdist) == len(set(sdist))
    assert not [name for name in sdist if name.startswith(".package/sprintlog/engine")]
