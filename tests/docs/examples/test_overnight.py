"""The night of the tutorial: the results of its loop, to the last cent."""

import json
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ...copies import copy_tree
from ..sessions import ROOT, answers, begin, differences, session_of

PAGE = ROOT / "docs" / "tutorial" / "ralph-loop-overnight.md"
MORNING = PAGE.with_name("the-morning-after.md")
KEPT = ("slug.py", "tests.py", "agent.py", "junit.xml")
BEST = "    return '-'.join(re.findall('[a-z]+', title.lower()))\n"
COSTS = {1: "0.1", 2: "0.2", 3: "0.1", 4: "0.3", 5: "0.1", 6: "0.15", 7: "0.2"}
JUDGED = ["iteration-started", "agent-ran", "iteration-measured", "recommendation-given"]
GONE_BACK = [*JUDGED, "rolled-back", "files-restored"]
ORDER = [
    *("run-started", "baseline-captured", *JUDGED),
    *("iteration-started", "agent-ran", "measurement-failed", "recommendation-given"),
    *(*JUDGED, *GONE_BACK),
    *("iteration-started", "agent-ran", "retry-scheduled", "agent-ran", "budget-warned"),
    *("iteration-measured", "recommendation-given", "iteration-started"),
    *("run-ended", "run-started", "agent-ran", "iteration-measured"),
    *("recommendation-given", *GONE_BACK),
    *("best-selected", "files-restored", "artifacts-applied", "run-ended"),
]


class Night:
    """The folder in which the night was lived through."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def says(self, *words: str) -> str:
        """Return the output of a command, which must succeed."""
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
        line = [sys.executable, "-m", "sprintlog.cli", *words]
        result = subprocess.run(
            line,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result
        return result.stdout

    def data(self, *words: str) -> Any:
        """Return the JSON answer of a command, with numbers as written."""
        return json.loads(self.says(*words, "--json"), parse_float=Decimal)

    def events(self, *types: str) -> list[dict[str, Any]]:
        """Return the events of these types, in order."""
        found = self.lines("log")
        return [event for event in found if event["type"] in types]

    def lines(self, *words: str) -> list[dict[str, Any]]:
        """Return the JSON lines of a command."""
        lines = self.says(*words, "--json").splitlines()
        return [json.loads(line, parse_float=Decimal) for line in lines]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    """Live through the night with the installed command, as the page has it."""
    folder = tmp_path_factory.mktemp("night")
    session = session_of(PAGE)
    assert differences(session, answers(begin(session, folder))) == []
    return Night(folder)


@pytest.mark.long
def test_all_happens_in_its_order(night: Night) -> None:
    """Success, a broken test, a regression, a limit and a kill happen once, in order."""
    assert [event["type"] for event in night.events(*ORDER)] == ORDER
    begun = [event["data"]["number"] for event in night.events("iteration-started")]
    assert begun == [1, 2, 3, 4, 5, 6, 7]
    advice = [
        (event["data"]["number"], event["data"]["action"])
        for event in night.events("recommendation-given")
    ]
    assert advice == [
        (1, "continue"),
        (2, "escalate"),
        (3, "continue"),
        (4, "rollback"),
        (5, "continue"),
        (6, "continue"),
        (7, "rollback"),
    ]


@pytest.mark.long
def test_it_ends_with_the_best_files(night: Night) -> None:
    """The work tree and the selection have the best iteration's files, whose tests pass."""
    assert (night.folder / "slug.py").read_text().endswith(BEST)
    night.says("restore", "best", "--into", "best")
    night.says("restore", "iter:5", "--into", "five")
    for name in KEPT:
        best = (night.folder / "best" / name).read_bytes()
        assert (night.folder / name).read_bytes() == best
        assert (night.folder / "five" / name).read_bytes() == best
    output = night.folder / ".aiwg" / "output"
    assert sorted(path.name for path in output.iterdir()) == ["junit.xml", "slug.py"]
    for path in output.iterdir():
        assert path.read_bytes() == (night.folder / "best" / path.name).read_bytes()
    assert b'"Hello": "hello"' in (night.folder / "tests.py").read_bytes()
    assert not list(night.folder.glob(".sprintlog/*restor*"))


@pytest.mark.long
def test_each_run_ends_with_its_reason(night: Night) -> None:
    """The killed run is lost; the other one ends with 25 because of its cost budget."""
    lost, ended = (event["data"] for event in night.events("run-ended"))
    assert (lost["because"], lost.get("exit_code")) == ("lost", None)
    assert (ended["because"], ended["exit_code"]) == ("budget", 25)
    status = night.data("status")
    run = status["run"]
    assert (run["state"], run["because"], run["exit_code"]) == ("ended", "budget", 25)
    assert (status["stopped"]["because"], status["stopped"]["why"]) == (
        "budget",
        ended["why"],
    )
    assert "`sprintlog iteration rules set --budget-cost 2`" in status["stopped"]["hint"]


@pytest.mark.long
def test_the_sums_are_exact_everywhere(night: Night) -> None:
    """Log, status, report and query state the same cost, tokens and turns, as decimals."""
    ran = [event["data"] for event in night.events("agent-ran")]
    whole = sum(map(Decimal, COSTS.values()))
    assert whole == Decimal("1.15")
    paid = [one["usage"] for one in ran if "usage" in one]
    assert len(paid) == len(COSTS)
    assert sum(one["cost_usd"] for one in paid) == whole
    tokens = sum(one["input_tokens"] + one["output_tokens"] for one in paid)
    assert (tokens, sum(one["turns"] for one in paid)) == (9800, 28)
    # Each iteration was paid once; the run that met the limit cost nothing, and the cost of
    # the killed one is unknown.
    assert len(ran) == 8
    spent = night.data("status")["spent"]
    assert (spent["runs"], spent["cost_usd"], spent["turns"]) == (8, whole, 28)
    assert spent["input_tokens"] + spent["output_tokens"] == tokens
    assert (spent["runs_cut_short"], spent["runs_without_cost"]) == (1, 1)
    (budget,) = (b for b in night.data("status")["budgets"] if b["budget"] == "cost")
    assert (budget["spent"], budget["left"]) == (whole, Decimal("-0.15"))
    ends = [event["data"]["spent"]["cost_usd"] for event in night.events("run-ended")]
    assert ends == [Decimal("0.8"), Decimal("0.35")]
    report = night.says("report")
    assert "28 turns, at least 9,800 tokens, at least $1.15" in report
    rows = night.lines("query", "select number, runs, turns, cost_usd from v_iterations")
    assert {row["number"]: row["cost_usd"] for row in rows} == {
        number: Decimal(cost) for number, cost in COSTS.items()
    }
    assert [row["runs"] for row in rows] == [1, 1, 1, 1, 2, 1, 1]
    assert [row["turns"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.long
def test_what_the_agent_said_is_there(night: Night) -> None:
    """Its request is pending, its step is a request that carries it, it has learned."""
    asked, step = night.data("queue", "list")
    assert (asked["id"], asked["status"], asked["title"]) == (
        "req-1",
        "pending",
        "Keep digits?",
    )
    assert (step["id"], step["status"], step["title"]) == (
        "req-2",
        "pending",
        "Cut long titles",
    )
    queued = [event["data"] for event in night.events("request-queued")]
    assert queued[1]["context"] == {
        "step": {"prompt": "Cut long titles"},
        "reasoning": "nobody types them",
    }
    (learned,) = night.data("journal", "learning", "list")
    assert (learned["type"], learned["source_prd_id"]) == ("build-command", "slugs")
    written = json.loads((night.folder / ".ralph" / "progress.json").read_text())
    assert [one["content"] for one in written["learnings"]] == [learned["content"]]


@pytest.mark.long
def test_log_and_state_files_are_sound(night: Night) -> None:
    """Nothing from the night is missing or stale, and everything follows from the log."""
    assert night.says("verify").startswith("sound: ")
    assert "same" in night.says("rebuild", "--check")


@pytest.mark.long
def test_the_morning_is_as_its_page_has_it(night: Night, tmp_path: Path) -> None:
    """The morning's page starts where the night ended, and shows the actual output."""
    folder = tmp_path / "slugs"
    copy_tree(night.folder, folder)
    # Files that other tests put into the folder do not exist in the morning.
    for name in ("best", "five"):
        shutil.rmtree(folder / name, ignore_errors=True)
    session = session_of(MORNING)
    assert session.commands
    assert differences(session, answers(begin(session, folder))) == []
