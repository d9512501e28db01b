"""Settling of sessions: interrupted, repeated, late, and next to other recorders."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pytest

from sprintlog.engine.adapters.processes.process import process
from sprintlog.engine.journal.rules import OpenJournal
from sprintlog.engine.log.envelope import Appended
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.workspace import JOURNAL
from sprintlog.engine.sprint import events as f
from sprintlog.projections.workspace import Workspace

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
    """A turn within `run` or `wrap` is no iteration, even if its session goes on later."""
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
