"""The page of three stored streams, byte for byte: `python -m tests.page.test_golden`.

Review the pages in a browser before you store them again.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sprintlog.projections.page.document import page
from tests.golden.test_streams import FIXTURES

from .logs import SPRINT, workspace_of
from .night import CLOCK_MS, night
from .night import SPRINT as NIGHT

EXPECTED = FIXTURES / "expected" / "page"
STORED = ("imported-v1", "judged-v1", "night")
"""A sprint that was imported only, one that judged itself, and a whole night."""
LATER_MS = 4_070_908_800_000
"""Another time to record and to look: the year 2099."""


def made(name: str, folder: Path, *, clock_ms: int = CLOCK_MS) -> str:
    """Return the page of a stored log, viewed with a clock."""
    if name == "night":
        with night(folder, clock_ms=clock_ms) as workspace:
            return page(workspace, NIGHT)
    with workspace_of(name, folder, clock_ms=clock_ms) as workspace:
        return page(workspace, SPRINT)


@pytest.mark.parametrize("name", STORED)
def test_every_page_is_the_stored_one(name: str, tmp_path: Path) -> None:
    """The same log results in the same page, byte for byte."""
    expected = (EXPECTED / f"{name}.html").read_text(encoding="utf-8")
    assert made(name, tmp_path) == expected


def test_nothing_of_the_machine_is_in_it(tmp_path: Path) -> None:
    """A different hash seed, time zone, locale or clock changes no byte of any page."""
    code = (
        "import sys; from pathlib import Path; from tests.page.test_golden import main; "
        f"main(Path(sys.argv[1]), clock_ms={LATER_MS})"
    )
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root), str(root / ".package")])
    # With LC_ALL=C, some Python versions fail to start from a non-ASCII path.
    locale = "C" if str(root).isascii() else "C.UTF-8"
    odd = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kolkata", "LC_ALL": locale, "PYTHONUTF8": "1"}
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, **odd},
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    for name in STORED:
        expected = (EXPECTED / f"{name}.html").read_bytes()
        assert (tmp_path / f"{name}.html").read_bytes() == expected, name


def main(folder: Path, *, clock_ms: int = CLOCK_MS) -> None:
    """Write each page into a folder."""
    folder.mkdir(exist_ok=True)
    for name in STORED:
        with tempfile.TemporaryDirectory() as root:
            said = made(name, Path(root), clock_ms=clock_ms)
        (folder / f"{name}.html").write_text(said, encoding="utf-8")


if __name__ == "__main__":
    main(EXPECTED)
