"""Loops and agents inside `wrap`: which measurements and rules count."""

import shlex
from collections.abc import Callable
from pathlib import Path

from .conftest import Events, Wrap
from .terminals import SPRINTLOG

BY_AGENT = {"name": "agent", "format": "agent"}
WORKS = ("sh", "-c", "cat >/dev/null; echo worked")


def origins(events: Events) -> list[bool]:
    """Return for each measurement whether an agent reported it."""
    told = events("iteration-measured")
    return [BY_AGENT in event["data"].get("origins", ()) for event in told]


def test_a_wrapped_loop_is_not_an_agent(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str]
) -> None:
    """`wrap -- sprintlog run` sets its rules, and its measurements count."""
    sprintlog("init")
    sprintlog("sprint", "create", "win", "--goal", "Win", "--max-iterations", "2")
    line = ("run", "--sprint", "win", "--rest", "0", "--measure", "echo 1/4", "--", *WORKS)
    wrap("--sprint", "win", "--", *SPRINTLOG, *line)
    (rules,) = events("rules-set")
    assert rules["actor"] == "runtime"
    assert origins(events) == [False]


def test_a_loop_in_a_wrapped_script_is_refused(
    wrap: Wrap, events: Events, tmp_path: Path
) -> None:
    """Inside a wrapped script, anybody may have started the measured loop."""
    (tmp_path / "task.md").write_text("work")
    line = ("run", "--prompt-file", "task.md", "--measure", "true", "--", *WORKS)
    done = wrap("--", "sh", "-c", f"{shlex.join([*SPRINTLOG, *line])}; exit $?")
    assert done.returncode == 1
    assert b"an agent cannot set the measure of a loop" in done.stderr
    assert events("rules-set") == []


def test_a_nested_wrap_measures_for_the_agent(wrap: Wrap, events: Events) -> None:
    """Only the outer `wrap` measures by rule; a nested measurement may be the agent's."""
    inner = (*SPRINTLOG, "wrap", "--measure", "echo 4/4", "--", "true")
    wrap("--measure", "echo 1/4", "--", "sh", "-c", f"{shlex.join(inner)}; exit 0")
    told = [event["data"]["metrics"] for event in events("iteration-measured")]
    assert [metrics["tests_passed"] for metrics in told] == [4, 1]
    assert origins(events) == [True, False]
