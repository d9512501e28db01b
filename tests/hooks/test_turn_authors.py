"""The authors of lines after random work of agents in sessions and of a person."""

import os
from random import Random

import pytest

from sprintlog.engine.adapters.processes.process import process
from sprintlog.engine.service import settle
from sprintlog.engine.service.agent_sessions import at_work
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.times import parse
from sprintlog.projections.history.why import why
from sprintlog.projections.workspace import Workspace

from .hooked import GONE, HookedSession, Tree

PERSON, PROMPTED = "person", "prompt-given"
FILES = ("a", "b", "c")


class Work:
    """Random work in a tree; each line names its author: `SESSION:TURN` or `person`."""

    def __init__(self, tree: Tree, seed: int) -> None:
        self.tree, self.chance = tree, Random(seed)
        self.sessions = [
            HookedSession(tree, "claude", "s-1"),
            HookedSession(tree, "codex", "s-2"),
        ]
        self.running: dict[HookedSession, int] = {}
        """The turns of the agents that are working."""
        self.unsettled: set[HookedSession] = set()
        """The sessions whose latest hook did not settle."""
        self.called: set[str] = set()
        """The turns in which an agent called a tool."""
        self.turns = 0
        self.asked: dict[HookedSession, list[int]] = {x: [] for x in self.sessions}

    def go_on(self) -> None:
        """Take a step: of an agent, or of a person if no agent is working."""
        session = self.chance.choice(self.sessions)
        # At most one of two processes of a session's hooks is killed.
        self.tree.settles = session in self.unsettled or self.chance.random() < 0.9
        if not self.running and self.chance.random() < 0.4:
            self.write(PERSON)
            return
        self.unsettled ^= {session} & self.unsettled
        if not self.tree.settles:
            self.unsettled.add(session)
        if session not in self.running:
            self.tree.worker(process(os.getppid()))
            self.turns += 1
            session.ask()
            self.running[session] = self.turns
            self.asked[session].append(self.turns)
        elif self.chance.random() < 0.5:
            self.call(session)
        else:
            self.end(session)

    def write(self, author: str) -> None:
        """Append a line to a file."""
        self.tree.write(**{self.chance.choice(FILES): author})

    def call(self, session: HookedSession) -> None:
        """Let an agent change a file and report the call."""
        author = f"{session.session}:{self.running[session]}"
        self.called.add(author)
        self.write(author)
        session.call()

    def end(self, session: HookedSession) -> None:
        """Let an agent answer, be interrupted, end with its process, or be killed."""
        way = self.chance.random()
        while self.chance.random() < 0.2:
            # The agent answers, and another program makes it go on.
            session.stop(f"{self.chance.random()}", stop_hook_active=True)
            self.call(session)
        del self.running[session]
        if way < 0.7:
            session.stop()
        elif way < 0.8:
            session.end()
        elif way < 0.9:
            with Workspace.open(self.tree.root) as workspace:
                now, place = workspace.now(), workspace.location
            at_work.begin(place, session.stream, "killed", now=now, worker=GONE)

    def numbers(self) -> dict[str, str]:
        """Return the iterations of turns, which start at the times of their prompts."""
        with Workspace.open(self.tree.root) as workspace:
            log = workspace.log
            prompts = {}
            for session, turns in self.asked.items():
                asked = [x for x in log.read_stream(session.stream) if x.type == PROMPTED]
                for turn, one in zip(turns, asked, strict=True):
                    name = session.stream.partition("/")[2]
                    prompts[name, parse(one.at)] = f"{session.session}:{turn}"
            (sprint,) = workspace.sprints()
            began = [
                (x.at, CODEC.decode(x)) for x in log.read_stream(sprint_stream(sprint))
            ]
        return {
            prompts[str(event.session), parse(at)]: str(event.number)
            for at, event in began
            if isinstance(event, f.IterationStarted)
        }

    def check(self) -> None:
        """Check that no line is attributed to anyone who cannot have written it."""
        self.tree.settles = True
        for session in self.sessions:
            session.ask()
            self.asked[session].append(0)
            session.stop()
        numbers = self.numbers()
        assert {*numbers} == self.called
        with Workspace.open(self.tree.root) as workspace:
            for name in FILES:
                file = self.tree.root / f"{name}.txt"
                lines = file.read_text().splitlines() if file.exists() else []
                for line, author in enumerate(lines, start=1):
                    found = why(workspace, workspace.choose(None), file, line)
                    by = found.written_by or found.known_by
                    is_named = numbers.get(author) in found.iterations or "-or-" in by
                    is_right = "outside" in by if author == PERSON else is_named
                    assert is_right, f"{name}:{line} of {author}: {by} {found.iterations}"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(int(os.environ.get("SEEDS", "8"))))
def test_no_line_has_a_wrong_author(tree: Tree, seed: int) -> None:
    """Whatever is interrupted or late, a line is never attributed to a wrong author."""
    tree.patch.setattr(settle, "REPORTED_MS", 0)
    work = Work(tree, seed)
    for _ in range(20):
        work.go_on()
    work.check()
