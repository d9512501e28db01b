"""The page of three stored streams, byte for byte: `python -m tests.page.test_golden`.

Look at the pages in a browser before they are stored anew.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sprintlog.projections.page.document import page
from tests.golden.test_streams import FIXTURES

from .logs import SPRINT, workspace_of
from .night import SPRINT as NIGHT
from .night import night

EXPECTED = FIXTURES / "expected" / "page"
STORED = ("imported-v1", "judged-v1", "night")
"""A sprint that was imported only, one that judged itself, and a whole night."""


def made(name: str, folder: Path) -> str:
    """Return the page of a stored log."""
    if name == "night":
        with night(folder) as workspace:
            return page(workspace, NIGHT)
    with workspace_of(name, folder) as workspace:
        return page(workspace, SPRINT)


@pytest.mark.parametrize("name", STORED)
def test_every_page_is_the_stored_one(name: str, tmp_path: Path) -> None:
    """The same log gives the same page, byte for byte."""
    expected = (EXPECTED / f"{name}.html").read_text(encoding="utf-8")
    assert made(name, tmp_path) == expected


def test_nothing_of_the_machine_is_in_it(tmp_path: Path) -> None:
    """Another hash seed, zone, locale and clock change no byte."""
    code = (
        "import sys; from pathlib import Path; from tests.page.test_golden import made; "
        "sys.stdout.write(made('night', Path(sys.argv[1])))"
    )
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root), str(root / ".package")])
    odd = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kolkata", "LC_ALL": "C", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, **odd},
        capture_output=True, check=True,
    )  # fmt: skip
    expected = (EXPECTED / "night.html").read_bytes()
    assert done.stdout == expected


if __name__ == "__main__":
    import tempfile

    EXPECTED.mkdir(exist_ok=True)
    for known in STORED:
        said = made(known, Path(tempfile.mkdtemp()))
        (EXPECTED / f"{known}.html").write_text(said, encoding="utf-8")
