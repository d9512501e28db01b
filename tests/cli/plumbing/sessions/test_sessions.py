"""Agents' actions in their sessions, as shown by commands."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.agent_sessions.hook import take_hook
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sessions.events import ToolCalled
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.projections.sql.read_model import in_memory
from sprintlog.projections.views.work import status
from sprintlog.projections.workspace import Workspace

from ...conftest import Run

NEXT = Action("work")
FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "hooks"
SESSION = "claude-a2b3ae1d-1d30-45c1-8f38-aeadd35db196"


def tell(folder: Path, *hooks: bytes, agent: str = "claude") -> None:
    """Hand hooks of an agent their input."""
    for content in hooks:
        take_hook(
            agent,
            content,
            start=folder,
            folder=None,
            safe=folder / "none",
            environment={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        )


def after_tool(call: str, session: str = "s-1") -> bytes:
    """Return the input of a hook of Claude Code after a command."""
    given = {
        "session_id": session,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"make {call}"},
        "tool_use_id": call,
    }
    return json.dumps(given).encode()


def rows(done: Run, asked: str) -> list[list[Any]]:
    """Return the rows of a query."""
    return [[*row.values()] for row in done("query", asked, "--json").lines]


@pytest.fixture
def told(sprint: Path) -> Path:
    """Return a folder with a sprint, and a session of an agent behind its events."""
    tell(sprint, *(FIXTURES / "claude-2.1.330.jsonl").read_bytes().splitlines())
    return sprint


def test_a_log_shows_a_session_in_one_line(told: Path, done: Run) -> None:
    """Among all events a session is one line; its own events are shown on request."""
    before = len(done("log", "--all").out.splitlines()) - 1
    line = done("log", "--all").out.splitlines()[-1]
    assert "claude-a2b3ae1d-1d30  7 tool calls, 2 failed, 2 prompts, 1 subagent" in line
    assert line.split()[0] == f"{before + 1}-{before + 15}"
    assert len(done("log", "--session", "a2b3").out.splitlines()) == 15
    assert len(done("log", "--all", "-v").out.splitlines()) == before + 15
    whole = done("log", "--all", "--type", "tool-called").out.splitlines()
    assert len(whole) == 7


def test_what_was_done_between_two_events_is_answered(told: Path, done: Run) -> None:
    """Between two positions a session's log has the agent's actions."""
    first = done("log", "--session", SESSION, "--json").lines[0]["position"]
    words = ["log", "--session", "a2b3", "--since", f"position:{first + 3}"]
    lines = done(*words, "--until", f"position:{first + 4}").out.splitlines()
    assert [line.split("agent:claude  ")[1] for line in lines] == [
        "tool-called  Bash  141 ms: echo hi; echo err >&2",
        "tool-called  Bash  failed, exit 3, 41 ms: echo failing; exit 3",
    ]


def test_a_session_is_shown_and_listed(told: Path, done: Run, run: Run) -> None:
    """A session shows its totals; several are listed, the latest last."""
    tell(told, after_tool("one"))
    one = done("show", "session", SESSION, "--json").json
    assert (one["tool_calls"], one["failed_calls"], one["prompts"]) == (7, 2, 2)
    assert one["files_changed"] == ["/w/shop/a.txt"]
    assert one["reason"] == "other"
    assert [x["session"] for x in done("show", "session", "--json").json] == [
        SESSION,
        "claude-s-1",
    ]
    shown = done("show", "session", "a2b3").out
    assert (
        "did         7 tool calls, 2 failed, 2 prompts, 1 subagent, 1 file +2 -1\n" in shown
    )
    assert len(done("show", "session").out.splitlines()) == 2
    assert run("show", "session", "nothing").code == 3
    assert run("show", "session", "claude").code == 1
    assert run("log", "--session", "a2b3", "--since", "iter:1").code == 1


@pytest.mark.parametrize(
    ("agent", "ids"),
    [
        ("codex", ["01a20840-54b5-7163-a7b5-f7e4eb303075", "01a20840-d0b1-72d2-8294-a9"]),
        ("opencode", ["ses_df7b99a6fffeaQavPg", "ses_df7b97e0affeKs7p1C"]),
    ],
)
def test_sessions_of_the_same_minute_are_told_apart(
    sprint: Path, done: Run, agent: str, ids: list[str]
) -> None:
    """Ids that start with the time remain distinct when they are truncated."""
    for id_ in ids:
        call = after_tool("one", id_)
        if agent == "opencode":
            given = {"tool": "bash", "sessionID": id_, "callID": "one", "args": {}}
            both = {"i": given, "o": {"output": "", "metadata": {}}}
            call = json.dumps({"k": "after", "t": 1_795_434_966_330, "o": both}).encode()
        tell(sprint, call, agent=agent)
    names = [line.split()[0] for line in done("show", "session").out.splitlines()]
    assert len(set(names)) == 2
    for name in names:
        assert len(done("log", "--session", name).out.splitlines()) == 1


def test_a_log_without_sessions_says_so(sprint: Path, done: Run) -> None:
    """Without any agent there is nothing to list."""
    assert done("show", "session").out == "no sessions\n"


def test_sessions_and_calls_are_tables(told: Path, done: Run) -> None:
    """Agents' actions can be queried with SQL, and are the same in a new copy."""
    asked = "SELECT session, agent, tool_calls, failed_calls, ended FROM v_sessions"
    assert rows(done, asked) == [[SESSION, "claude", 7, 2, 1]]
    tell(told, after_tool("one"), after_tool("two", SESSION.partition("-")[2]))
    calls = "SELECT tool, ok, exit_code, path, lines_added FROM v_tool_calls"
    kept = rows(done, f"{calls} ORDER BY position")
    assert kept[:3] == [
        ["Write", 1, None, "/w/shop/a.txt", 1],
        ["Bash", 1, None, None, None],
        ["Bash", 0, 3, None, None],
    ]
    ended = "SELECT session, tool_calls, ended FROM v_sessions ORDER BY session"
    assert rows(done, ended) == [[SESSION, 8, 0], ["claude-s-1", 1, 0]]
    with Workspace.open(told) as workspace:
        fresh = in_memory(workspace).execute(ended).fetchall()
    assert [list(row) for row in fresh] == rows(done, ended)


def test_doctor_counts_sessions_and_what_waits(told: Path, done: Run) -> None:
    """The size of agents' sessions, spooled and unknown input is shown."""
    tell(told, b"odd")
    checks = {one["check"]: one["found"] for one in done("doctor", "--json").json["checks"]}
    assert checks["sessions"].startswith("agent sessions: 1, with 15 events in ")
    assert checks["hooks"].endswith(": 1")
    assert "spool" not in checks


def test_a_rollback_leaves_sessions_as_they_are(told: Path, done: Run) -> None:
    """An agent's actions are not undone: its session continues after a rollback."""
    done("phase", "start", "setup")
    tell(told, after_tool("one"))
    done("rollback", "start")
    tell(told, after_tool("two"))
    assert done("show", "session", "s-1", "--json").json["tool_calls"] == 2
    done("verify")


class Clock:
    """A clock that is set."""

    now = 1_800_000_000_000

    def __call__(self) -> int:
        """Return the time in milliseconds."""
        return self.now


def working(folder: Path, clock: Clock, calls: int) -> Workspace:
    """Return a workspace with a running sprint, and a session with a number of calls."""
    workspace = Workspace.init(folder, here=True, clock=clock)
    at = workspace.now()
    plan = {"status": "not-started", "phases": [{"id": "p", "status": "pending"}]}
    told = [
        new_event(one, at=at, actor="runtime")
        for one in (f.SprintCompiled(plan), f.SprintStarted())
    ]
    workspace.log.append("sprint/s", told, expect=Expect.ANY)
    beat = new_event(f.ActivitySeen(), at=at, actor="agent:x", correlation_id="work")
    workspace.log.append("sprint/s", [beat], expect=Expect.ANY)
    work(workspace, calls)
    workspace.sprint("s")
    return workspace


def work(workspace: Workspace, calls: int, correlation: str = "work") -> None:
    """Record calls of a session now."""
    for start in range(0, calls, 5000):
        told: list[NewEvent] = [
            new_event(
                ToolCalled("Bash", command="make test", ok=True, call=f"toolu_{n:020}"),
                at=workspace.now(),
                actor="agent:claude",
                correlation_id=correlation,
            )
            for n in range(start, min(start + 5000, calls))
        ]
        workspace.log.append("session/claude-s", told, expect=Expect.ANY)


@pytest.mark.parametrize(
    ("correlation", "is_stale"), [("work", False), ("other work", True)]
)
def test_who_works_is_not_stale(tmp_path: Path, correlation: str, is_stale: bool) -> None:
    """A sprint is only stale if the sessions that work on it are, too."""
    clock = Clock()
    with working(tmp_path, clock, 1) as workspace:
        clock.now += 20 * 60 * 1000
        assert status(workspace, workspace.sprint("s"), NEXT).stale
        work(workspace, 1, correlation)
        assert status(workspace, workspace.sprint("s"), NEXT).stale is is_stale


def test_a_sprint_costs_the_same_beside_any_sessions(tmp_path: Path) -> None:
    """A sprint's status takes as many database steps with 20,000 calls as without."""

    def steps(calls: int) -> int:
        count = 0

        def step() -> int:
            nonlocal count
            count += 1
            return 0

        place = tmp_path / str(calls)
        place.mkdir()
        working(place, Clock(), calls).close()
        with Workspace.open(place, clock=Clock()) as workspace:
            assert isinstance(workspace.log, SqliteLog)
            workspace.log.connection.raw.set_progress_handler(step, 1)
            status(workspace, workspace.sprint("s"), NEXT)
            workspace.log.connection.raw.set_progress_handler(None, 0)
        return count

    assert steps(20_000) <= 1.1 * steps(20)


def test_a_call_takes_little_space(tmp_path: Path) -> None:
    """A call of a typical command takes less than 900 bytes in the database."""
    working(tmp_path, Clock(), 0).close()
    database = tmp_path / ".sprintlog" / "log.db"
    before = database.stat().st_size
    with Workspace.open(tmp_path, clock=Clock()) as workspace:
        work(workspace, 5000)
    assert (database.stat().st_size - before) / 5000 < 900
