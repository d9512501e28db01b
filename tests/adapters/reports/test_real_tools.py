"""The reports that tools write during the test, and the numbers they print."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sprintlog.engine.adapters.measurement.figures import measure_sources

from .reading import read

SOURCE = '''\
"""Parts."""

import os


def add(a: int, b: int) -> int:
    """Add."""
    if a > 1000:
        return "many"
    return a + b


def unused(a):
    return add(a, "b")
'''
TESTS = '''\
"""Tests of parts."""

import pytest

from parts import add


@pytest.mark.parametrize("a", [1, 2, 3])
def test_adds(a):
    assert add(a, 1) == a + 1


def test_wrong():
    assert add(1, 1) == 3


@pytest.fixture
def broken():
    raise ValueError


def test_broken(broken):
    pass


@pytest.mark.skip(reason="later")
def test_later():
    pass
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a module and its tests, some of which fail."""
    (tmp_path / "parts.py").write_text(SOURCE)
    (tmp_path / "test_parts.py").write_text(TESTS)
    return tmp_path


def run(project: Path, *arguments: str) -> str:
    """Run a tool of this environment in the project; return its output."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def number(pattern: str, text: str) -> int:
    """Return the number that a tool printed in this place."""
    found = re.search(pattern, text)
    assert found, text
    return int(found[1])


def test_pytest_prints_what_we_read(project: Path) -> None:
    """A JUnit report has the same counts as the last line; errors count as failures."""
    said = run(project, "pytest", "-p", "no:cacheprovider", "--junitxml=out/junit.xml")
    passed, skipped = number(r"(\d+) passed", said), number(r"(\d+) skipped", said)
    failed = number(r"(\d+) failed", said) + number(r"(\d+) error", said)
    assert (passed, failed, skipped) == (3, 2, 1)
    measured = read("out/junit.xml", folder=project)
    assert measured.metrics == {
        "test_count": passed + failed + skipped,
        "tests_passed": passed,
        "tests_failed": failed,
        "tests_skipped": skipped,
    }
    assert measured.origins[0].tool == "pytest"


def test_pytest_without_tests_counts_none(tmp_path: Path) -> None:
    """A run that collected no tests is recorded without counts."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=junit.xml"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 5
    measured = read("junit.xml", folder=tmp_path)
    assert measured.metrics["test_count"] == 0
    assert "no tests were collected" in measured.notes[0]


@pytest.mark.long
@pytest.mark.parametrize("branch", [False, True], ids=["lines", "branches"])
def test_coverage_prints_what_we_read(project: Path, branch: bool) -> None:
    """JSON, XML and LCOV agree on the lines; the percentage is the one reported."""
    options = ["--branch"] if branch else []
    run(project, "coverage", "run", *options, "--include=parts.py", "-m", "pytest", "-q")
    said = run(project, "coverage", "report", "--precision=2")
    run(project, "coverage", "json", "-o", "coverage.json")
    run(project, "coverage", "xml", "-o", "coverage.xml")
    run(project, "coverage", "lcov", "-o", "coverage.lcov")
    total = re.search(r"^TOTAL +(\d+) +(\d+).* ([\d.]+)%$", said, re.MULTILINE)
    assert total, said
    lines = {
        "coverage_lines_covered": int(total[1]) - int(total[2]),
        "coverage_lines_total": int(total[1]),
    }
    of_lines = 100 * lines["coverage_lines_covered"] / lines["coverage_lines_total"]
    for name in ("coverage.json", "coverage.xml", "coverage.lcov"):
        metrics = read(name, folder=project).metrics
        # XML and LCOV distinguish line coverage from branch coverage.
        shown = float(total[3]) if name == "coverage.json" else of_lines
        assert metrics.pop("coverage_percentage") == pytest.approx(shown, abs=0.005)
        assert metrics == lines


def test_ruff_prints_what_we_read(project: Path) -> None:
    """Every finding is an error, in ruff's JSON and in its SARIF."""
    check = ("ruff", "check", "--isolated", "--no-cache", "--select=E,F,D")
    said = run(project, *check, ".")
    errors = number(r"Found (\d+) error", said)
    assert errors > 1
    for format_ in ("json", "sarif"):
        run(project, *check, f"--output-format={format_}", f"--output-file={format_}", ".")
        measured = read(format_, folder=project)
        assert measured.metrics == {"lint_errors": errors, "lint_warnings": 0}
        assert measured.origins[0].tool == "ruff"
    run(project, *check[:-1], "--select=E9", "--output-format=json", "-o=clean", ".")
    assert read("clean", folder=project).metrics == {"lint_errors": 0, "lint_warnings": 0}


@pytest.mark.long
def test_mypy_prints_what_we_read(project: Path) -> None:
    """JSON lines and plain text contain the same errors; a clean run contains none."""
    check = ("mypy", "--strict", "--cache-dir=cache", "--config-file=", "parts.py")
    said = run(project, *check)
    errors = number(r"Found (\d+) error", said)
    assert errors > 1
    (project / "text").write_text(said)
    (project / "json").write_text(run(project, *check, "--output=json"))
    for name in ("text", "json"):
        assert read(name, folder=project).metrics == {"type_errors": errors}
    (project / "parts.py").write_text('"""Nothing."""\n')
    (project / "clean").write_text(run(project, *check, "--output=json"))
    assert read("mypy=clean", folder=project).metrics == {"type_errors": 0}


def test_lizard_prints_what_we_measure(project: Path) -> None:
    """Files, lines and the mean complexity are those of lizard's last line."""
    said = run(project, "lizard", "parts.py", "test_parts.py")
    lines, mean = re.findall(r"^ +(\d+) +[\d.]+ +([\d.]+) .*\n", said, re.MULTILINE)[-1]
    measured = measure_sources([Path()], folder=project, environment={}, timeout_seconds=60)
    assert measured.metrics == {
        "file_count": 2,
        "loc_total": int(lines),
        "complexity_score": pytest.approx(float(mean), abs=0.05),
    }
