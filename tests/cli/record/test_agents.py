"""What an agent may record: every door, inside `run`, in a hooked turn, and as a person."""

import json
import os
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import sprintlog
from sprintlog.cli.agents.mcp import served
from sprintlog.cli.mcp.tools import call
from sprintlog.cli.wrapping.frames import is_run
from sprintlog.commands import CompleteGoal
from sprintlog.engine.adapters.processes.process import process
from sprintlog.engine.service.agent_sessions import at_work
from sprintlog.engine.service.agent_sessions.hook import take_hook
from sprintlog.engine.service.place.location import find
from sprintlog.errors import RefusedError, SprintlogError
from sprintlog.servers import append_event, record_command

from ..conftest import Result, Run

PERSON, IN_RUN, HOOKED, NAMED = "person", "in run", "hooked", "named"
AGENTS = (IN_RUN, HOOKED, NAMED)
MEASURED = '{"number": 1, "metrics": {"test_count": 9, "tests_passed": 9}}'
REVIEWED = '{"claim": 1, "accepts": true, "reason": "fine", "command": "true"}'
Become = Callable[[str], None]
Door = Callable[[Run], object]


@pytest.fixture
def become(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Become:
    """Return a function that puts this process into a situation, in a goal's iteration."""
    done("init")
    done("sprint create win --goal Win")
    done("sprint start")
    done("iteration start")

    def become(who: str) -> None:
        if who == IN_RUN:
            monkeypatch.setenv("SPRINTLOG_WITHIN", "run")
        elif who == NAMED:
            monkeypatch.setenv("SPRINTLOG_ACTOR", "agent:claude")
        elif who == HOOKED:
            # The parent of this process is the agent, whose turn a hook has recorded.
            agent = process(os.getppid())
            at_work.begin(find(folder), "turn", "a turn", now="now", worker=agent)

    return become


def recorded(done: Run, kind: str) -> list[Any]:
    """Return the data of the events of a type."""
    return [event["data"] for event in done("log", "--type", kind, "--json").lines]


def best() -> int | None:
    """Return the number of the best iteration."""
    with sprintlog.open() as log:
        found = log.sprint("win").knowledge.tracker.best
        return None if found is None else found.number


def by_library(run: Run) -> object:
    """Claim the goal with the library."""
    with sprintlog.open() as log:
        return log.handle(CompleteGoal("won"), sprint_id="win")


def by_rpc(run: Run) -> object:
    """Claim the goal as a client of `rpc` does."""
    actor = os.environ.get("SPRINTLOG_ACTOR", "runtime")
    with sprintlog.open() as log:
        command = {"type": "complete-goal", "summary": "won"}
        return record_command(log, command, sprint_id="win", actor=actor)


def by_mcp(run: Run) -> object:
    """Claim the goal with the MCP tool `report`."""
    answer = call("report", {"outcome": "done"}, served("s").caller("claude-code"))
    assert not answer.is_error, answer.text
    return answer


CLAIMS: dict[str, Door] = {
    "command line": lambda run: run("goal complete --summary won"),
    "append": lambda run: run("append", "goal-completed", "--data", '{"iteration": 1}'),
    "rpc": by_rpc,
    "mcp": by_mcp,
    "library": by_library,
}


# The library takes no actor from the environment.
@pytest.mark.parametrize(
    ("door", "who"),
    [
        (door, who)
        for door, who in product(CLAIMS, (PERSON, *AGENTS))
        if (door, who) != ("library", NAMED)
    ],
)
def test_a_claim_names_its_source(door: str, who: str, become: Become, run: Run) -> None:
    """Whichever door an agent uses, its claim is never recorded as another's."""
    become(who)
    CLAIMS[door](run)
    with sprintlog.open() as log:
        events = [json.loads(event.payload or b"{}") for event in log.events("win")]
    sources = {event["source"] for event in events if "source" in event}
    is_agents = who != PERSON or door == "mcp"
    assert bool(sources & {"person", "loop"}) != is_agents
    assert sources


def appended(kind: str, data: str, *options: str) -> Door:
    """Return a door that appends an event."""
    return lambda run: run("append", kind, "--data", data, *options)


def goal_by_rpc(run: Run) -> object:
    """Set the goal as a client of `rpc` does, and answer as a command."""
    line = {"type": "goal-set", "data": {"goal": "Less"}}
    actor = os.environ.get("SPRINTLOG_ACTOR", "runtime")
    with sprintlog.open() as log:
        try:
            return append_event(log, line, sprint_id="win", actor=actor)
        except RefusedError as error:
            return Result(1, "", error.message)


FORBIDDEN: dict[str, Door] = {
    "rules": lambda run: run("iteration rules set --measure true"),
    "budgets": lambda run: run("iteration rules set --budget-tokens 9"),
    "goal": lambda run: run("goal set Less"),
    "abandon": lambda run: run("sprint complete --abandon-goal --reason hard"),
    "baseline": lambda run: run("iteration baseline --from 1"),
    "retract": lambda run: run("iteration retract 1 --reason busy"),
    "go on": lambda run: run("iteration decide --go-on"),
    "run": lambda run: run("run --measure true -- true"),
    "append": appended("rules-set", '{"verification_required": false}'),
    "observed": appended("goal-set", '{"goal": "Less"}', "--observed"),
    "review": appended("claim-reviewed", REVIEWED, "--observed"),
    "rpc": goal_by_rpc,
}


# A person may run a loop as any actor.
@pytest.mark.parametrize(
    ("door", "who"), [pair for pair in product(FORBIDDEN, AGENTS) if pair != ("run", NAMED)]
)
def test_an_agent_does_not_touch_its_judge(
    door: str, who: str, become: Become, run: Run, done: Run
) -> None:
    """An agent's change of rules, goal or judgements is refused and not recorded."""
    done("append", "baseline-captured", "--data", '{"metrics": {"test_count": 9}}')
    done("append", "iteration-measured", "--data", MEASURED)
    done("iteration decide")
    become(who)
    before = len(done("log --all --json").lines)
    refused = FORBIDDEN[door](run)
    assert isinstance(refused, Result)
    assert (refused.code, "an agent cannot" in refused.err) == (1, True), refused
    assert len(done("log --all --json").lines) == before


@pytest.mark.parametrize("door", [name for name in FORBIDDEN if name != "run"])
def test_a_person_changes_everything(door: str, become: Become, run: Run) -> None:
    """The same commands of a person are not refused."""
    run("append", "baseline-captured", "--data", '{"metrics": {"test_count": 9}}')
    run("append", "iteration-measured", "--data", MEASURED)
    run("iteration decide")
    become(PERSON)
    done = FORBIDDEN[door](run)
    assert "an agent" not in getattr(done, "err", "")


def test_a_hook_records_only_sessions(become: Become, folder: Path, done: Run) -> None:
    """No input of an agent's hook records an event of a sprint."""
    given = {"session_id": "s", "hook_event_name": "Stop", "cwd": str(folder)}
    claim = json.dumps({**given, "last_assistant_message": "RALPH_COMPLETE"}).encode()
    safe, place = folder / "safe", {"HOME": str(folder)}
    take_hook("claude", claim, start=folder, folder=None, safe=safe, environment=place)
    with sprintlog.open() as log:
        assert log.sprints() == {"win": 3}


@pytest.mark.parametrize("who", AGENTS)
def test_an_agents_figures_are_no_evidence(who: str, become: Become, done: Run) -> None:
    """An agent's measurement is shown as such, is not the best, and is replaced."""
    context = pytest.MonkeyPatch()
    become(who)
    done("iteration measure --metric test_count=9 --metric tests_passed=9")
    (event,) = recorded(done, "iteration-measured")
    assert event["origins"] == [{"name": "agent", "format": "agent"}]
    assert best() is None
    assert "reported by the agent" in done("list").out
    assert done("list --json").json[0]["unfit"] == "reported by the agent"
    for name in ("SPRINTLOG_WITHIN", "SPRINTLOG_ACTOR"):
        context.delenv(name, raising=False)
    at_work.end(at_work.file_of(find(Path()), "turn"))
    done("iteration measure --metric test_count=9 --metric tests_passed=3")
    assert best() == 1
    assert "reported by the agent" not in done("list").out


def test_a_rule_measures_what_an_agent_reported(folder: Path, done: Run, run: Run) -> None:
    """The measurement by rule is still due after the agent's own, and replaces it."""
    done("init")
    done("sprint create win --goal Win --max-iterations 1")
    own = "-m sprintlog.cli iteration measure --metric test_count=4 --metric tests_passed=4"
    script = f"cat >prompt; '{sys.executable}' {own} >/dev/null; echo worked"
    line = ("run", "--rest", "0", "--measure", "echo 1/4", "--", "sh", "-c", script)
    run(*line)
    told, measured = recorded(done, "iteration-measured")
    assert (told["metrics"]["tests_passed"], measured["metrics"]["tests_passed"]) == (4, 1)
    assert best() == 1


def test_a_loop_under_any_name_is_not_its_agent(folder: Path, done: Run, run: Run) -> None:
    """`run --actor agent:NAME` of a person sets the rules, and its measurements count."""
    done("init")
    done("sprint create win --goal Win --max-iterations 1")
    line = ("run", "--actor", "agent:x", "--rest", "0", "--measure", "echo 1/4", "--")
    run(*line, "sh", "-c", "cat >/dev/null; echo worked")
    assert best() == 1


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("sprintlog", "run", "--", "claude"), True),
        (("/usr/bin/sprintlog", "run"), True),
        (("python", "-m", "sprintlog.cli", "run"), True),
        (("timeout", "8h", "sprintlog", "run"), True),
        (("sprintlog", "next"), False),
        (("claude", "-p", "run sprintlog"), False),
        (("sh", "-c", "sprintlog run"), False),
    ],
)
def test_wrap_knows_a_loop(command: tuple[str, ...], expected: bool) -> None:
    """A loop that `wrap` starts directly is not an agent; a script is."""
    assert is_run(command) is expected


def test_only_proper_ancestors_are_agents(become: Become, done: Run, folder: Path) -> None:
    """A process that is registered at work, such as `run`, is not its own agent."""
    at_work.begin(find(folder), "own", "a loop", now="now", worker=process())
    done("goal set More")
    with pytest.raises(SprintlogError), sprintlog.open() as log:
        log.handle(CompleteGoal("x"), sprint_id="unknown")
