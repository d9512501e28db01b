"""Usage of agents is shown by iteration: in lists, reports and tables."""

import html
import json
import re
from pathlib import Path

import pytest

from ..conftest import Run


def ran(iteration: int | None, cost: float, *, turns: int = 2) -> str:
    """Return the data of an agent's run."""
    usage = {"input_tokens": 1000, "output_tokens": 234, "cost_usd": cost, "turns": turns}
    data = {"phase": "setup", "status": "completed", "duration_ms": 61_000, "usage": usage}
    return json.dumps(data if iteration is None else {**data, "iteration": iteration})


@pytest.fixture
def paid(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint has two iterations, one of them run twice."""
    measured = ("--metric", "test_count=4", "--metric", "tests_passed=4")
    done("iteration", "start")
    done("phase", "start", "setup")
    done("append", "agent-ran", "--data", ran(1, 0.25))
    done("append", "agent-ran", "--data", ran(None, 0.17))
    done("iteration", "end", *measured)
    done("iteration", "start")
    done("iteration", "end", *measured)
    return sprint


def test_the_list_has_what_it_cost(paid: Path, done: Run) -> None:
    """Turns, tokens, dollars and time are shown next to the score of an iteration."""
    head, first, second = done("list").out.splitlines()[:3]
    assert head.split()[5:10] == ["errors", "turns", "tokens", "cost", "time"]
    assert first.split()[6:12] == ["4", "2,468", "$0.42", "2m", "02s", "-"]
    assert second.split()[6:10] == ["-", "-", "-", "-"]
    one, other = done("list", "--json").json
    assert one["spent"] == {"runs": 2, "duration_ms": 122_000, "turns": 4,
                            "input_tokens": 2000, "output_tokens": 468, "tokens": 2468,
                            "cost_usd": 0.42}  # fmt: skip
    assert "spent" not in other


def test_reports_have_what_it_cost(paid: Path, done: Run) -> None:
    """The page of an iteration and the page of all of them show it."""
    took = "**Agents**: 2m 02s, 4 turns, 2,468 tokens, $0.42"
    assert took in done("report", "1").out
    assert "**Agents**" not in done("report", "2").out
    table = [[x.strip() for x in x.split("|")] for x in done("report").out.splitlines()]
    assert ["Turns", "Tokens", "Cost"] in [line[-5:-2] for line in table]
    assert ["4", "2,468", "$0.42"] in [line[-5:-2] for line in table]


def test_the_table_has_what_it_cost(paid: Path, done: Run) -> None:
    """`v_iterations` has class, score, metrics and cost, also of later events."""
    ask = "SELECT number, class, score, metrics, runs, turns, cost_usd FROM v_iterations"
    first, second = done("query", ask, "--json").lines
    assert (first["number"], first["runs"], first["turns"]) == (1, 2, 4)
    assert first["cost_usd"] == pytest.approx(0.42)
    assert json.loads(first["metrics"])["tests_passed"] == 4
    assert second["class"] == "plateau"
    assert second["runs"] is None
    done("append", "agent-ran", "--data", ran(2, 0.5))
    done("iteration", "start")
    done("iteration", "end", "--metric", "test_count=4", "--metric", "tests_passed=1")
    carried = done("query", ask, "--json").lines
    assert carried[1]["cost_usd"] == 0.5
    assert carried[2]["class"] == "regression"
    assert done("query", "--fresh", ask, "--json").lines == carried


def test_the_log_has_what_it_cost(paid: Path, done: Run) -> None:
    """A run of an agent has its usage, not its output."""
    (line, *_) = done("log", "--type", "agent-ran").out.splitlines()
    assert line.endswith("agent-ran setup  completed, 1m 01s, 2 turns, 1,234 tokens, $0.25")


PARTIAL = ("input_tokens", "output_tokens", "cost_usd")
AMOUNT = re.compile(r"(>=|at least )?(?:\$\d+\.\d\d|1,234\b|2,468\b)")
READINGS = ("status", "list", "report", "report 1", "iteration compare 1 2", "log --all")


@pytest.fixture
def aborted(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint has two iterations, each with an aborted run."""
    for number in (1, 2):
        usage = {"input_tokens": 1000, "output_tokens": 234, "cost_usd": 0.25 * number}
        ran = {"phase": "setup", "iteration": number, "status": "stopped"}
        figures = {"duration_ms": 900, "usage": {**usage, "at_least": PARTIAL}}
        done("iteration", "start")
        done("append", "agent-ran", "--data", json.dumps({**ran, **figures}))
        done("iteration", "end", "--metric", "test_count=4", "--metric", "tests_passed=4")
    return sprint


@pytest.mark.parametrize("reading", READINGS)
def test_a_lower_bound_has_its_mark(aborted: Path, done: Run, reading: str) -> None:
    """Tokens and cost that are only lower bounds are marked in all output."""
    shown = [*AMOUNT.finditer(done(*reading.split()).out)]
    assert len(shown) >= 2
    assert [found[0] for found in shown if not found[1]] == []


def test_the_page_marks_a_lower_bound(aborted: Path, done: Run) -> None:
    """The table, the timeline and the charts of the page mark them as well."""
    done("report", "--html", "page.html")
    page = html.unescape(Path("page.html").read_text())
    table = page.partition("<template")[0]
    cells = re.findall(r"<td[^>]*>(.{0,9}\$0\.(?:25|50))</td>", table)
    assert {*cells} == {"at least $0.25", "at least $0.50"}
    assert " 1 >=$0.25<" in page
    assert '<td class="num">at least $0.25</td>' in page
    cost = "<dt>cost of the sprint</dt><dd>at least $0.75<small>not reported by 2 runs"
    assert cost in page


@pytest.mark.parametrize("reading", ["status", "list", "query"])
def test_data_names_its_lower_bounds(aborted: Path, done: Run, reading: str) -> None:
    """JSON and SQL name them in `at_least`."""
    words = reading.split() + ["SELECT at_least FROM v_iterations"] * (reading == "query")
    for one in done(*words, "--json").lines:
        for row in one if isinstance(one, list) else [one]:
            names = row.get("spent", row)["at_least"]
            names = json.loads(names) if isinstance(names, str) else names
            assert {"tokens", *PARTIAL} == {*names}
