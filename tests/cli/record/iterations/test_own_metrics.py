"""Custom metrics on the command line: declared, measured, shown and plotted."""

import json
from pathlib import Path

import pytest

from ...conftest import Run

P95 = ("iteration", "rules", "set", "--metric", "p95_ms", "--better", "lower")


@pytest.fixture
def loop(sprint: Path, done: Run) -> Path:
    """Return a folder with two measured iterations and two custom metrics."""
    done(*P95, "--weight", 0.2, "--target", 100, "--pointer", "/latency/p95")
    done("iteration rules set", "--metric", "rss_mb")
    tests = ("--metric", "test_count=4", "--metric", "tests_passed=4")
    done("iteration", "baseline", *tests, "--metric", "p95_ms=400")
    for number, value in enumerate((200, 125), start=1):
        done("iteration", "start")
        (sprint / "bench.json").write_text(json.dumps({"latency": {"p95": value}}))
        report = ("--report", "json=bench.json", "--metric", f"rss_mb={number}")
        done("iteration", "end", *tests, *report)
    return sprint


def test_is_measured_from_a_report(loop: Path, done: Run) -> None:
    """The value at the pointer is recorded with its report; the score uses its weight."""
    last = done("list", "--json", "--last", 1).json[0]
    assert last["metrics"]["p95_ms"] == 125
    assert last["dimensions"]["p95_ms"] == {
        "weight": 0.2,
        "points": 80.0,
        "contribution": pytest.approx(0.2 * 0.8 / last["measured_share"]),
        "components": {"p95_ms": 80.0},
    }
    event = done("log", "--json", "--last", 1).json
    assert event["data"]["origins"][0] == {
        "name": "bench.json",
        "format": "json",
        "metrics": ["p95_ms"],
    }


def test_is_shown_everywhere(loop: Path, done: Run) -> None:
    """Lists, reports, comparisons, tables and the tracker's files have it."""
    listed = done("list").out
    assert "p95_ms  rss_mb" in listed.splitlines()[0]
    assert "200 to 125, lower is better" in listed
    assert "200 → 125 (lower is better, weight 0.2)" in done("report").out
    assert "| `p95_ms` | 125 | 200 | -75 | 400 | -275 |" in done("report", 2).out
    compared = done("iteration compare", 1, 2).out.splitlines()
    assert ["p95_ms", "200", "125", "-75"] in [line.split() for line in compared]
    rows = done(
        "query", "SELECT json_extract(metrics, '$.p95_ms') FROM v_iterations", "--json"
    ).lines
    assert [next(iter(row.values())) for row in rows] == [200, 125]
    done("report", "--write")
    written = next(loop.glob(".aiwg/ralph/*/iterations/iteration-002/metrics.json"))
    assert '"own": {\n      "p95_ms": 125,\n      "rss_mb": 2\n    }' in written.read_text()


def test_rules_show_how_it_is_declared(loop: Path, done: Run) -> None:
    """`iteration rules show` lists all declared metrics; `--no-metric` removes one."""
    said = done("iteration rules show").out
    assert "lower is better, weight 0.2, target 100, at /latency/p95" in said
    assert "not part of the score" in said
    done("iteration rules set", "--no-metric", "rss_mb")
    rules = done("iteration rules show", "--json").json
    assert [one["name"] for one in rules["metrics"]] == ["p95_ms"]
    assert "metrics p95_ms" in done("audit", "--kind", "rules").out


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (("--better", "lower"), "--better requires --metric NAME"),
        (("--weight", "0.2"), "--weight requires --metric NAME"),
        (("--metric", "m", "--weight", "0.2", "--weight", "0.3"), "must be one number"),
        (("--metric", "m", "--target", "fast"), "--target 'fast': must be a number"),
    ],
)
def test_wrong_words_are_usage(
    sprint: Path, run: Run, typed: tuple[str, ...], why: str
) -> None:
    """The option must give a name and a number, once."""
    failed = run("iteration rules set", *typed)
    assert failed.code == 2
    assert why in failed.err


def test_unknown_name_says_what_declares_it(loop: Path, run: Run, done: Run) -> None:
    """An undeclared name is refused before anything runs, with a remedy."""
    done("iteration", "start")
    failed = run("iteration", "end", "--metric", "p99_ms=1", "--build", "touch ran")
    assert failed.code == 1
    assert "`sprintlog iteration rules set --metric p99_ms` to declare" in failed.err
    assert not (loop / "ran").exists()


def test_metrics_file_may_have_them(loop: Path, run: Run, done: Run) -> None:
    """A file has them under `own`, by name or as the document of an iteration."""
    done("iteration", "start")
    (loop / "m.json").write_text('{"tests_passed": 4, "own": {"p95_ms": 90}}')
    done("iteration", "end", "--metrics", "m.json")
    assert done("log", "--json", "--last", 1).json["data"]["metrics"]["own"] == {
        "p95_ms": 90
    }
    (loop / "m.json").write_text('{"own": {"p95_ms": "slow"}}')
    done("iteration", "start")
    failed = run("iteration", "end", "--metrics", "m.json")
    assert failed.code == 1
    assert "m.json" in failed.err
