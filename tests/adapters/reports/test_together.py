"""Several reports: counts add up, lines are combined, contradictions are refused."""

from pathlib import Path

import pytest

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.judging.events import Usage

from .reading import FIXTURES, read


def lcov(folder: Path, name: str, source: str, hits: list[int]) -> str:
    """Write an LCOV report on one source file; return its name."""
    lines = [f"DA:{number},{hit}" for number, hit in enumerate(hits, start=1)]
    (folder / name).write_text("\n".join([f"SF:{source}", *lines, "end_of_record", ""]))
    return name


def test_counts_of_tests_and_findings_add_up() -> None:
    """Two JUnit reports, and linters of two languages, are one measurement."""
    measured = read(
        "junit-jest.xml", "junit-surefire.xml", "ruff-new.json", "eslint-6.json",
        folder=FIXTURES,
    )  # fmt: skip
    assert measured.metrics == {
        "test_count": 9,
        "tests_passed": 3,
        "tests_failed": 3,
        "tests_skipped": 3,
        "lint_errors": 2,
        "lint_warnings": 1,
    }
    assert [source.format for source in measured.origins] == [
        "junit",
        "junit",
        "ruff",
        "eslint",
    ]


def test_coverage_is_that_of_all_lines() -> None:
    """Line counts are combined; percentages are never averaged."""
    measured = read("coverage-py-7.json", "coverage-py-5.json", folder=FIXTURES)
    assert measured.metrics == {
        "coverage_percentage": pytest.approx(100 * 6 / 11),
        "coverage_lines_covered": 6,
        "coverage_lines_total": 11,
    }


def test_a_file_measured_twice_is_refused(tmp_path: Path) -> None:
    """Two reports on one source file contradict each other, however they specify it."""
    names = [lcov(tmp_path, "a.info", "src/a.py", [1, 0])]
    names.append(lcov(tmp_path, "b.info", str(tmp_path / "src" / "a.py"), [1, 1]))
    with pytest.raises(InvalidInputError) as caught:
        read(*names, folder=tmp_path)
    assert caught.value.message == "b.info: measures src/a.py, and so does a.info"


def test_a_file_is_the_same_in_other_formats(tmp_path: Path) -> None:
    """A file name below the only root of a Cobertura report equals the one in LCOV."""
    content = (FIXTURES / "cobertura-coverage-py.xml").read_text(encoding="utf-8")
    root = str(tmp_path / "pkg")
    (tmp_path / "c.xml").write_text(content.replace("/home/user/pkg", root))
    lcov(tmp_path, "a.info", "pkg/a.py", [1])
    with pytest.raises(InvalidInputError, match=r"measures pkg/a\.py, and so does c\.xml"):
        read("c.xml", "a.info", folder=tmp_path)


def test_a_rate_without_counts_cannot_be_added(tmp_path: Path) -> None:
    """A Cobertura report without lines can be read alone, but not combined with another."""
    (tmp_path / "rate.xml").write_text('<coverage line-rate="0.5"/>')
    assert read("rate.xml", folder=tmp_path).metrics == {"coverage_percentage": 50.0}
    lcov(tmp_path, "a.info", "a.py", [1])
    with pytest.raises(InvalidInputError, match=r"^rate\.xml: .* added to a\.info"):
        read("rate.xml", "a.info", folder=tmp_path)


def test_the_same_report_twice_is_refused(tmp_path: Path) -> None:
    """A report that is named twice is not counted twice."""
    lcov(tmp_path, "a.info", "a.py", [1])
    with pytest.raises(InvalidInputError, match="is the same report as"):
        read("a.info", "lcov=./a.info", folder=tmp_path)


def test_a_pattern_names_many_reports(tmp_path: Path) -> None:
    """The reports of a tool that writes one per suite are specified by a pattern."""
    for name in ("TEST-b.xml", "TEST-a.xml", "other.txt"):
        (tmp_path / name).write_text("<testsuite><testcase name='x'/></testsuite>")
    measured = read("junit=TEST-*.xml", folder=tmp_path)
    assert [(one.name, one.files) for one in measured.origins] == [("TEST-*.xml", 2)]
    assert measured.metrics["test_count"] == 2
    with pytest.raises(NotFoundError, match=r"^no-\*\.xml: "):
        read("no-*.xml", folder=tmp_path)


def test_costs_add_up_as_far_as_they_are_said() -> None:
    """The usage of two agents is added; figures that one of them lacks are not invented."""
    measured = read("agent-result.json", "agent-stream.jsonl", folder=FIXTURES)
    assert measured.usage == Usage(
        input_tokens=1210,
        output_tokens=470,
        cache_read_tokens=9000,
        cache_creation_tokens=300,
        cost_usd=0.125,
        turns=27,
        duration_ms=62250,
    )


def test_nothing_to_cover_has_no_percentage(tmp_path: Path) -> None:
    """Zero of zero lines is neither 0 % nor 100 %."""
    (tmp_path / "a.info").write_text("SF:a.py\nLF:0\nLH:0\nend_of_record\n")
    measured = read("a.info", folder=tmp_path)
    assert measured.metrics == {"coverage_lines_covered": 0, "coverage_lines_total": 0}
    assert measured.notes == ("a.info: there were no lines to cover: no percentage",)
