"""Example packages, built and installed where an interpreter finds packages."""

import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path
from zipfile import ZipFile

import pytest

from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import made as made
from ..cli.conftest import made_once as made_once
from ..cli.conftest import run as run
from ..cli.conftest import sprint as sprint

PACKAGES = Path(__file__).resolve().parents[2] / "fixtures" / "extensions"


def install(package: str, site: Path, build: Path) -> None:
    """Build the wheel of an example package, and unpack it into a folder."""
    source = build / package
    shutil.copytree(PACKAGES / package, source)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(build)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    for wheel in build.glob("*.whl"):
        with ZipFile(wheel) as files:
            files.extractall(site)
        wheel.unlink()


@pytest.fixture(scope="session")
def acme_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the package of Acme is installed."""
    site = tmp_path_factory.mktemp("site")
    install("acme", site, tmp_path_factory.mktemp("build"))
    return site


@pytest.fixture
def acme(acme_site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the package of Acme installed in this process."""
    monkeypatch.syspath_prepend(str(acme_site))
    return acme_site


NUMBERS = count()


def broken(site: Path, kind: str, name: str, code: str) -> str:
    """Install a package with one extension, `made` in the given code; return its name."""
    # An imported module is not imported again, so each name is used once.
    module = f"broken_{next(NUMBERS)}"
    (site / f"{module}.py").write_text(code)
    info = site / f"{module}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 0.1\n")
    points = f"[sprintlog.{kind}]\n{name} = {module}:made\n"
    (info / "entry_points.txt").write_text(points)
    return module
