"""Reports in the shapes that many tools and versions write."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.measurement.formats import FORMATS
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging.events import Usage

from .reading import FIXTURES, read

EXPECTED: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text("utf-8"))


@pytest.mark.parametrize("name", EXPECTED)
def test_each_shape_is_known_and_gives_its_metrics(name: str) -> None:
    """The format and the tool are detected from the content; the metrics match."""
    format_, tool, metrics = EXPECTED[name]
    measured = read(name, folder=FIXTURES)
    (source,) = measured.origins
    assert (source.name, source.format, source.tool) == (name, format_, tool)
    assert measured.metrics == metrics
    assert set(source.metrics) == set(metrics)


@pytest.mark.parametrize("name", EXPECTED)
def test_naming_the_format_changes_nothing(name: str) -> None:
    """Specifying a report's format does not change the result."""
    told = read(f"{EXPECTED[name][0]}={name}", folder=FIXTURES)
    assert told == read(name, folder=FIXTURES)


def test_the_page_of_formats_has_all_of_them() -> None:
    """The page lists every format."""
    page = (FIXTURES.parents[1] / "docs" / "reference" / "reports.md").read_text("utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert rows == list(FORMATS)


def test_every_fixture_is_expected_to_say_something() -> None:
    """Every fixture is read."""
    unnamed = {"expected.json", "mypy-clean.jsonl"}
    assert {file.name for file in FIXTURES.iterdir()} - unnamed == set(EXPECTED)


def test_a_clean_mypy_run_is_read_when_it_is_named() -> None:
    """The empty line that mypy prints in JSON mode means no error, but only by name."""
    assert read("mypy=mypy-clean.jsonl", folder=FIXTURES).metrics == {"type_errors": 0}


def test_no_tests_are_no_pass() -> None:
    """A run without tests has no counts, which is reported."""
    measured = read("junit-nothing.xml", folder=FIXTURES)
    assert measured.metrics["test_count"] == 0
    assert measured.notes == (
        "junit-nothing.xml: no tests were collected: that is not a pass",
    )


def test_an_agents_result_tells_its_cost() -> None:
    """Tokens, cost, turns and duration are read as in the record of a run."""
    assert read("agent-result.json", folder=FIXTURES).usage == Usage(
        input_tokens=1200,
        output_tokens=450,
        cache_read_tokens=9000,
        cache_creation_tokens=300,
        cost_usd=0.125,
        turns=7,
        duration_ms=61250,
    )


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """A byte order mark at the start of a file, written by some editors, is ignored."""
    for name in ("eslint-9.json", "lcov-2.info", "junit-jest.xml"):
        content = (FIXTURES / name).read_bytes()
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + content)
        assert read(name, folder=tmp_path).metrics == EXPECTED[name][2]


def test_xml_may_be_in_another_encoding(tmp_path: Path) -> None:
    """XML declares its own encoding, which may be UTF-16."""
    text = (
        '<?xml version="1.0" encoding="UTF-16"?><testsuite><testcase name="é"/></testsuite>'
    )
    (tmp_path / "a.xml").write_bytes(text.encode("utf-16"))
    assert read("a.xml", folder=tmp_path).metrics["test_count"] == 1


SUMMARIES = {
    "go.jsonl": '{"Action":"build-fail","ImportPath":"a"}\n',
    "bail.tap": "TAP version 14\n1..3\nok 1\n    ok 1\nBail out! no network\n",
    "tests.json": '{"config":{},"suites":[],"errors":[{}],'
    '"stats":{"expected":0,"unexpected":0,"flaky":0,"skipped":0}}',
    "jest.json": '{"numTotalTests":1,"numFailedTests":0,"success":false,"testResults":'
    '[{"status":"passed","assertionResults":[{"status":"passed"}]}]}',
    "host.trx": '<TestRun><ResultSummary outcome="Error"/></TestRun>',
    "cargo.txt": "running 1 test\ntest result: FAILED. 1 passed; 0 failed; 0 ignored; "
    "0 measured; 0 filtered out\n",
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_run_that_failed_without_a_failed_test_is_never_a_pass(
    name: str, tmp_path: Path
) -> None:
    """A run that failed outside of its tests counts as a failed test."""
    (tmp_path / name).write_text(SUMMARIES[name])
    metrics = read(name, folder=tmp_path).metrics
    assert metrics["tests_failed"] == (3 if name == "bail.tap" else 1)


def test_a_test_with_the_beginning_of_another_name_is_not_its_subtest(
    tmp_path: Path,
) -> None:
    """Only names after a slash are subtests of a Go test."""
    names = ("TestA", "TestA-b", "TestA/x", "TestAB", "")
    lines = (f'{{"Action":"pass","Package":"a","Test":"{name}"}}' for name in names)
    (tmp_path / "go.jsonl").write_text("\n".join(lines))
    assert read("go.jsonl", folder=tmp_path).metrics["test_count"] == 3


def test_a_clean_run_of_tsc_has_to_say_so(tmp_path: Path) -> None:
    """An empty file does not mean zero errors."""
    (tmp_path / "clean").write_text("Found 0 errors.\n")
    (tmp_path / "nothing").write_text("\n")
    assert read("clean", folder=tmp_path).metrics == {"type_errors": 0}
    with pytest.raises(InvalidInputError, match="contains neither errors nor"):
        read("tsc=nothing", folder=tmp_path)


@pytest.mark.parametrize("word", ["todo", "todo".upper(), "skip", "SKIP"])
def test_directives_of_tap_may_be_in_capitals(word: str, tmp_path: Path) -> None:
    """TAP ignores the case of directives, and a failing test with one counts as skipped."""
    (tmp_path / "out.tap").write_text(f"1..1\nnot ok 1 - a # {word}\n")
    assert read("out.tap", folder=tmp_path).metrics["tests_skipped"] == 1
