"""Queries, searches and comparisons of results in several logs."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from sprintlog.commands import (
    AddLearning,
    CreateSprint,
    EndRun,
    MeasureIteration,
    StartIteration,
    StartSprint,
    Verdict,
)
from sprintlog.engine.journal.parts import Learning
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.projections.sql.groups import ResultGroup, interval, verdict
from sprintlog.projections.workspace import Workspace

from ...postgres.conftest import newest as newest
from ...postgres.server import Server
from ..conftest import Run

HOSTILE = "<b>\x1b[2J\u202e"


def loop(
    workspace: Workspace,
    model: str | None,
    passed: Sequence[int],
    *,
    cost: float | None = 0.5,
) -> None:
    """Record a sprint `auth` whose iterations pass some of 20 tests."""
    goal = CreateSprint({"mode": "ralph", "goal": "Win"})
    workspace.handle(goal, sprint_id="auth")
    workspace.handle(StartSprint(), sprint_id="auth")
    for number, count in enumerate(passed, start=1):
        usage = Usage(1000, 10, cost_usd=cost)
        models = (model,) if model else ()
        ran = AgentRan("", "completed", 0, iteration=number, usage=usage, models=models)
        metrics = {"test_count": 20, "tests_passed": count, "tests_failed": 20 - count}
        for command in (
            StartIteration(),
            EndRun(ran, Verdict("completed", "part")),
            MeasureIteration(metrics),
        ):
            workspace.handle(command, sprint_id="auth")


@pytest.fixture
def logs(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options for two logs with a sprint of the same name, one with a model."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, model, passed in (
        ("api", "fast", (2, 6, 10, 14, 17, 20)),
        ("web", HOSTILE, (20, 17, 14, 10, 6, 2)),
    ):
        (tmp_path / name).mkdir()
        with Workspace.init(tmp_path / name, here=True) as workspace:
            loop(workspace, model, passed)
            said = Learning(
                type="tool-usage",
                content=f"cache of {name}",
                source_prd_id="auth",
                still_valid=True,
            )
            workspace.handle(AddLearning(said))
    monkeypatch.chdir(tmp_path)
    return ["--log", "api", "--log", str(tmp_path / "web")]


def test_a_query_of_several_logs_has_one_set_of_rows(logs: list[str], done: Run) -> None:
    """Tables have the rows of all logs, and the first column names the log."""
    sql = "SELECT log, sprint, max(number) AS n FROM v_iterations GROUP BY log, sprint"
    rows = [{"log": x, "sprint": "auth", "n": 6} for x in ("api", "web")]
    assert done("query", sql, "--json", *logs).lines == rows
    lock = Path("web/.sprintlog/query.lock")
    lock.unlink()
    lock.mkdir()
    assert done("query", sql, "--json", *logs).lines == rows
    found = done("query", "SELECT * FROM v_sprints", "--csv", *logs).out
    assert found.startswith('"log","sprint",')


def test_a_query_names_a_log_that_is_missing(
    logs: list[str], run: Run, tmp_path: Path
) -> None:
    """It prints no rows of the others, and refuses more logs than SQLite can attach."""
    refused = run("query", "SELECT 1", *logs, "--log", "gone")
    assert (refused.code, refused.out) == (3, "")
    assert f"there is no log in {tmp_path / 'gone'}" in refused.err
    many = [x for n in range(11) for x in ("--log", f"log{n}")]
    for n in range(11):
        (tmp_path / f"log{n}").mkdir()
        Workspace.init(tmp_path / f"log{n}", here=True).close()
    assert "at most 10 logs" in run("query", "SELECT 1", *many).err
    assert run("query", "--file", *logs).code == 2


def test_a_log_on_a_server_is_queried_with_others(
    logs: list[str], newest: Server, done: Run, tmp_path: Path
) -> None:
    """A log given by its address has rows like a log in a folder, and joins no folder."""
    url = newest.new_url()
    with Workspace.init(tmp_path / "far", address=url, here=True) as workspace:
        loop(workspace, "slow", (1, 2))
    sql = "SELECT log, count(*) AS n FROM v_iterations GROUP BY log ORDER BY n"
    (server, *folders) = done("query", sql, "--json", *logs, "--log", url).lines
    assert server["n"] == 2
    assert [x["log"] for x in folders] == ["api", "web"]
    assert not (tmp_path / ".sprintlog").exists()


def test_results_are_compared_by_model(logs: list[str], done: Run) -> None:
    """Each model has its counts, score change, noise and cost; hostile names are text."""
    shown = done("list", "--by", "model", *logs)
    assert "fast gives better results than <b>" in shown.out
    assert "\x1b" not in shown.out
    found = done("list", "--by", "model", "--json", *logs).json
    first, second = found["groups"]
    assert (first["value"], second["value"]) == ("fast", HOSTILE)
    assert (first["sprints"], first["iterations"], first["verified"]) == (1, 6, 1)
    assert (first["runs"], first["cost_usd"], first["is_cost_at_least"]) == (5, 3.0, False)
    assert first["interval"][0] < first["change"] < first["interval"][1]
    assert second["change"] < 0


def test_unknown_figures_of_a_group_stay_unknown(folder: Path, done: Run) -> None:
    """Without a model or cost, both are unknown, and there is nothing to compare."""
    with Workspace.init(folder, here=True) as workspace:
        loop(workspace, None, (1,), cost=None)
    found = done("list", "--by", "model", "--json").json
    (group,) = found["groups"]
    unknown = [group[x] for x in ("value", "change", "interval", "cost_usd")]
    assert unknown == [None] * 4
    assert found["verdict"] == [
        "nothing to compare: fewer than two known values were measured"
    ]


def test_list_by_rejects_what_it_cannot_group(logs: list[str], run: Run) -> None:
    """Names that are no parameter, and options about one sprint's rows, are refused."""
    assert run("list", "--by", "x'y", *logs).code == 1
    assert run("list", *logs).code == 2
    assert run("list", "--by", "model", "--last", "1", *logs).code == 2


def test_a_search_names_the_log_of_each_text(logs: list[str], done: Run) -> None:
    """The matches of several logs alternate, and each has the name of its log."""
    found = done("journal", "search", "cache", "--json", *logs).json
    assert [(x["log"], x["title"]) for x in found] == [
        ("api", "cache of api"),
        ("web", "cache of web"),
    ]
    assert "web  learning" in done("journal", "search", "cache", *logs).out


def group(name: str, changes: Sequence[float]) -> ResultGroup:
    """Return a group with some changes of the score."""
    count = len(changes)
    mean = sum(changes) / count
    known = (name, 1, count, 0, None, count, mean, interval(changes), None, False)
    return ResultGroup(*known)


def test_no_verdict_below_five_runs() -> None:
    """Groups with fewer than five measured runs are named, and compared with none."""
    few = [group("a", [0.5] * 3), group("b", [0.1] * 4)]
    assert verdict(few) == ["too few to compare: a: 3 and b: 4 measured runs, 5 needed"]
    assert verdict([group("c", [0.1] * 5), *few]) == verdict(few)


def test_overlapping_intervals_are_not_distinguishable() -> None:
    """A group is better than those whose interval ends below; the others are named."""
    noise = Random(1)
    best, alike = ([0.2 + noise.gauss(0, 0.1) for _ in range(20)] for _ in "ab")
    groups = [group("a", best), group("b", alike), group("c", [-0.5] * 5)]
    groups.sort(key=lambda x: -(x.change or 0))
    first, second = groups[0].value, groups[1].value
    assert verdict(groups) == [
        f"{first} gives better results than c",
        f"not distinguishable, because their intervals overlap: {first} and {second}",
    ]


def test_an_interval_is_deterministic_and_covers_the_mean() -> None:
    """The same values have the same interval, and most intervals contain the mean."""
    noise = Random(2)
    samples = [sorted(noise.gauss(0.1, 0.2) for _ in range(30)) for _ in range(100)]
    found = [interval(x) for x in samples]
    assert found == [interval(x) for x in samples]
    hits = sum(x is not None and x[0] <= 0.1 <= x[1] for x in found)
    assert 85 <= hits <= 99
