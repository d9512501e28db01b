"""Budgets of `run` and of a sprint, from the option to the exit code."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from sprintlog.engine.log.stores import wall_clock
from sprintlog.projections.views.runs import all_standings, what_is_next
from sprintlog.projections.workspace import Workspace

from ...conftest import Result, Run
from ...goals import HANGS_ONCE, Make, start, wait_for_nobody
from .test_loop_runs import dying, ended, events, works

SILENT = "print('all is well'); sys.exit()"
TOKENS = (
    'print(json.dumps({"type": "result", "result": "fine", '
    '"usage": {"input_tokens": 1000, "output_tokens": 100}})); sys.exit()'
)
FAILS = "sys.exit('deadline exceeded')"


def with_options(command: list[str], *options: str) -> list[str]:
    """Return a command of `run` with more options."""
    return [command[0], *options, *command[1:]]


def hinted(result: Result, command: list[str]) -> list[str]:
    """Return the first command that a stop hints, with the agent in its place."""
    (hint,) = (x for x in result.out.splitlines() if x.startswith("hint: "))
    words = shlex.split(hint.split("`")[1])[1:]
    agent = command[command.index("--") :]
    return words[: words.index("--")] + agent if "--" in words else words


def test_a_run_stops_at_its_budget_of_money(run: Run, goal_agent: Make, done: Run) -> None:
    """Running work may exceed it, the excess is shown, and the hinted command continues."""
    command = goal_agent()
    result = run(*with_options(command, "--budget-cost", "0.15"))
    assert result.code == 25
    why = "the budget is spent: cost $0.20 of $0.15 in this run, $0.05 too much"
    assert f": stop: {why}" in result.out
    end = ended(done)
    assert (end["because"], end["why"]) == ("budget", why)
    head = done("status").out.splitlines()
    assert head[2].startswith("win  in-progress, stopped  ")
    agent = shlex.join(command[command.index("--") + 1 :])
    again = f"`sprintlog run --rest 0 --budget-cost 0.15 -- {agent}`"
    assert head[0].startswith(f"stopped: {why}; next: {again}")
    # The budget is reported only once.
    assert not [line for line in head if line.startswith("budget: ")]
    (told,) = (b for b in done("status", "--json").json["budgets"] if b["of"] == "run")
    assert (told["spent"], told["limit"], told["left"]) == (0.2, 0.15, -0.05)
    assert run(*hinted(result, command)).code == 0


def test_what_was_typed_is_hinted_whole(
    folder: Path, run: Run, goal_agent: Make, done: Run
) -> None:
    """A loop that is started again as hinted has its prompt and its rest."""
    (folder / "my prompt.md").write_text("go on")
    typed = ("--prompt-file", "my prompt.md", "--no-wait", "--timeout", "1234567")
    command = goal_agent()
    result = run(*with_options(command, *typed, "--budget-cost", "0.15"))
    assert result.code == 25
    (began,) = events(done, "run-started")
    assert {*began["options"]} == {"--rest", "0", *typed}
    words = hinted(result, command)
    assert words[words.index("--prompt-file") + 1] == "my prompt.md"
    assert {*typed} < {*words}
    assert run(*words).code == 0


def test_a_sprint_stops_at_its_budget(run: Run, goal_agent: Make, done: Run) -> None:
    """`next` also reports it; raising it discards nothing, and then work continues."""
    command = goal_agent()
    done("iteration rules set", "--budget-cost", "0.1", "--budget-tokens", "1,000")
    result = run(*command)
    assert result.code == 25
    told = done("next", "--json").json
    assert (told["do"], told["because"]) == ("stop", "budget")
    assert told["why"] == "the budget is spent: cost $0.10 of $0.10 in the sprint"
    assert done("status").out.startswith(f"stopped: {told['why']}; next: run `")
    assert run(*command).code == 25
    before = done("status", "--json").json["spent"]
    done(*hinted(result, command))
    assert done("status", "--json").json["spent"] == before
    assert done("next", "--json").json["do"] == "iterate"
    done("iteration rules set", "--budget-cost", "none")
    assert run(*command).code == 0
    assert [event["budgets"] for event in events(done, "budgets-set")] == [
        {"cost_usd": 0.1, "tokens": 1000},
        {"cost_usd": 0.2, "tokens": 1000},
        {"tokens": 1000},
    ]


def test_what_is_decided_meanwhile_is_no_later_stop(
    run: Run, goal_agent: Make, done: Run
) -> None:
    """Its time and duration are fixed at the end of the run, whatever is decided later.

    Once the budget is raised, this is shown next to the usage; alone it is unchanged.
    """
    command = goal_agent()
    done("iteration rules set", "--budget-cost", "0.1")
    run(*command)
    done("queue", "add", "Crash", "--priority", "low", "--type", "bug")
    before = since_and_elapsed(done)
    assert "when the run of process" in before[0]
    later = ("--at", "2100-01-01T00:00:00Z")
    done("queue", "reject", "req-1", "--reasoning", "not now", *later)
    assert since_and_elapsed(done) == before
    done("iteration rules set", "--budget-cost", "9", *later)
    assert since_and_elapsed(done) == before
    said = done("status").out
    stopped = said.partition("stopped: ")[2].partition("\n")[0]
    assert stopped.startswith("the budget was spent: cost $0.")
    assert "of $0.10; now it is $9.00, with $8." in stopped
    assert done().out == said
    assert f"- **Outcome**: ``stopped: {stopped}" in done("report").out


def since_and_elapsed(done: Run) -> list[str]:
    """Return since when a sprint has been stopped, and how long it worked."""
    said = done("status").out
    return [said.partition(f"{word}")[2].split("\n")[0] for word in ("since: ", "elapsed ")]


def test_a_budget_of_a_run_does_not_raise_the_sprints(
    run: Run, goal_agent: Make, done: Run
) -> None:
    """A run with a larger budget than the sprint's rest is warned, also in a dry run."""
    command = goal_agent()
    done("iteration rules set", "--budget-cost", "0.1")
    run(*command)
    for more in ([], ["--dry-run"]):
        result = run(*with_options(command, "--budget-cost", "5", *more))
        said = result.out + result.err
        assert "--budget-cost is of this run alone and does not raise that of the" in said
    assert "does not raise" not in run(*command).err


@pytest.mark.parametrize(
    ("option", "limit", "code", "why"),
    [
        ("--budget-tokens", "20", 25, "tokens 22 of 20 in this run, 2 too much"),
        ("--budget-iterations", "2", 20, "iterations 2 of 2 in this run"),
        ("--budget-time", "1s", 25, r"time 0:00:\d\d of 0:00:01 in this run"),
    ],
)
def test_a_run_stops_at_other_budgets(
    run: Run, goal_agent: Make, done: Run, option: str, limit: str, code: int, why: str
) -> None:
    """Tokens, iterations and the clock on the wall end a run as money does."""
    trait = "import time; time.sleep(1.1)" if option == "--budget-time" else ""
    result = run(*with_options(goal_agent(trait), option, limit))
    assert result.code == code
    assert re.search(f"the budget is spent: {why}", result.out)
    assert ended(done)["exit_code"] == code


def test_a_run_stops_at_failures_in_a_row(run: Run, goal_agent: Make, done: Run) -> None:
    """Repeated failures of an agent end a run before its policy gives up."""
    command = with_options(goal_agent(FAILS), "--budget-failures", "1", "--no-wait")
    result = run(*command)
    assert (result.code, "failures in a row 1 of 1 in this run" in result.out) == (25, True)
    assert ended(done)["because"] == "budget"


def test_a_warning_comes_once(run: Run, goal_agent: Make, done: Run) -> None:
    """At 80 % a line and an event report it, once for each budget and limit."""
    done_ = run(*with_options(goal_agent(), "--budget-cost", "0.25"))
    assert done_.code == 0
    assert done_.err.count("budget 80 %: cost $0.20 of $0.25 in this run, $0.05 left") == 1
    assert events(done, "budget-warned") == [
        {"budget": "cost", "of": "run", "spent": 0.2, "limit": 0.25}
    ]
    line = done("log", "--type", "budget-warned").out
    assert line.endswith("budget-warned  cost 0.2 of 0.25 of the run\n")


def test_what_would_be_done_is_only_shown(run: Run, goal_agent: Make, done: Run) -> None:
    """--dry-run prints the first action, its agent and budgets; nothing is recorded."""
    command = goal_agent()
    done("iteration rules set", "--budget-tokens", "500")
    before = done("log", "--json").out
    options = ("--dry-run", "--budget-time", "1h30m")
    shown = done(*with_options(command, *options))
    assert shown.out.splitlines()[0].endswith(": next: start")
    assert f"with: {sys.executable} agent.py" in shown.out
    assert "budget: time 0:00:00 of 1:30:00 in this run, 1:30:00 left" in shown.out
    assert "budget: tokens 0 of 500 in the sprint, 500 left" in shown.out
    told = done(*with_options(command, *options, "--json")).json
    assert (told["next"]["do"], told["is_run_now"]) == ("start", False)
    assert [(b["of"], b["budget"]) for b in told["budgets"]][:2] == [
        ("run", "time"),
        ("sprint", "tokens"),
    ]
    assert done("log", "--json").out == before
    assert not Path("said.txt").exists()


def test_an_agent_without_a_cost_stops_at_once(
    run: Run, goal_agent: Make, done: Run
) -> None:
    """If the cost turns out to be unknown, the run ends; the next one is refused."""
    command = with_options(goal_agent(SILENT), "--budget-cost", "5")
    result = run(*command)
    assert result.code == 25
    assert "the agent does not report its cost" in result.out
    assert len(events(done, "agent-ran")) == 1
    assert done("status", "--json").json["budgets"][0]["unknown_runs"] == 1
    again = run(*command)
    assert (again.code, "does not report its cost" in again.err) == (1, True)
    assert "--price IN/OUT" in again.err
    assert len(events(done, "run-started")) == 1
    free = [word for word in command if word not in ("--budget-cost", "5")]
    assert run(*with_options(free, "--budget-iterations", "1")).code == 20


def test_a_price_makes_costs_of_tokens(run: Run, goal_agent: Make, done: Run) -> None:
    """Tokens cost the stated price, and the sum is exact."""
    options = ("--budget-cost", "0.01", "--price", "3/15", "--rest", "0")
    command = goal_agent(TOKENS)
    result = run(*with_options(command, *options))
    assert result.code == 25
    assert "cost $0.0135 of $0.01 in this run, $0.0035 too much" in result.out
    ran = events(done, "agent-ran")
    assert [one["usage"]["cost_usd"] for one in ran] == [0.0045] * 3
    assert all(one["is_priced"] for one in ran)
    assert done("status", "--json").json["spent"]["cost_usd"] == 0.0135
    assert events(done, "run-started")[0]["price"] == {"given": 3.0, "written": 15.0}
    again = hinted(result, command)
    assert again[3:7] == ["--budget-cost", "0.01", "--price", "3/15"]
    assert run(*again).code == 25


def test_a_price_of_unknown_tokens_is_none(run: Run, goal_agent: Make, done: Run) -> None:
    """If tokens are unknown too, no price is hinted; the hinted command continues."""
    command = goal_agent(SILENT)
    options = ("--budget-cost", "5", "--price", "3/15", "--rest", "0")
    result = run(*with_options(command, *options))
    assert result.code == 25
    assert "does not report its cost and tokens" in result.out
    again = hinted(result, command)
    assert again[: again.index("--")] == ["run", "--rest", "0"]
    assert run(*with_options(again, "--budget-iterations", "1")).code == 20


def test_a_known_agent_without_a_cost_is_refused(
    folder: Path, run: Run, goal_agent: Make, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some agents are known not to state a cost; no run starts with them."""
    goal_agent()
    before = done("log", "--json").out
    (folder / "bin").mkdir()
    script = folder / "bin" / "codex"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    for more in ((), ("--dry-run",)):
        refused = run("run", "--budget-cost", "5", *more, "--", "codex", "exec")
        assert refused.code == 1
        assert refused.err.startswith("error: cannot enforce a cost budget: codex")
    assert done("log", "--json").out == before
    assert done("run", "--budget-cost", "5", "--price", "1/8", "--dry-run", "--", "codex")
    done("iteration rules set", "--budget-cost", "5")
    assert run("run", "--", "codex", "exec").code == 1


def test_an_agent_at_its_time_limit_is_unknown(
    run: Run, goal_agent: Make, done: Run
) -> None:
    """The usage of an agent that was ended at its limit is unknown, never 0."""
    trait = "import time; time.sleep(60)"
    options = ("--timeout", "0.5", "--budget-cost", "5", "--no-wait")
    assert run(*with_options(goal_agent(trait), *options)).code == 1
    assert "the cost of 1 run is unknown" in done("status").out
    assert done("status", "--json").json["spent"]["runs_without_cost"] == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--budget-cost", "0"),
        ("--budget-cost", "nan"),
        ("--budget-cost", "much"),
        ("--budget-tokens", "1.5"),
        ("--budget-time", "soon"),
        ("--budget-time", ""),
        ("--budget-failures", "-1"),
        ("--price", "3"),
    ],
)
def test_a_senseless_budget_is_told(
    run: Run, goal_agent: Make, done: Run, options: tuple[str, str]
) -> None:
    """An invalid limit is refused by its option, before anything is done."""
    before = len(done("log", "--json").lines) if goal_agent() else 0
    command = with_options(["run", "--", sys.executable, "agent.py"], *options)
    result = run(*command)
    assert result.code == 2
    assert options[0].removeprefix("--") in result.err
    assert len(done("log", "--json").lines) == before


def test_the_file_has_budgets_too(
    folder: Path, run: Run, goal_agent: Make, done: Run
) -> None:
    """Options override the file; a price is used once the file is trusted."""
    command = goal_agent()
    settings = folder / "sprintlog.toml"
    settings.write_text('[budget]\ncost = 0.15\ntime = "8h"\n')
    assert run(*command).code == 25
    assert run(*with_options(command, "--budget-cost", "9")).code == 0
    first, second = (event["budgets"] for event in events(done, "run-started"))
    assert first == {"cost_usd": 0.15, "seconds": 28800}
    assert second == {"cost_usd": 9.0, "seconds": 28800}
    settings.write_text('[budget]\nprice = "3/15"\n')
    refused = run(*command)
    assert (refused.code, "budget.price" in refused.err) == (1, True)
    settings.write_text('[budget]\ntime = "soon"\n')
    assert run(*command).code == 2


@pytest.mark.long
def test_a_budget_holds_over_kills(
    folder: Path, run: Run, goal_agent: Make, done: Run
) -> None:
    """A sprint's budget includes costs before a kill; unobserved ones are unknown."""
    done_ = goal_agent(HANGS_ONCE)
    done("iteration rules set", "--budget-cost", "0.2")
    loop = start(done_)
    works(folder, loop)
    loop.kill()
    loop.communicate(timeout=60)
    wait_for_nobody(folder)
    result = run(*done_)
    assert result.code == 25
    why = "cost at least $0.20 of $0.20 in the sprint; the cost of 1 run is unknown"
    assert why in result.out


def test_a_run_that_is_gone_spends_no_time(
    folder: Path, goal_agent: Make, done: Run
) -> None:
    """Until its end is recorded, its time ends with its last event."""
    command = goal_agent(HANGS_ONCE)
    done("iteration rules set", "--budget-time", "1h")
    loop = start(command)
    works(folder, loop)
    with Workspace.open(folder, clock=in_ten_hours) as later:
        sprint = later.sprint(later.choose(None))
        assert what_is_next(later, sprint).because == "budget"
        loop.kill()
        loop.communicate(timeout=60)
        wait_for_nobody(folder)
        assert what_is_next(later, sprint).do == "iterate"
        (left,) = [x for x in all_standings(later, sprint) if x.budget == "time"]
        assert left.percent < 50


def in_ten_hours() -> int:
    """Return the time of a clock that is ten hours ahead, in milliseconds."""
    return wall_clock() + 10 * 3_600_000


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_append_it_pays_no_more(
    run: Run, goal_agent: Make, done: Run, when: str
) -> None:
    """However often it is killed, the sums equal the runs, and the budget stops it."""
    command = goal_agent()
    done("iteration rules set", "--budget-cost", "0.3")
    for at in range(1, 10):
        died = dying(at, when, command)
        if died.code >= 0:
            break
    last = run(*command)
    assert last.code in (0, 25)
    spent = done("status", "--json").json["spent"]
    assert spent["cost_usd"] == len(events(done, "agent-ran")) / 10
    assert spent["cost_usd"] <= 0.3
    assert json.loads(done("status", "--json").out)["budgets"]
    assert len(events(done, "budget-warned")) <= 1
