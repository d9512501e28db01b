"""Reports that vitest and ESLint write during the test, and the numbers they print.

`test_node_readers.py` describes where the packages are searched for.
"""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from sprintlog.engine.adapters.measurement.figures import Measured, read_reports, wanted
from tests import needs

from .test_node_readers import SECONDS_MAX, node_modules

TESTS = """\
import { describe, expect, it } from 'vitest'
import { add } from './parts.js'
describe('outer', () => {
  describe('inner', () => {
    it('adds', () => { expect(add(1, 1)).toBe(2) })
    it('fails & <breaks>', () => { expect(add(1, 1)).toBe(3) })
  })
  it.skip('later', () => {})
  it.todo('some day')
})
"""
PARTS = """\
var unused = 1
export function add(a, b) {
  if (a > 1000) {
    return 'many'
  }
  return a + b
}
"""
RULES = 'export default [{rules: {"no-unused-vars": "warn", "no-var": "error"}}]\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a module, its tests and rules, and no packages yet."""
    for name, text in {
        "parts.js": PARTS,
        "parts.test.js": TESTS,
        "eslint.config.mjs": RULES,
        "package.json": '{"type": "module"}\n',
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(project: Path, packages: Sequence[str], *command: str) -> str:
    """Run a tool of the packages in the project; return its output, uncoloured."""
    modules = node_modules(packages)
    if not (project / "node_modules").exists():
        (project / "node_modules").symlink_to(modules.resolve())
    done = subprocess.run(
        [str(modules / ".bin" / command[0]), *command[1:]],
        cwd=project,
        env={**os.environ, "NO_COLOR": "1", "CI": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr
    return done.stdout


def read(*names: str, folder: Path) -> Measured:
    """Return the content of reports."""
    reports = [one for name in names for one in wanted(name, folder=folder)]
    return read_reports(reports, folder=folder)


def test_vitest_prints_what_we_read(project: Path) -> None:
    """Its JUnit and JSON reports have the counts of its last lines; to do is skipped."""
    said = run(
        project, ["vitest"], "vitest", "run",
        "--reporter=default", "--reporter=junit", "--outputFile.junit=junit.xml",
        "--reporter=json", "--outputFile.json=tests.json",
    )  # fmt: skip
    line = re.search(r"Tests +(.*)", said)
    assert line, said
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line[1])}
    assert counts == {"failed": 1, "passed": 1, "skipped": 1, "todo": 1}
    for name in ("junit.xml", "tests.json"):
        measured = read(name, folder=project)
        assert measured.metrics == {
            "test_count": sum(counts.values()),
            "tests_passed": counts["passed"],
            "tests_failed": counts["failed"],
            "tests_skipped": counts["skipped"] + counts["todo"],
        }
        assert measured.origins[0].tool == "vitest"


NODE_TESTS = """\
import assert from 'node:assert'
import { describe, it } from 'node:test'
describe('outer', () => {
  describe('inner', () => {
    it('adds', () => {})
    it('fails', () => { assert.equal(1, 2) })
    it('prints', () => { console.log('ok 1 - printed') })
  })
  it.skip('later', () => {})
  it('some day', { todo: true }, () => { assert.equal(1, 2) })
})
"""


def test_node_prints_what_we_read(tmp_path: Path) -> None:
    """A TAP report has the counts of its last lines; a failing todo is skipped."""
    needs.program("node")
    (tmp_path / "parts.test.mjs").write_text(NODE_TESTS)
    command = ["node", "--test", "--test-reporter=tap", "parts.test.mjs"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, timeout=SECONDS_MAX, check=False
    )
    (tmp_path / "out.tap").write_bytes(done.stdout)
    lines = re.findall(
        r"^# (tests|pass|fail|skipped|todo) (\d+)$", done.stdout.decode(), re.M
    )
    counts = {word: int(number) for word, number in lines}
    assert read("out.tap", folder=tmp_path).metrics == {
        "test_count": counts["tests"],
        "tests_passed": counts["pass"],
        "tests_failed": counts["fail"],
        "tests_skipped": counts["skipped"] + counts["todo"],
    }


def test_vitest_covers_what_we_read(project: Path) -> None:
    """Cobertura XML and LCOV have the lines of the tool's summary, Clover statements."""
    run(
        project, ["vitest", "@vitest/coverage-v8"], "vitest", "run",
        "--coverage.enabled", "--coverage.provider=v8", "--coverage.reportOnFailure",
        "--coverage.reporter=cobertura", "--coverage.reporter=lcov",
        "--coverage.reporter=clover", "--coverage.reporter=json-summary",
    )  # fmt: skip
    folder = project / "coverage"
    total = json.loads((folder / "coverage-summary.json").read_text())["total"]
    assert 0 < total["lines"]["covered"] < total["lines"]["total"]
    for name in ("cobertura-coverage.xml", "lcov.info", "clover.xml"):
        lines = total["statements" if name == "clover.xml" else "lines"]
        assert read(name, folder=folder).metrics == {
            "coverage_percentage": pytest.approx(lines["pct"], abs=0.01),
            "coverage_lines_covered": lines["covered"],
            "coverage_lines_total": lines["total"],
        }


def test_tsc_prints_what_we_read(project: Path) -> None:
    """Its plain lines have as many errors as its coloured output says at its end."""
    (project / "parts.ts").write_text("const a: number = 'a'\nlet b: string = a\n")
    said = run(project, ["typescript"], "tsc", "--noEmit", "--pretty", "parts.ts")
    line = re.search(r"Found (\d+) errors?", said)
    assert line, said
    (project / "tsc.txt").write_text(
        run(project, ["typescript"], "tsc", "--noEmit", "--pretty", "false", "parts.ts")
    )
    assert read("tsc.txt", folder=project).metrics == {"type_errors": int(line[1])}


def test_eslint_prints_what_we_read(project: Path) -> None:
    """Its JSON has the errors and warnings of its last line."""
    said = run(project, ["eslint"], "eslint", "parts.js")
    line = re.search(r"\((\d+) errors?, (\d+) warnings?\)", said)
    assert line, said
    (project / "lint.json").write_text(
        run(project, ["eslint"], "eslint", "--format", "json", "parts.js")
    )
    measured = read("lint.json", folder=project)
    assert measured.metrics == {"lint_errors": int(line[1]), "lint_warnings": int(line[2])}
    assert measured.metrics == {"lint_errors": 1, "lint_warnings": 1}
    assert measured.origins[0].tool == "eslint"
