"""`sprintlog wait` and `wrap --wait`: a custom loop waits like `run`."""

import sys
import time
from pathlib import Path

import pytest

from ...conftest import Run
from ...goals import start
from .test_waits_of_run import PATIENCE_SECONDS, events

AT_A_LIMIT = """\
import sys, time
until = int(time.time()) + {seconds}
open("until", "w").write(str(until))
sys.exit(f"Claude AI usage limit reached|{{until}}")
"""
UNKNOWN_END = "import sys; sys.exit('API Error: Rate limit reached')"
NEEDS_MONEY = "print('Credit balance is too low')"


def wrap(script: str, *options: str) -> int:
    """Wrap a script of Python; return its exit status."""
    loop = start(["wrap", *options, "--", sys.executable, "-c", script])
    loop.communicate(timeout=PATIENCE_SECONDS)
    return int(loop.returncode)


@pytest.fixture(autouse=True)
def _log(done: Run) -> None:
    done("init")


@pytest.mark.parametrize(
    ("script", "code"),
    [("print('done')", 3), (NEEDS_MONEY, 1), ("import sys; sys.exit(1)", 3)],
)
def test_the_exit_status_states_what_is_needed(script: str, code: int, run: Run) -> None:
    """Without a limit, `wait` ends immediately with 3, or 1 if only a person can help."""
    wrap(script)
    result = run("wait")
    assert result.code == code, result.err
    limit = run("wait", "--json").json["limit"]
    assert limit == ("person" if code == 1 else "none")
    if code == 1:
        assert "Credit balance is too low" in result.out


def test_wait_ends_when_the_limit_has_expired(folder: Path, run: Run, done: Run) -> None:
    """It waits until the stated time, and a second call does not wait again."""
    assert wrap(AT_A_LIMIT.format(seconds=4)) == 1
    until = int((folder / "until").read_text())
    assert run("wait").code == 0
    assert time.time() >= until
    answer = run("wait", "--json")
    assert (answer.code, answer.json["limit"]) == (0, "expired")
    (wait,) = events(done, "retry-scheduled")
    assert (wait["data"]["waits_for"], wait["data"]["iteration"]) == ("usage-limit", 1)
    done("verify")


def test_wrap_waits_for_the_limit_of_its_command(folder: Path) -> None:
    """`wrap --wait` ends after the limit, with the exit status of the command."""
    assert wrap(AT_A_LIMIT.format(seconds=4), "--wait") == 1
    assert time.time() >= int((folder / "until").read_text())
    assert wrap("print('done')", "--wait") == 0


def test_waits_in_a_row_grow_without_a_known_end(done: Run) -> None:
    """A second run at a limit without a stated end waits twice as long."""
    for count in (1, 2):
        wrap(UNKNOWN_END)
        waiting = start(["wait"])
        end = time.monotonic() + PATIENCE_SECONDS
        while len(events(done, "retry-scheduled")) < count:
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(2)
        done("sprint", "resume")
        _, err = waiting.communicate(timeout=PATIENCE_SECONDS)
        assert waiting.returncode == 0, err
        assert err.count("run `sprintlog sprint resume` to continue at once") == 1
    assert [event["data"]["waits"] for event in events(done, "retry-scheduled")] == [1, 2]
    done("verify")


def test_wrap_keeps_the_exit_status_if_it_cannot_wait(done: Run) -> None:
    """An error that prevents `wrap --wait` from waiting is printed, and that is all."""
    for name in ("a", "b"):
        done("sprint", "create", name)
    loop = start(["wrap", "--wait", "--", sys.executable, "-c", "import sys; sys.exit(7)"])
    _, err = loop.communicate(timeout=PATIENCE_SECONDS)
    assert (loop.returncode, "not waiting" in err) == (7, True), err
