"""Each tool answers and records like the command with the same purpose."""

from pathlib import Path

import pytest

from sprintlog.cli.agents.mcp import served
from sprintlog.cli.mcp import arguments
from sprintlog.cli.mcp.answers import HOW
from sprintlog.cli.mcp.caller import actor_of
from sprintlog.cli.mcp.tools import TOOLS, offered
from sprintlog.engine.journal import parts
from sprintlog.engine.sprint.agent.actions import ACTIONS
from sprintlog.engine.sprint.state import words

from ..cli.conftest import Gated, Run
from .conftest import Agent, Events


def test_there_are_seven_and_none_that_judges() -> None:
    """No gate, rollback, restore, redact or rules tool is offered, and fewer read-only."""
    assert [*TOOLS] == ["status", "next", "report", "learn", "request", "history", "query"]
    read = [tool.name for tool in offered(reads_only=True)]
    assert read == ["status", "next", "history", "query"]


def test_each_answer_of_next_says_what_to_do() -> None:
    """There is a sentence for each possible action."""
    assert HOW.keys() == ACTIONS.keys()


def test_an_agent_works_through_a_phase(sprint: Path, agent: Agent, events: Events) -> None:
    """The agent queries, starts, reports that it is done, and receives the next action."""
    found = agent.ask("next")
    assert (found["do"], found["phase"]) == ("work", "setup")
    assert "Make a branch" in found["prompt"]
    assert "tool `report`" in found["prompt"]
    assert agent.ask("report", outcome="started")["recorded"] == ["phase-started"]
    told = agent.ask("report", outcome="done", summary="a branch")
    assert told["recorded"] == ["phase-completed"]
    assert told["next"]["phase"] == "build/login/implement"
    last = events()[-1]
    assert last["actor"] == "agent:claude-code"
    assert last["correlation_id"] == "mcp-session"
    assert last["data"] == {"phase": "setup", "summary": "a branch"}


def test_work_that_nobody_began_begins_with_its_end(sprint: Path, agent: Agent) -> None:
    """A missing report of the start is not refused."""
    told = agent.ask("report", outcome="done", summary="made")
    assert told["recorded"] == ["phase-started", "phase-completed"]
    told = agent.ask("report", outcome="failed", summary="it does not compile")
    assert told["recorded"][:2] == ["phase-started", "phase-failed"]


@pytest.mark.parametrize(
    ("outcome", "type_", "status"),
    [
        ("blocked", "sprint-blocked", "blocked"),
        ("needs-human", "human-needed", "needs-human"),
    ],
)
def test_a_person_is_called(
    outcome: str, type_: str, status: str, sprint: Path, agent: Agent
) -> None:
    """The sprint is stopped, and the next action states this."""
    agent.ask("report", outcome="started")
    told = agent.ask("report", outcome=outcome, summary="no access", details="ask Ann")
    assert (told["recorded"][-1], told["status"]) == (type_, status)
    assert told["next"]["do"] == "stop"
    assert agent.ask("status")["stopped"]["because"] in ("person", "blocked")


def test_it_does_not_pass_a_gate(
    folder: Path, done: Run, agent: Agent, gated: Gated
) -> None:
    """The work is recorded as done; the loop must run the gate."""
    gated("false")
    done("phase", "reopen", "build/one")
    told = agent.ask("report", outcome="done", summary="all of it")
    assert told["recorded"] == ["phase-started", "phase-completed"]
    assert told["next"]["do"] == "gate"
    assert agent.refused("gate").startswith("error: there is no tool 'gate'")


def test_a_repeated_call_records_nothing_more(
    sprint: Path, agent: Agent, events: Events
) -> None:
    """An unchanged state is reported; with a key the first answer is returned."""
    given = {"outcome": "done", "summary": "made", "phase": "setup", "key": "k1"}
    first = agent.ask("report", **given)
    before = len(events())
    again = agent.ask("report", **given)
    assert (again["duplicate"], again["version"]) == (True, first["version"])
    assert agent.ask("report", outcome="done", summary="made", phase="setup")["unchanged"]
    assert len(events()) == before
    assert "k1" in agent.refused("report", **{**given, "summary": "another"})


def test_a_refusal_has_its_hint(sprint: Path, agent: Agent, done: Run, run: Run) -> None:
    """The error equals that of the command on a terminal, and nothing is recorded."""
    shown = run("phase", "complete", "build/login/nothing", "--summary", "x")
    text = agent.refused("report", outcome="done", phase="build/login/nothing", summary="x")
    assert text == shown.err.strip()
    assert "hint: " in text


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("report", {}, "missing required field `outcome`"),
        ("report", {"outcome": "passed"}, "outcome: invalid enum value 'passed'"),
        ("report", {"outcome": "failed"}, "summary: missing reason for failed"),
        (
            "report",
            {"outcome": "continue"},
            "continue is valid only for the iterations of a goal",
        ),
        ("report", {"outcome": "done", "at": "best"}, "unknown field `at`"),
        ("learn", {"text": " ", "kind": "tool-usage"}, "text: is empty"),
        ("learn", {"text": "x", "kind": "gossip"}, "kind 'gossip' is unknown; allowed:"),
        ("request", {"title": "x", "why": "y", "priority": "x", "kind": "bug"}, "priority"),
        ("history", {"question": "log", "limit": 51}, "limit: expected `int` <= 50"),
        ("history", {"question": "blame"}, "field: is required"),
        ("history", {"question": "blame", "to": "x"}, "to: blame accepts field, at"),
        ("history", {"question": "log", "at": "whenever"}, "whenever"),
        ("query", {"sql": "DELETE FROM v_events"}, "can only read"),
        ("status", {"sprint": "nobody"}, "there is no sprint nobody"),
        ("status", {"cursor": "1.x"}, "repeat the call without the cursor"),
        ("status", {"cursor": "x"}, "'x' for this question"),
    ],
)
def test_what_is_wrong_is_named(
    tool: str, given: dict[str, str], said: str, sprint: Path, agent: Agent
) -> None:
    """A one-line error names the argument, so that the agent can correct it."""
    text = agent.refused(tool, **given)
    assert said in text
    assert text.startswith("error: ")


def test_what_was_learned_is_kept_once(
    sprint: Path, agent: Agent, events: Events, done: Run
) -> None:
    """A learning is stored in the open journal, otherwise as a note; so are patterns."""
    given = {"text": "URLs need a slash", "kind": "api-convention", "files": ["a.py"]}
    assert agent.ask("learn", **given)["recorded"] == ["note-added"]
    assert agent.ask("learn", **given)["duplicate"]
    assert "URLs need a slash" in events()[-1]["data"]["text"]
    done("journal", "open", "--project-name", "shop")
    first = agent.ask("learn", **given)
    assert agent.ask("learn", **given) == first == {"learning": "learning-0001"}
    pattern = agent.ask("learn", text="Errors are wrapped", kind="error-handling")
    assert pattern == {"pattern": "pattern-0001"}
    assert agent.ask("learn", text="Errors are wrapped", kind="error-handling") == pattern
    assert "URLs need a slash" in agent.ask("next")["prompt"]


def test_a_request_waits_for_a_person(sprint: Path, agent: Agent) -> None:
    """The request is pending; repeating it returns the existing request."""
    given = {"title": "Crash", "why": "no address", "priority": "high", "kind": "bug"}
    told = agent.ask("request", **given)
    assert (told["request"], told["status"]) == ("req-1", "pending")
    assert agent.ask("request", **given)["unchanged"]
    assert agent.ask("status")["queue"] == {"pending": 1}


def test_secrets_are_masked(sprint: Path, agent: Agent, events: Events) -> None:
    """An agent's input is masked like typed text."""
    secret = "ghp_" + "a1B2" * 9
    agent.ask("report", outcome="done", summary=f"with {secret}")
    agent.ask("request", title=secret, why=secret, priority="low", kind="bug")
    agent.ask("learn", text=f"the token is {secret}", kind="tool-usage", key=secret)
    assert secret not in str(events())


def test_history_answers_as_commands_do(sprint: Path, agent: Agent, done: Run) -> None:
    """Each question is answered like the corresponding command, without envelopes."""
    agent.ask("report", outcome="done", summary="made")
    log = agent.ask("history", question="log", limit=2)
    assert [one["version"] for one in log["events"]] == [4, 3]
    blamed = agent.ask("history", question="blame", field="phases[setup].status")
    assert blamed["value"] == "completed"
    assert {*blamed["event"]} == {"version", "position", "at", "type", "actor", "data"}
    changed = agent.ask("history", question="diff", from_="start")
    shown = done("diff", "start", "--json").json["changes"]
    assert [one["field"] for one in changed["changes"]] == [one["field"] for one in shown]
    assert agent.ask("history", question="best")["best"] is None
    assert agent.ask("history", question="decisions")["decisions"]
    assert agent.ask("history", question="log", at="start")["version"] == 1


def test_query_answers_rows(sprint: Path, agent: Agent) -> None:
    """The answer has columns and rows, possibly none."""
    sql = "SELECT type FROM v_events WHERE stream = 'sprint/auth'"
    found = agent.ask("query", sql=f"{sql} ORDER BY position")
    assert found == {"columns": ["type"], "rows": [["sprint-compiled"], ["sprint-started"]]}
    assert agent.ask("query", sql=f"{sql} AND 0")["rows"] == []


@pytest.mark.parametrize(
    ("name", "actor"),
    [
        ("claude-code", "agent:claude-code"),
        ("operator:ann", "agent:operator-ann"),
        ("\x1b[2J evil\n name", "agent:2J-evil-name"),
        ("x" * 999, "agent:" + "x" * 64),
        ("", "agent:mcp"),
        (None, "agent:mcp"),
        ("é", "agent:mcp"),
    ],
)
def test_a_client_is_an_agent_by_its_name(
    name: str | None, actor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No client name makes an agent a person; the loop's name takes precedence."""
    monkeypatch.setenv("SPRINTLOG_ACTOR", "operator:ann")
    assert actor_of(name) == actor
    monkeypatch.setenv("SPRINTLOG_ACTOR", "agent:night")
    assert actor_of(name) == "agent:night"


def test_a_server_can_be_for_one_sprint(sprint: Path, done: Run) -> None:
    """The server's sprint is the default, as for a command; a call may name another."""
    done("sprint", "create", "other", "--plan", "plan.yaml", "--sprint-dir", "other")
    assert Agent().ask("status")["sprint"] == "auth"
    agent = Agent(served("s", "other"))
    assert agent.ask("status")["sprint"] == "other"
    assert agent.ask("status", sprint="auth")["sprint"] == "auth"


def test_a_goal_is_worked_on(folder: Path, done: Run, agent: Agent) -> None:
    """Iterations start, continue and reach the goal by the agent's reports."""
    done("init")
    done("sprint", "create", "win", "--goal", "All tests pass")
    done("sprint", "start")
    assert agent.ask("next")["do"] == "iterate"
    assert agent.ask("report", outcome="started")["recorded"] == ["iteration-started"]
    told = agent.ask("report", outcome="continue", summary="half")
    assert "iteration-ended" in told["recorded"]
    agent.ask("report", outcome="started")
    told = agent.ask("report", outcome="done", summary="all pass")
    assert "goal-completed" in told["recorded"]
    assert told["next"]["do"] in ("done", "complete")


def test_the_words_of_arguments_are_those_of_the_record() -> None:
    """A tool accepts the kinds and priorities that the journal and the queue accept."""
    assert arguments.LEARNING_TYPES == parts.LEARNING_TYPES
    assert {*arguments.PATTERNS} == {*parts.PATTERN_TYPES} - {*parts.LEARNING_TYPES}
    assert arguments.PRIORITIES == words.PRIORITIES
    assert arguments.REQUEST_TYPES == words.REQUEST_TYPES
