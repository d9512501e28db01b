"""A night of a loop: each run of its agent, and the loop's waits.

The script of the night is data. The agent plays it, and the record must equal it.
"""

import json
import os
from collections.abc import Iterator
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.processes.signals import Signals
from sprintlog.engine.service.driver import pulse, waits
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.runner import Runner
from sprintlog.projections.workspace import Workspace

from ...conftest import Run
from .test_waits_of_run import Clock, events

COST, TOKENS = 0.25, {"input_tokens": 90, "output_tokens": 10}


def result(text: str) -> str:
    """Return the shell command that prints the result of a successful run."""
    said = {"type": "result", "subtype": "success", "is_error": False, "result": text}
    told = json.dumps({**said, "total_cost_usd": COST, "usage": TOKENS})
    return f"cat <<'END'\n{told}\nEND\n"


def streamed(*content: dict[str, Any]) -> str:
    """Return the shell command that prints a message in the middle of the work."""
    message = {"type": "assistant", "session_id": "s", "message": {"content": [*content]}}
    return f"cat <<'END'\n{json.dumps(message)}\nEND\n"


QUOTES = """I read: "You've hit your session limit, resets 5am (UTC)", "529 overloaded".
The loop now waits for 429 and ECONNRESET."""
SAYS = streamed({"type": "text", "text": "I begin."})
CALLS = streamed({"type": "tool_use", "id": "c", "name": "Bash"})
HANGS = "exec sleep 100\n"
PLAYS = {
    "works": (result("done"), "completed"),
    "quotes limits": (result(QUOTES), "completed"),
    "quotes in words": ("cat <<'END'\n" + QUOTES + "\nEND\n", "completed"),
    "hangs after its result": (result("done") + HANGS, "hung"),
    "hangs at work": (SAYS + HANGS, "failed"),
    "fails": ("echo 'no compiler' >&2; exit 3\n", "failed"),
    "is killed": ("kill -KILL $$\n", "failed"),
    "ends early": (SAYS, "unknown"),
    "ends at a tool": (CALLS, "unknown"),
    "says nothing": (":\n", "unknown"),
    "is interrupted": ("kill -INT $$; sleep 1\n", "stopped"),
    "usage limit": (
        'echo "You\'ve hit your usage limit. Try again in 2 hours 13 minutes." >&2\n'
        "exit 1\n",
        "limit",
    ),
    "notice as the answer": (result("You've hit your session limit"), "limit"),
    "overload": ("echo 'API Error: 529 Overloaded' >&2; exit 1\n", "limit"),
    "network": ("echo 'connect ECONNREFUSED 10.0.0.1:443' >&2; exit 1\n", "limit"),
}
"""What the agent can do, as a shell script, and the outcome of that run."""
NIGHT: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = (
    (("works",), ()),
    (("quotes limits",), ()),
    (("fails", "works"), (10,)),
    (("usage limit", "works"), (7_980,)),
    (("hangs after its result",), ()),
    (("overload", "overload", "overload", "works"), (60, 120, 240)),
    (("ends early", "works"), (10,)),
    (("network", "quotes in words"), (60,)),
    (("fails", "is killed", "ends at a tool", "works"), (10, 60, 300)),
    (("notice as the answer", "quotes limits"), (60,)),
    (("hangs at work", "works"), (1,)),
    (("is interrupted", "works"), (10,)),
    (("quotes in words",), ()),
    (("usage limit", "fails", "works"), (7_980, 10)),
    (("fails", "usage limit", "fails", "works"), (10, 7_980, 60)),
    (("says nothing", "hangs after its result"), (10,)),
    (("overload", "network", "works"), (60, 120)),
    (("hangs at work", "overload", "works"), (1, 60)),
    (("works",), ()),
    (("is killed", "notice as the answer", "works"), (10, 60)),
)
"""For each iteration the plays of its runs, and for how many seconds the loop waits."""


class KilledError(BaseException):
    """The loop was killed while it waited."""


class Night(Clock):
    """A clock that moves only when the loop waits; now and then the loop is killed."""

    def __init__(self, *, killed_every: int) -> None:
        super().__init__([])
        self.ms = 1_800_000_000_000
        self._turns = count(1)
        self._killed_every = killed_every

    def sleep(self, seconds: float) -> None:
        """Advance the clock, unless the loop is killed."""
        if not seconds:
            return
        if next(self._turns) % self._killed_every == 0:
            raise KilledError
        self.slept.append(seconds)
        self.ms += int(1000 * seconds)


@pytest.fixture
def agent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Create an agent that plays the next line of `plays` each time; return its command."""
    monkeypatch.setattr(waits, "NAP_SECONDS", 1e9)
    monkeypatch.setattr(pulse, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(pulse, "LOOK_SECONDS", 0.1)
    for name, (script, _) in PLAYS.items():
        (folder / name.replace(" ", "-")).write_text(script)
    program = folder / "claude"
    lines = ("#!/bin/sh", "read -r play < plays; sed -i 1d plays", '. "./$play"')
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)
    return [str(program)]


def play(folder: Path, command: list[str], night: Night) -> Iterator[str]:
    """Run the loop, again after each kill; yield its output."""
    means = RunSettings(
        command, os.environ, 60, idle_seconds=0.5, sleep=night.sleep, rest_seconds=0
    )
    lines: list[str] = []
    while True:
        with Workspace.open(folder, clock=night) as workspace, Signals() as signals:
            driver = Driver(workspace, "night", means, signals, 2, lines.append)
            try:
                Runner(driver).run()
            except KilledError:
                continue
            finally:
                yield from lines
                lines.clear()
        return


@pytest.mark.parametrize("iterations", [20, pytest.param(100, marks=pytest.mark.long)])
def test_the_record_of_a_night_equals_its_script(
    folder: Path, done: Run, agent: list[str], iterations: int
) -> None:
    """Each run has its scripted outcome in its iteration, and each wait its length."""
    script = [*islice(cycle(NIGHT), iterations)]
    plays = [name for names, _ in script for name in names]
    (folder / "plays").write_text("".join(f"{x.replace(' ', '-')}\n" for x in plays))
    done("init")
    done("sprint", "create", "night", "--goal", "x", "--max-iterations", iterations)
    night = Night(killed_every=4)
    printed = [*play(folder, agent, night)]
    ran = [event["data"] for event in events(done, "agent-ran")]
    scripted = [
        [number, PLAYS[name][1]]
        for number, (names, _) in enumerate(script, 1)
        for name in names
    ]
    assert [[x["iteration"], outcome(x)] for x in ran] == scripted
    listed = done("list", "--json").json
    last = [PLAYS[names[-1]][1] for names, _ in script]
    assert [x["outcome"] for x in listed] == last
    assert night.slept == [seconds for _, found in script for seconds in found]
    ended = [x["data"]["number"] for x in events(done, "iteration-ended")]
    assert ended == [*range(1, iterations + 1)]
    assert not events(done, "sprint-blocked")
    spent = done("status", "--json").json["spent"]
    paid = sum("cost_usd" in x.get("usage", {}) for x in ran)
    assert (spent["runs"], spent["cost_usd"]) == (len(plays), COST * paid)
    assert any("failure 3 in a row, at most 3" in line for line in printed)
    assert done("verify").code == 0


def outcome(ran: dict[str, Any]) -> str:
    """Return the outcome that an event states, by its fields."""
    if "limit" in ran:
        return "limit"
    return "hung" if ran.get("is_hung") else str(ran["status"])
