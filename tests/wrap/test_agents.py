"""Loops and agents inside `wrap`: which measurements and rules count."""

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

from sprintlog.engine.sprint.state.words import missing_json

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


def test_the_option_for_output_with_tokens_is_named(
    wrap: Wrap, clean: dict[str, str], tmp_path: Path
) -> None:
    """If an agent prints plain text, `run` names the option, and `wrap` does so once."""
    agent = tmp_path / "claude"
    agent.write_text("#!/bin/sh\ncat >/dev/null; echo done | tee -a done\n")
    agent.chmod(0o755)
    hint = b"add `--output-format json` to the "
    line = ("--", str(agent), "-p")
    assert hint in wrap(*line).stderr
    assert hint not in wrap(*line).stderr
    command = [*SPRINTLOG, "run", "--budget-iterations", "1", *line]
    found = subprocess.run(
        command, cwd=tmp_path, env=clean, capture_output=True, check=False
    )
    assert hint in found.stderr
    assert missing_json([*line[1:], "--output-format=json"]) is None
    assert missing_json(["gemini", "-o", "stream-json", "-p", "Go on"]) is None
