"""Commands on the page: complete ways from the stop to the loop."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from sprintlog.commands import (
    BeginRun,
    ChangeBudgets,
    CreateSprint,
    EndRun,
    FinishRun,
    MeasureIteration,
    NeedHuman,
    StartIteration,
    StartSprint,
    Verdict,
)
from sprintlog.engine.command import Command
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint.events import AgentRan, Budgets
from sprintlog.facts import sprint_facts
from sprintlog.projections.page.head import head
from sprintlog.projections.workspace import Workspace

from .night import SPRINT as NIGHT
from .night import night

SPRINT, AT = "loop", "2026-01-15T21:00:00Z"
AGENT = ("sh", "agent.sh")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Return a workspace with a loop of two iterations, the second of which is worse."""
    made = Workspace.in_memory(tmp_path, clock=lambda: 1_768_550_400_000, entropy=bytes)
    with made:
        do(made, CreateSprint(plan={"mode": "ralph", "goal": "Win"}), StartSprint())
        do(made, BeginRun("run-1", "build-7", 1, AT, "boot", AGENT, Budgets(cost_usd=4)))
        for number, passed in ((1, 9), (2, 3)):
            usage = Usage(1000, 100, cost_usd=0.5)
            ran = AgentRan("", "completed", 0, usage=usage, iteration=number)
            do(made, StartIteration(), EndRun(ran, Verdict("completed", "done")))
            do(made, MeasureIteration({"test_count": 9, "tests_passed": passed}))
        yield made


def do(workspace: Workspace, *commands: Command) -> None:
    """Handle a command."""
    for command in commands:
        workspace.handle(command, sprint_id=SPRINT, at=AT, actor="runtime")


def told(workspace: Workspace, sprint: str = SPRINT) -> str:
    """Return the head of the page as a person reads it."""
    found = re.sub(
        r"</?(?:p|li|ol|div|dt|dd|small|details|summary)\b[^>]*>",
        "\n",
        head(sprint_facts(workspace, sprint)),
    )
    return re.sub(r"\n+", "\n", re.sub(r"<[^>]+>", "", found))


def typed(said: str, name: str) -> list[str]:
    """Return the lines of commands below a heading, up to the next heading."""
    lines = said.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(name))
    ends = ("or, to keep", "since ", "files ", "advice ", "best ")
    rest = lines[begin + 1 :]
    return rest[: next(at for at, line in enumerate(rest) if line.startswith(ends))]


def test_the_advised_way_raises_a_budget_that_is_spent(workspace: Workspace) -> None:
    """A rollback frees no iteration, so the limit is named before the loop.

    The title has one state: `stopped`.
    """
    do(workspace, ChangeBudgets({"cost_usd": 1.0}))
    do(workspace, FinishRun("run-1", "budget", 25, "the budget is spent"))
    steps = typed(told(workspace), "type now, as advised")
    first = told(workspace).strip().splitlines()[:2]
    assert (first[0], first[1][:17]) == ("loop stopped", "plan in progress,")
    assert steps == [
        "sprintlog rollback iter:1 takes the advice: restores only the plan "
        "(the files of iteration 1 were not saved)",
        "run sprintlog iteration rules set --budget-cost 2 to allow $1.00 more",
        "use sprintlog run --budget-cost 4 -- sh agent.sh to restart the loop",
    ]


def test_the_advised_way_begins_with_what_a_person_is_asked(workspace: Workspace) -> None:
    """Otherwise the loop would stop at the same point again."""
    do(workspace, NeedHuman("no mail server", "give SMTP_HOST"))
    do(workspace, FinishRun("run-1", "person", 24, "no mail server"))
    said = told(workspace)
    assert typed(said, "type now, as advised")[0] == "resolve what it needs: give SMTP_HOST"
    kept = typed(said, "or, to keep the current work")
    assert kept[0] == "resolve what it needs: give SMTP_HOST"
    assert kept[-1].endswith("sh agent.sh starts the loop again")


def test_files_that_were_never_to_be_kept_are_not_missed(workspace: Workspace) -> None:
    """The page states that the loop was not instructed to, not that data is missing."""
    said = told(workspace)
    assert "Its files were not saved because the loop ran without --snapshot" in said
    assert "no snapshot was taken" not in said


def test_the_header_names_another_work_tree_once(workspace: Workspace) -> None:
    """A work tree whose folder is unknown is described in the words of the status."""
    facts = sprint_facts(workspace, SPRINT)
    facts.status = replace(facts.status, work_tree="the work tree b0b081ab")
    assert "in the work tree b0b081ab, as of version" in head(facts)


def test_a_night_says_which_time_is_which(tmp_path: Path) -> None:
    """Durations have distinct names, as have the figures of the sprint and of the loop."""
    with night(tmp_path) as workspace:
        said = told(workspace, NIGHT)
    assert "tokens of the sprint\nat least 763,315\n" in said
    assert "cost budget of the last loop run: $7.91 of $10.00" in said
    assert "from begin to end\n5h 24m\nwaits included" in said
    assert "agents at work\n3h 46m\n9 agent runs added up" in said
    # The baseline does not count as an iteration.
    assert "iterations\n9\n1 discarded" in said
