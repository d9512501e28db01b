"""A work tree, and agents' sessions in it, whose hooks are recorded in this process."""

import json
import os
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.hooking import background, start, turns
from sprintlog.engine.adapters.processes.process import Process, process
from sprintlog.engine.service.agent_sessions import hook as hooking
from sprintlog.engine.service.agent_sessions.hook import Hooked, take_hook
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.history.why import WhyAnswer, why
from sprintlog.projections.workspace import Workspace

GONE = Process(2**22 + 1, "1", "")
"""A process that has ended."""
TICK_SECONDS = 0.025
"""Longer than the delay of file times: a change before it is earlier than a prompt."""


class Tree:
    """A work tree with a log, and what its hooks record there."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root, self.log = root, root / ".sprintlog"
        self.patch = patch
        self.settles = True
        """Whether hooks settle at once; otherwise `settle` does."""
        self.reported: int | None = None
        """The version of the event that the latest hook reported as the end of a turn."""
        self.answers: list[bytes] = []
        """What hooks printed for agents."""
        self.told: list[str] = []
        """The problems that settling reported."""
        patch.setattr(background, "settle_later", self._settle_later)
        patch.setattr(turns, "TRIES", 0)
        self.worker(process(os.getppid()))

    def worker(self, found: Process | None) -> None:
        """Set the process of the agents that run further hooks."""
        self.patch.setattr(hooking, "ancestor", lambda names: found)

    def _settle_later(
        self, stream: str, tell: Any, *, reported: int | None, answers: bool
    ) -> bytes:
        self.reported = reported
        if self.settles:
            answer = self.settle(stream)
            self.answers += [answer] if answers and answer else []
        return b""

    def settle(self, stream: str) -> bytes:
        """Settle a session as the process of the latest hook does."""
        is_end = self.reported is not None
        return turns.settle_turn(
            stream, ends=is_end, reported=self.reported, tell=self.told.append
        )

    def hook(self, agent: str, content: bytes) -> Hooked | None:
        """Record a hook's input, and settle the session if the hook would."""
        self.reported = None
        hooked = take_hook(
            agent,
            content,
            start=Path.cwd(),
            folder=None,
            safe=self.root / "none",
            environment=os.environ,
        )
        if hooked is not None and hooked.event is not None and hooked.settles:
            start._settle_later(agent, hooked)
        return hooked

    def write(self, **files: str) -> None:
        """Append a line to each of some text files."""
        for name, line in files.items():
            with (self.root / f"{name}.txt").open("a") as file:
                file.write(f"{line}\n")

    def why(self, name: str, line: int = 1) -> str:
        """Return who wrote a line of a text file, with the iterations."""
        with Workspace.open(Path.cwd()) as workspace:
            found: WhyAnswer = why(
                workspace, workspace.choose(None), Path.cwd() / f"{name}.txt", line
            )
        return " ".join([found.written_by or found.known_by, *found.iterations])

    def sprint(self) -> Sprint:
        """Return the only sprint."""
        with Workspace.open(self.root) as workspace:
            return workspace.sprint(workspace.choose(None))

    def events(self, *kinds: type[Any]) -> list[Any]:
        """Return the events of all sprints in the log, of some types."""
        with Workspace.open(self.root) as workspace:
            found = [
                CODEC.decode(one)
                for name in workspace.sprints()
                for one in workspace.log.read_stream(sprint_stream(name))
            ]
        return [event for event in found if not kinds or isinstance(event, kinds)]

    def iterations(self) -> list[str]:
        """Return the events of each iteration, in the order of the log."""
        return [
            f"{'+' if isinstance(one, f.IterationStarted) else '-'}{one.number}"
            for one in self.events(f.IterationStarted, f.IterationEnded)
        ]

    def runs(self) -> list[f.AgentRan]:
        """Return the recorded runs of agents."""
        found: list[f.AgentRan] = self.events(f.AgentRan)
        return found


class HookedSession:
    """A session of an agent, which reports what it does by hooks."""

    def __init__(self, tree: Tree, agent: str = "claude", session: str = "s-1") -> None:
        self.tree, self.agent, self.session = tree, agent, session
        self.turn, self.transcript = "", ""
        self._numbers = count(1)

    @property
    def stream(self) -> str:
        """Return the name of the session's stream."""
        return f"session/{self.agent}-{self.session}"

    def say(self, event: str, **fields: Any) -> Hooked | None:
        """Record a hook with the fields of an agent."""
        given = {"session_id": self.session, "hook_event_name": event, **fields}
        if self.transcript:
            given["transcript_path"] = self.transcript
        if self.agent == "codex":
            given |= {"model": "gpt", "turn_id": self.turn}
        elif self.agent == "claude":
            given |= {} if event == "SessionStart" else {"prompt_id": self.turn}
        else:
            given["timestamp"] = time.time_ns() // 1_000_000
        return self.tree.hook(self.agent, json.dumps(given).encode())

    def start(self, how: str = "startup") -> None:
        """Start or resume the session."""
        self.say("SessionStart", source=how)

    def ask(self, prompt: str = "do it") -> None:
        """Give the agent a prompt, later than all changes of files."""
        time.sleep(TICK_SECONDS)
        self.turn = f"{self.session}-{next(self._numbers)}"
        event = "BeforeAgent" if self.agent == "gemini" else "UserPromptSubmit"
        self.say(event, prompt=prompt)

    def call(self, **files: str) -> None:
        """Let the agent append lines to files by a tool."""
        self.tree.write(**files)
        event = "AfterTool" if self.agent == "gemini" else "PostToolUse"
        call, command = f"call-{next(self._numbers)}", {"command": "edit"}
        own = {"tool_name": "Bash", "tool_use_id": call, "tool_input": command}
        self.say(event, **own)

    def stop(self, text: str = "Done.", **fields: Any) -> None:
        """Let the agent answer."""
        name = "prompt_response" if self.agent == "gemini" else "last_assistant_message"
        event = "AfterAgent" if self.agent == "gemini" else "Stop"
        self.say(event, **{name: text, **fields})

    def end(self) -> None:
        """End the session."""
        self.say("SessionEnd", reason="other")

    def work(self, **files: str) -> None:
        """Let the agent take a turn in which it changes files."""
        self.ask()
        self.call(**files)
        self.stop()

    def settle(self) -> None:
        """Settle the session as the process of its latest hook does."""
        self.tree.settle(self.stream)
