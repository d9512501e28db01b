"""`make bench` and `make bench-compare` run; their figures are not tested."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

from . import page, parts, run
from .logs import TINY, Bench
from .table import Markdown

RUN = Path(__file__).with_name("run.py")
COMPARE = Path(__file__).with_name("compare.py")
CHEAP = "append, synchronous=OFF"

ROOT = Path(__file__).parents[2]
needs_history = needs.unless((ROOT / ".git").exists(), "a git checkout", "use git clone")
LOGS = """
from collections import namedtuple
QUICK = namedtuple("Sizes", "fold blame tree")(1, 1, 1)
Bench = namedtuple("Bench", "folder sizes")
"""
ROWS = """
from collections import namedtuple
from .measure import side_by_side
Row = namedtuple("Row", "measure formerly")
def work():
    from sprintlog.engine import {engine}
    return sum(range(50_000))
def row(bench): side_by_side(work, work, rounds=1)
ROWS = {{name: Row(row, before) for name, before in {names}.items()}}
"""


@pytest.fixture(autouse=True)
def measured_with_tiny_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the process use the sizes for tests."""
    monkeypatch.setattr(run, "FULL", TINY)


def _table(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["run.py", *arguments])
        code = run.main()
    return code, capsys.readouterr().out


def test_measures_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    """A row requested by name has both figures and a positive ratio."""
    code, said = _table(capsys, "--json", "--only", "bytes per event of 300")
    (row,) = json.loads(said)["rows"]
    assert code == 0
    assert row["ours"] > 0
    assert row["theirs"] > 0
    assert row["ratio"] > 0


@pytest.mark.parametrize("form", ["--markdown", ""])
def test_prints_both_ratios_and_the_load(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """A row about time shows the ratio of least CPU time and the median of pairs."""
    code, said = _table(capsys, *filter(None, [form, "--only", "blame of one field"]))
    (head,) = [line for line in said.splitlines() if "against" in line]
    (row,) = [line for line in said.splitlines() if "blame of one field" in line][:1]
    assert code == 0
    assert "processor" in head
    assert "pairs" in head
    assert len(re.findall(r"\d+\.\d+", row)) >= 5
    assert re.search(r"load at most \d+\.\d; \d+\.\d minutes", said)
    assert re.search(r"load \d+\.\d at the start", said)


def test_the_core_is_measured_unless_all_is_asked_for() -> None:
    """By default, only the rows of the core are measured; `all` measures every row."""
    core, every = (run.chosen(which, "") for which in ("core", "all"))
    assert every == run.ROWS
    assert 10 < len(core) < len(every)
    assert set(core) < set(every)


@pytest.mark.long
def test_the_parts_of_an_append_make_up_the_whole(tmp_path: Path) -> None:
    """Every part is found in an append, and together they are the append."""
    found = parts.parts(Bench(tmp_path, TINY), rounds=3)
    end = [part.name for part in found].index("one append, not waiting for the disk")
    assert end == 10
    assert all(math.isfinite(part.microseconds) for part in found)
    whole = sum(part.microseconds for part in found[:end])
    assert math.isclose(found[end].microseconds, whole)
    assert len(parts.lines_of(found, is_markdown=False)) == len(found)


def test_the_page_shows_rows_that_there_are() -> None:
    """Every row on the page about performance is a row of the benchmarks."""
    text = page.PAGE.read_text()
    lines = [line for line in page.standing(text, "figures") if line.startswith("| ")]
    names = [line.split("|")[1].strip() for line in lines[1:]]
    names += re.findall(r"^\| (server: [^|]+) \|", text, re.M)
    assert any(names)
    assert [name for name in names if name not in run.ROWS] == []


def test_the_page_has_the_form_of_what_is_written_into_it() -> None:
    """The table of the page has the columns and the foot that the command writes."""
    text = page.PAGE.read_text()
    figures = page.standing(text, "figures")
    said: list[str] = []
    Markdown(said.append).head({})
    heads = said[0].strip().split("\n")
    assert [line for line in figures if line in heads] == heads
    assert re.fullmatch(
        r"\d+ PASS, \d+ FAIL.*; load at most [\d.]+; [\d.]+ minutes", figures[-1]
    )


@pytest.mark.long
def test_one_command_writes_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`--write-docs` replaces the table and preserves the text around it."""
    copy = tmp_path / "performance.md"
    before = page.PAGE.read_text()
    copy.write_text(before)
    monkeypatch.setattr(page.write, "__defaults__", (copy,))
    only = {name: run.ROWS[name] for name in (CHEAP, "append, durable")}
    monkeypatch.setattr(run, "ROWS", only)
    code, said = _table(capsys, "all", "--write-docs")
    written = copy.read_text()
    empty: dict[str, list[str]] = {place: [] for place in page.PLACES}
    assert code == 0
    assert page.filled(written, empty) == page.filled(before, empty)
    assert [name for name in only if f"| {name} |" in written] == [*only]
    assert "written into" in said


def test_a_page_without_a_place_is_refused() -> None:
    """Nothing is written to a page that lacks a mark."""
    with pytest.raises(ValueError, match="no place for figures"):
        page.filled("<!-- figures -->\n", {"figures": []})


def test_nothing_settles_by_sleeping() -> None:
    """No benchmark waits before measuring: initial costs are part of the cost."""
    for path in RUN.parent.rglob("*.py"):
        if path.name != Path(__file__).name:
            assert "sleep" not in path.read_text(), path.name


def _compare(*arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, COMPARE, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@needs_history
def test_compares_two_commits() -> None:
    """A commit compared with itself gives a ratio for a row, in lines of 80 columns."""
    done = _compare("HEAD", "--pairs", "1", "-k", CHEAP)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith(CHEAP)]
    assert all(float(figure) > 0 for figure in re.findall(r"[\d.]+", line))
    assert len(re.findall(r"[\d.]+", line)) == 5
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.long
@needs_history
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no-such-commit",), "'no-such-commit' names no commit"),
        (("HEAD", "-k", "no such row"), "no row holds no such row"),
        (("HEAD", "--pairs", "0"), "--pairs must be 1 or more"),
    ],
)
def test_says_in_one_line_what_cannot_be_compared(
    arguments: tuple[str, ...], said: str
) -> None:
    """An unknown name is reported in one line on standard error, with exit code 2."""
    done = _compare(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"error: {said}")


def _commit(root: Path, engine: str, names: dict[str, str]) -> None:
    """Commit a small tree in our layout whose rows require a given name in its engine."""
    rows = root / "tests/benchmarks"
    package = root / ".package/sprintlog"
    for folder in (rows, package, root / "engine"):
        folder.mkdir(parents=True, exist_ok=True)
    for path in (rows / "measure.py", package / "__init__.py"):
        path.write_text((ROOT / path.relative_to(root)).read_text())
    (rows / "logs.py").write_text(LOGS)
    (rows / "run.py").write_text(ROWS.format(engine=engine, names=names))
    (root / "engine/__init__.py").write_text(f"{engine} = 1\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", engine]):
        subprocess.run(["git", *command], cwd=root, check=True)


@pytest.mark.long
def test_rows_that_differ_are_told(tmp_path: Path) -> None:
    """A row missing on one side is named; one that cannot be shared runs as defined."""
    _commit(tmp_path, "old", {"shared": "", "gone": ""})
    _commit(tmp_path, "new", {"shared": "", "added": ""})
    done = _compare("HEAD~1", "--pairs", "1", root=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    (at,) = [at for at, line in enumerate(lines) if line.startswith("shared")]
    assert lines[at + 1].strip().startswith("(each side as it defines this row")
    ids = re.findall(r"[AB] = (\w+)", done.stdout)
    assert f"added: only {ids[1]} has this row" in lines
    assert f"gone: only {ids[0]} has this row" in lines


@pytest.mark.long
@pytest.mark.parametrize("engine", ["old", "new"])
def test_a_renamed_row_is_found_by_its_former_name(tmp_path: Path, engine: str) -> None:
    """A renamed row is compared under its former name, with either definition."""
    _commit(tmp_path, "old", {"once": ""})
    _commit(tmp_path, engine, {"now": "once"})
    done = _compare("HEAD~1", "--pairs", "1", root=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("now")]
    assert len(re.findall(r"[\d.]+", line)) == 5
    assert "once" not in done.stdout
