"""Settling of sessions: interrupted, repeated, late, and next to other recorders."""

import os
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.processes.process import process
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.rules import OpenJournal
from sprintlog.engine.log.envelope import Appended
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.agent_sessions.spool import count_odd
from sprintlog.engine.service.workspace import JOURNAL
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.document_fields import ralph_fields
from sprintlog.projections.workspace import Workspace

from ..adapters.remains import gone_with
from ..postgres.server import IN_LONG, unsafe_url
from .conftest import SPRINTLOG, after_tool, events_of
from .hooked import GONE, HookedSession, Tree


class KilledError(Exception):
    """The process of a hook was killed."""


class Killed:
    """Settles sessions, and is killed once instead of its append number `at`."""

    def __init__(self, tree: Tree, at: int) -> None:
        self.tree, self.left, self.appends = tree, at, 0
        real = self._real = SqliteLog.append

        def append(log: SqliteLog, *given: Any, **more: Any) -> Appended:
            self.left -= 1
            if self.left == -1:
                raise KilledError
            self.appends += 1
            return real(log, *given, **more)

        self._append = append
        tree.settles = False

    def settle(self, session: HookedSession) -> None:
        """Settle a session; repeat it if it was killed."""
        with self.tree.patch.context() as patch:
            patch.setattr(SqliteLog, "append", self._append)
            with suppress(KilledError):
                session.settle()
                return
            session.settle()


SAID = '{"status": "continue", "summary": "half", "learnings": ["Use -n 2."]}'
WHOLE = """\
SprintCompiled SprintStarted SnapshotTaken IterationStarted
AgentRan IterationEnded SnapshotTaken AgentRan IterationEnded SnapshotTaken AgentRan
IterationStarted AgentRan IterationEnded
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("at", range(11))
def test_a_killed_settling_is_made_up_for(
    tree: Tree, session: HookedSession, at: int
) -> None:
    """If settling is killed before any append, settling again records the same events."""
    with Workspace.open(tree.root) as workspace:
        workspace.handle_on_journal(OpenJournal())
    killed = Killed(tree, at)
    steps: list[Callable[[], None]] = [
        session.ask,
        lambda: session.call(a="one"),
        lambda: session.stop(SAID),
        lambda: session.call(a="two"),
        lambda: session.stop(SAID, stop_hook_active=True),
        lambda: session.ask("why?"),
        session.stop,
        session.ask,
        lambda: session.call(b="three"),
        session.end,
    ]
    for step in steps:
        step()
        killed.settle(session)
    assert [type(one).__name__ for one in tree.events()] == WHOLE.split()
    began = tree.events(f.IterationStarted)
    assert all(one.before for one in began)
    assert [tree.why("a"), tree.why("b")] == ["agent 1", "agent-or-outside 2"]
    with Workspace.open(tree.root) as workspace:
        assert len(workspace.documents.current(JOURNAL).learnings) == 1
    assert killed.appends == 10


@pytest.mark.parametrize("within", ["run", "key-of-a-wrap"])
def test_a_turn_within_a_loop_belongs_to_its_iteration(
    tree: Tree, session: HookedSession, within: str
) -> None:
    """A turn within `run` or `wrap` stays part of it, even if its session goes on later."""
    with tree.patch.context() as patch:
        patch.setenv("SPRINTLOG_WITHIN", within)
        patch.setenv("SPRINTLOG_CORRELATION", "work-1")
        session.start()
        session.work(a="one")
        session.ask()
        session.call(a="two")
        session.end()
    assert tree.events() == []
    session.start("resume")
    session.work(a="three")
    (began,) = tree.events(f.IterationStarted)
    assert (began.number, len(tree.runs())) == (1, 1)
    assert tree.why("a", 3) == "agent 1"


def test_the_iteration_of_a_killed_agent_is_ended(
    tree: Tree, session: HookedSession
) -> None:
    """If an agent was killed, the next session's prompt ends its turn, as unknown."""
    tree.worker(GONE)
    session.ask()
    session.call(a="one")
    tree.worker(process(os.getppid()))
    other = HookedSession(tree, session="s-2")
    other.ask()
    assert tree.iterations() == ["+1", "-1"]
    assert [(x.status, x.output) for x in tree.runs()] == [("unknown", "")]
    tree.write(a="person")
    other.call(b="two")
    other.stop()
    assert (tree.why("a"), tree.why("b")) == ("agent-or-outside 1", "agent 2")
    session.work(c="three")
    assert tree.iterations() == ["+1", "-1", "+2", "-2", "+3", "-3"]


def test_a_working_agent_keeps_its_iteration(tree: Tree, session: HookedSession) -> None:
    """The prompt of another session does not end the turn of an agent that is working."""
    session.ask()
    session.call()
    HookedSession(tree, session="s-2").ask()
    assert tree.iterations() == ["+1"]


@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_an_answer_that_was_spooled_is_settled_later(tree: Tree, agent: str) -> None:
    """If the log was busy at the end of a turn, the next prompt records the iteration."""
    session = HookedSession(tree, agent)
    session.ask()
    session.call(a="one")
    with closing(sqlite3.connect(tree.log / "log.db", isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")
        session.stop()
        held.execute("ROLLBACK")
    assert tree.iterations() == ["+1"]
    tree.write(a="person")
    session.work(b="two")
    assert tree.iterations() == ["+1", "-1", "+2", "-2"]
    assert [(x.iteration, x.output) for x in tree.runs()] == [(1, "Done."), (2, "Done.")]
    assert (tree.why("a", 1), tree.why("b")) == ("agent-or-outside 1", "agent 2")


@pytest.mark.parametrize("log_store", [IN_LONG], indirect=True)
def test_a_session_is_recorded_on_a_server(
    folder: Path, log_store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a log on a server, turns become the same iterations."""
    address = unsafe_url(log_store)
    monkeypatch.setenv("SPRINTLOG_LOG", address)
    Workspace.init(folder, address=address).close()
    tree = Tree(folder, monkeypatch)
    session = HookedSession(tree)
    session.work(a="one")
    session.ask()
    session.stop()
    assert tree.iterations() == ["+1", "-1"]
    assert tree.why("a") == "agent 1"


def test_a_home_that_is_read_only(tree: Tree, session: HookedSession) -> None:
    """Turns are recorded without a home folder for settings and spooled events."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        tree.patch.setenv(name, "/proc/none")
    session.work(a="one")
    assert tree.iterations() == ["+1", "-1"]
    assert tree.why("a") == "agent 1"


def test_files_that_cannot_be_saved_are_reported(
    tree: Tree, session: HookedSession, tmp_path: Path
) -> None:
    """A turn without a snapshot is recorded, and the reason is printed."""
    session.ask()
    session.call(a="one")
    tree.patch.setenv("PATH", str(tmp_path))
    session.stop()
    assert tree.iterations() == ["+1", "-1"]
    assert [text.partition(": ")[0] for text in tree.told] == [
        "the files of iteration 1 were not saved"
    ]


def test_a_turn_of_no_certain_sprint_is_refused(tree: Tree, session: HookedSession) -> None:
    """With several unfinished sprints, a turn is recorded only for a specified one."""
    with Workspace.open(tree.root) as workspace:
        for name in ("one", "two"):
            workspace.handle(CreateSprint(ralph_fields(name)), sprint_id=name)
            workspace.handle(StartSprint(), sprint_id=name)
    tree.settles = False
    session.work(a="one")
    with pytest.raises(RefusedError, match="one, two"):
        session.settle()
    tree.patch.setenv("SPRINTLOG_SPRINT", "two")
    session.settle()
    assert tree.iterations() == ["+1", "-1"]


def test_a_hook_leaves_a_process_that_settles(log: Path) -> None:
    """The processes of hooks end at once, and turns are recorded without them."""
    inputs = [
        b'{"hook_event_name": "UserPromptSubmit", "prompt_id": "p", "session_id": "s-1"}',
        after_tool(prompt_id="p"),
        after_tool(hook_event_name="Stop", prompt_id="p", last_assistant_message="Done."),
    ]
    own = {**os.environ, "STARTED_IN": str(log)}
    for content in inputs:
        done = subprocess.run(
            [*SPRINTLOG, "hook", "claude"], env=own, input=content, capture_output=True
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until = time.monotonic() + 30
    while not (ended := [x for x in events_of(log) if x.type == "iteration-ended"]):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert [event.actor for event in ended] == ["runtime"]
    gone_with(f"STARTED_IN={log}")
    assert not [*(log / "at-work").iterdir()]
    assert count_odd(log) == 0
