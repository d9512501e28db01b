"""`run` and an agent that hangs: after its complete result, or at its work."""

import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.items import AgentEnded, Called, Item, Returned, Said
from sprintlog.engine.adapters.processes.process import Marks
from sprintlog.engine.service.driver import pulse
from sprintlog.engine.service.driver.pulse import Pulse

from ...conftest import Run
from .test_waits_of_run import events

ITEMS: dict[str, Item] = {
    "said": Said("words"),
    "called": Called("c"),
    "returned": Returned("c"),
    "result": AgentEnded("done"),
    "fails": AgentEnded(failed=True),
}
Steps = dict[int, str]
"""What happens, by the second: a word of `ITEMS`, `prints`, `writes`, `forks`."""
LONG = 5_000


class Agent:
    """A program with a clock, observed as by the loop."""

    def __init__(self, steps: Steps, *, is_agent: bool, idle: float | None) -> None:
        self.now = 0.0
        self.marks: Marks | None = Marks(0, 0, frozenset())
        self.told: list[str] = []
        self.pulse = Pulse(
            is_agent=is_agent,
            idle=idle,
            tell=self.told.append,
            clock=lambda: self.now,
            look=lambda pid: self.marks,
        )
        self.ended = self._play(steps)

    def _play(self, steps: Steps) -> int | None:
        due = 0.0
        for self.now in range(LONG):
            step = steps.get(int(self.now))
            if step in ITEMS:
                self.pulse.take("claude", ITEMS[step])
            elif step == "unseen":
                self.marks = None
            elif step is not None and self.marks is not None:
                written, faults, below, _ = self.marks
                self.marks = Marks(
                    written + (step == "writes"), faults + (step == "forks"), below
                )
            has_printed = step in (*ITEMS, "prints")
            if has_printed or self.now >= due:
                if (pause := self.pulse.watch(1, has_printed)) <= 0:
                    return int(self.now)
                due = self.now + pause
        return None


@pytest.mark.parametrize(
    ("is_agent", "idle", "steps", "ended"),
    [
        (True, None, {1: "result"}, (11, "hung")),
        (True, None, {1: "result", 6: "writes"}, (16, "hung")),
        (True, None, {1: "result", 6: "prints"}, (16, "hung")),
        (True, None, {1: "result", 4: "forks"}, (601, "hung")),
        (True, None, {0: "unseen", 1: "result"}, (601, "hung")),
        (True, None, {1: "result", 5: "said"}, (605, "idle")),
        (True, None, {1: "fails"}, (601, "idle")),
        (True, None, {1: "said"}, (601, "idle")),
        (True, None, {1: "said", 2: "called"}, None),
        (True, None, {1: "called", 2: "returned"}, (602, "idle")),
        (True, None, {1: "prints"}, None),
        (True, 50, {1: "called"}, (51, "idle")),
        (True, 0, {1: "said"}, None),
        (False, None, {1: "result"}, None),
        (False, None, {1: "said"}, (601, "idle")),
        (False, 50, {1: "result"}, (51, "idle")),
        (False, 50, {}, (50, "idle")),
    ],
)
def test_what_ends_an_agent(
    is_agent: bool, idle: float | None, steps: Steps, ended: tuple[int, str] | None
) -> None:
    """Its own program hangs if it is idle after its result; others are only idle."""
    agent = Agent(steps, is_agent=is_agent, idle=idle)
    how = "hung" if agent.pulse.silent is None else "idle"
    assert (agent.ended and (agent.ended, how)) == ended
    is_left = "result" in steps.values() and agent.ended not in (11, 16)
    assert len(agent.told) == (is_left and "said" not in steps.values())


RESULT = '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
WORKS_ON = "time.sleep(1.5); open('worked', 'w').close()"


@pytest.fixture
def played(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that creates a program which continues after its result."""
    monkeypatch.setattr(pulse, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(pulse, "LOOK_SECONDS", 0.1)

    def make(name: str, then: str) -> Path:
        lines = [f"#!{sys.executable} -IS", "import os, time, subprocess"]
        lines += [f"print({RESULT!r}, flush=True)", then]
        program = folder / name
        program.write_text("\n".join(lines))
        program.chmod(0o755)
        done("init")
        done("sprint", "create", "g", "--goal", "x", "--max-iterations", "1")
        return program

    return make


@pytest.mark.parametrize(
    ("name", "then", "outcome"),
    [
        ("claude", "time.sleep(60)", "hung"),
        ("agent", WORKS_ON, "completed"),
        ("claude", "subprocess.run(['sh', '-c', 'sleep 1.5; >worked'])", "completed"),
    ],
)
def test_only_an_agent_that_rests_is_ended(
    folder: Path, run: Run, done: Run, played: Any, name: str, then: str, outcome: str
) -> None:
    """Its result counts; a program that works on after its agent's result may finish."""
    result = run("run", "--rest", "0", "--", played(name, then))
    assert result.code == 20, result.err
    (ran,) = events(done, "agent-ran")
    assert ran["data"]["status"] == "completed"
    (listed,) = done("list", "--json").json
    assert listed["outcome"] == outcome
    assert (folder / "worked").exists() == (outcome == "completed")
    assert ("still running" in result.err) == (outcome == "completed")
    assert len(events(done, "iteration-ended")) == 1


def test_idle_is_a_failure_that_states_how_long(run: Run, done: Run, played: Any) -> None:
    """`--idle-timeout` ends any command, and the iteration is tried again."""
    program = played("agent", "time.sleep(60)")
    result = run("run", "--no-wait", "--idle-timeout", "0.3", "--", program)
    assert result.code == 1
    (ran,) = events(done, "agent-ran")
    assert (ran["data"]["status"], ran["data"]["timed_out"]) == ("failed", True)
    (failed,) = events(done, "iteration-failed")
    assert failed["data"]["category"] == "timeout"
    assert "without output" in failed["data"]["error"]
