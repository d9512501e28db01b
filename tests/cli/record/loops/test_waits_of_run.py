"""`run` and limits: it waits for temporary ones, and wakes up for all other events."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.processes.signals import Signals
from sprintlog.engine.service.driver import waits
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.runner import Runner
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.projections.workspace import Workspace

from ...conftest import Run
from ...goals import Make, start
from ...goals import said as said_to

RESETS = """\
import time
if len(open("said.txt").readlines()) == {turn}:
    until = int(time.time()) + {seconds}
    open("until", "w").write(str(until))
    sys.exit(f"Claude AI usage limit reached|{{until}}")
if os.path.exists("until") and not os.path.exists("asked"):
    open("asked", "w").write(str(time.time()))
"""
PATIENCE_SECONDS = 60


def events(done: Run, *types: str) -> list[Any]:
    """Return the events of these types."""
    found = done("log", "--json").lines
    return [event for event in found if event["type"] in types]


def until_recorded(done: Run, what: str = "retry-scheduled") -> None:
    """Wait until an event of a type is recorded."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not events(done, what):
        assert time.monotonic() < end, what
        time.sleep(0.05)


def test_a_plan_goes_on_when_the_limit_ends(
    folder: Path, run: Run, agent: Any, done: Run, state: Any
) -> None:
    """The same iteration continues after the stated time, and nothing has failed."""
    result = run(*agent(RESETS.format(turn=2, seconds=2)))
    assert result.code == 0, result.err
    until = int((folder / "until").read_text())
    assert float((folder / "asked").read_text()) >= until
    (wait,) = events(done, "retry-scheduled")
    data = wait["data"]
    assert data["next_retry_at"] == f"{datetime.fromtimestamp(until, UTC):%FT%TZ}"
    assert (data["waits_for"], data["said_by"]) == ("usage-limit", f"|{until}")
    assert (data["phase"], data["waits"]) == ("build/login/implement", 1)
    assert "usage limit reached" in data["why"]
    assert not events(done, "phase-failed", "phase-retried", "sprint-blocked")
    assert [x["data"]["number"] for x in events(done, "iteration-started")] == [1, 2, 3, 4]
    ran = [x["data"].get("limit") for x in events(done, "agent-ran")]
    assert [limit and limit["waits_for"] for limit in ran[:3]] == [
        None,
        "usage-limit",
        None,
    ]
    node = state()["phases"][1]["steps"][0]["phases"][0]
    assert (node["status"], "next-retry-at" in node) == ("completed", False)
    assert result.err.count("wait   build/login/implement until") == 1
    assert "build/login/implement (again, after the wait)" in result.err
    done("verify")


@pytest.mark.long
def test_a_goal_goes_on_when_the_limit_ends(
    folder: Path, run: Run, goal_agent: Make, done: Run
) -> None:
    """The iteration towards the goal has its number and its attempt still."""
    assert run(*goal_agent(RESETS.format(turn=2, seconds=2))).code == 0
    assert float((folder / "asked").read_text()) >= int((folder / "until").read_text())
    assert said_to(folder) == ["1 1 None", "2 1 None", "2 1 None", "3 1 None"]
    (wait,) = events(done, "retry-scheduled")
    assert (wait["data"]["phase"], wait["data"]["iteration"]) == ("", 2)
    assert not events(done, "iteration-failed")
    done("verify")


@pytest.mark.long
def test_a_repair_waits_and_is_made_again(
    run: Run, agent: Any, done: Run, state: Any
) -> None:
    """A gate does not check work again if a limit prevented its repair."""
    trait = RESETS.format(turn=4, seconds=1)
    result = run(*agent(trait.replace("sys.exit", "os.remove('repaired'); sys.exit")))
    assert result.code == 0, result.err
    (wait,) = events(done, "retry-scheduled")
    assert wait["data"]["phase"] == "build"
    assert state()["phases"][1]["gate-tracking"]["attempts"] == 2
    assert [x["data"].get("is_repair") for x in events(done, "agent-ran")].count(True) == 2


def test_it_is_said_until_when_and_for_what(run: Run, agent: Any, done: Run) -> None:
    """`run --no-wait`, `next` and `status` state the end, the kind and the reason."""
    command = agent(RESETS.format(turn=1, seconds=3600))
    result = run("run", "--no-wait", "--json", *command[1:])
    answer = result.json
    assert (answer["do"], answer["waits_for"]) == ("wait", "usage-limit")
    assert answer["said_by"].startswith("|")
    assert done("next", "--json").json == answer
    stopped = done("status", "--json").json["stopped"]
    assert (stopped["until"], stopped["waits_for"]) == (answer["until"], "usage-limit")
    said = " ".join(done("status").out.split())
    assert f"waits until {answer['until']} for the usage limit" in said
    done("sprint", "pause")
    done("sprint", "resume", "--by", "ana", "--why", "more was paid for")
    assert done("next", "--json").json["do"] == "work"
    assert answer["until"] not in done("status").out


def test_a_loop_of_ones_own_waits_by_commands(agent: Any, done: Run, run: Run) -> None:
    """`phase fail --until` records the wait that `next` returns until its time."""
    agent()
    done("sprint", "start")
    done("phase", "start")
    line = ["phase", "fail", "--error", "limit", "--until", "2099-01-01T05:00:00Z"]
    assert "not logic" in run(*line).err
    done(*line, "--category", "rate-limit", "--key", "k")
    done(*line, "--category", "rate-limit", "--key", "k")
    assert len(events(done, "retry-scheduled")) == 1
    answer = done("next", "--json").json
    assert (answer["do"], answer["until"]) == ("wait", "2099-01-01T05:00:00Z")
    refused = run(
        "phase", "fail", "--error", "x", "--until", "5am", "--category", "network"
    )
    assert (refused.code, "is not a time" in refused.err) == (1, True)


def test_an_iteration_of_ones_own_waits_by_commands(goal_agent: Make, done: Run) -> None:
    """`iteration fail --until` does so for the goal."""
    goal_agent()
    done("sprint", "start")
    done("iteration", "start")
    until = ["--until", "2099-01-01T05:00:00+02:00", "--category", "network"]
    done("iteration", "fail", "--error", "no route", *until)
    answer = done("next", "--json").json
    assert (answer["do"], answer["iteration"]) == ("wait", 1)
    assert (answer["until"], answer["waits_for"]) == ("2099-01-01T03:00:00Z", "network")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["sprint", "pause"], 22, "paused"),
        (["rollback", "start"], 1, None),
        (["phase", "skip", "setup"], None, None),
    ],
)
def test_what_others_record_is_noticed_soon(
    agent: Any, done: Run, command: list[str], code: int | None, said: str | None
) -> None:
    """A pause ends a long wait; a rollback or a skip continues it with the next work."""
    line = agent(RESETS.format(turn=1, seconds=3600))
    loop = start(line)
    until_recorded(done)
    done(*command)
    out, err = loop.communicate(timeout=PATIENCE_SECONDS)
    if code == 22:
        assert (loop.returncode, "paused" in out) == (22, True), err
    else:
        assert loop.returncode in (0, code), (out, err)


def test_a_person_continues_a_waiting_run_at_once(agent: Any, done: Run) -> None:
    """A run that waits prints once how to continue earlier, and `sprint resume` does it."""
    line = agent(RESETS.format(turn=1, seconds=3600))
    loop, err = start(line), ""
    assert loop.stderr is not None
    while "to continue at once" not in err and (more := loop.stderr.readline()):
        err += more
    done("sprint", "resume")
    err += loop.communicate(timeout=PATIENCE_SECONDS)[1]
    assert loop.returncode == 0, err
    assert err.count("run `sprintlog sprint resume` to continue at once") == 1
    done("verify")


def test_a_signal_ends_a_wait_at_once(agent: Any, done: Run, run: Run) -> None:
    """The wait still applies when the loop continues, until the same time."""
    line = agent(RESETS.format(turn=1, seconds=3600))
    loop = start(line)
    until_recorded(done)
    loop.send_signal(signal.SIGTERM)
    loop.communicate(timeout=PATIENCE_SECONDS)
    assert loop.returncode == 128 + signal.SIGTERM
    (wait,) = events(done, "retry-scheduled")
    assert len(events(done, "sprint-interrupted")) == 1
    again = run("run", "--no-wait", "--json", *line[1:])
    assert again.json["until"] == wait["data"]["next_retry_at"]
    assert len(events(done, "agent-ran")) == 1


@pytest.mark.long
def test_a_killed_loop_waits_on(folder: Path, agent: Any, done: Run, run: Run) -> None:
    """Killed in the wait and started again, it waits for the rest of the same time."""
    line = agent(RESETS.format(turn=1, seconds=6))
    loop = start(line)
    until_recorded(done)
    loop.kill()
    loop.communicate(timeout=PATIENCE_SECONDS)
    assert run(*line).code == 0
    assert len(events(done, "retry-scheduled")) == 1
    assert float((folder / "asked").read_text()) >= int((folder / "until").read_text())
    assert len(events(done, "iteration-started")) == 4
    done("verify")


@pytest.mark.long
def test_a_long_wait_beats_seldom(
    run: Run, agent: Any, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heartbeat is recorded from time to time, so that the sprint is not stale."""
    assert 5 * 60 <= waits.BEAT_SECONDS < 15 * 60
    monkeypatch.setattr(waits, "BEAT_SECONDS", 1)
    monkeypatch.setattr(waits, "NAP_SECONDS", 0.1)
    result = run(*agent(RESETS.format(turn=1, seconds=4)))
    assert result.code == 0
    assert 1 <= len(events(done, "activity-seen")) <= 5
    assert result.err.count("wait   setup until") == 1


class Clock:
    """A wall clock that advances when a process sleeps."""

    def __init__(self, jumps: list[float]) -> None:
        self.ms = int(time.time() * 1000)
        self.jumps = jumps
        """The number of seconds by which the clock advances in each sleep."""
        self.slept: list[float] = []

    def __call__(self) -> int:
        """Return its screen."""
        return self.ms

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        assert self.jumps, "it sleeps longer than the test foresees"
        self.slept.append(seconds)
        self.ms += int(1000 * self.jumps.pop(0))


def run_by(clock: Clock, folder: Path, show: list[Any] | None = None) -> str:
    """Run the sprint with another clock; return the reason for its end."""
    shown: Callable[[Action | None, float], None] | None = None
    if show is not None:
        shown = lambda action, left: show.append((action, left))  # noqa: E731
    means = RunSettings(
        [sys.executable, "agent.py"], os.environ, 60, sleep=clock.sleep, show=shown
    )
    with Workspace.open(folder, clock=clock) as workspace, Signals() as signals:
        driver = Driver(
            workspace, "auth", means=means, signals=signals, lock=2, tell=lambda _: None
        )
        return Runner(driver).run().do


def test_a_laptop_that_was_suspended_goes_on_at_once(folder: Path, agent: Any) -> None:
    """Time during a suspension counts: the clock is read again after each sleep."""
    agent(RESETS.format(turn=1, seconds=8 * 3600))
    clock = Clock([3600, 8 * 3600])
    assert run_by(clock, folder) == "done"
    assert clock.slept == [waits.NAP_SECONDS, waits.NAP_SECONDS]


def test_a_clock_that_is_set_back_does_not_prolong_the_wait(
    folder: Path, agent: Any, done: Run
) -> None:
    """If the clock is set back before the start, the agent runs without delay."""
    agent(RESETS.format(turn=1, seconds=600))
    clock = Clock([-24 * 3600])
    assert run_by(clock, folder) == "done"
    assert len(clock.slept) == 1
    assert len(events(done, "retry-scheduled")) == 1


def test_what_is_shown_is_taken_away(folder: Path, agent: Any) -> None:
    """The remaining time is shown before each sleep, and then cleared."""
    agent(RESETS.format(turn=1, seconds=600))
    shown: list[Any] = []
    assert run_by(Clock([400, 400]), folder, shown) == "done"
    assert [action and action.do for action, _ in shown] == ["wait", None] * 2
    assert shown[0][1] > shown[2][1] > 0


@pytest.mark.long
def test_a_line_counts_down_on_a_terminal(folder: Path, agent: Any, done: Run) -> None:
    """One line, cleared later, shows the end, the kind and the remaining time."""
    line = agent(RESETS.format(turn=1, seconds=3))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "sprintlog.cli", *line]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment):
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:
            # The other end is closed, which a terminal reports in this way.
            pass
    os.close(ours)
    text = said.decode()
    assert "for the usage limit: 0:00:0" in text
    counted = text.count("left")
    assert counted >= 2
    assert text.count("left\r\x1b[K") == counted


def test_wrap_records_the_limit_as_such(folder: Path, done: Run) -> None:
    """An external loop gets no message, but the log records the limit."""
    done("init")
    agent = "import sys; sys.exit('You\\'ve hit your limit · resets 5am (UTC)')"
    wrapped = start(["wrap", "--", sys.executable, "-c", agent])
    wrapped.communicate(timeout=PATIENCE_SECONDS)
    assert wrapped.returncode == 1
    (ran,) = events(done, "agent-ran")
    assert (ran["data"]["status"], ran["data"]["error_kind"]) == ("failed", "rate-limit")
    limit = ran["data"]["limit"]
    assert (limit["waits_for"], limit["until"][10:]) == ("usage-limit", "T05:00:00Z")
    assert not events(done, "retry-scheduled")
