"""Run the first loop of the README with a fake agent that ends it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Events

README = Path(__file__).resolve().parents[2] / "README.md"
AGENT = """#!/bin/sh
cat >/dev/null
n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
[ $n -lt 3 ] || touch DONE
result='{"type":"result","subtype":"success","is_error":false,"num_turns":2'
usage='"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5}}'
printf '%s,"result":"did %s","session_id":"s%s",%s\\n' "$result" $n $n "$usage"
"""

TESTS = """#!/bin/sh
[ "$(cat count)" = 2 ] && echo 9/10 || echo 4/10
"""
"""The second run is the best one."""


def loop() -> str:
    """Return the bash loop of the README."""
    text = README.read_text(encoding="utf-8")
    return "while" + text.partition("```sh\nwhile")[2].partition("```")[0]


@pytest.mark.parametrize("in_git", [True, False], ids=["git", "no git"])
def test_the_loop_is_recorded(
    tmp_path: Path,
    clean: dict[str, str],
    events: Events,
    sprintlog: Callable[..., str],
    in_git: bool,
) -> None:
    """Each run is an iteration with text, cost and files; a rollback restores one."""
    script = loop()
    assert script.count("\n") == 3
    if in_git:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    programs = tmp_path.parent / f"{tmp_path.name}-programs"
    programs.mkdir()
    agent = programs / "claude"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    (tmp_path / "PROMPT.md").write_text("Do the next task.\n")
    tests = tmp_path / "test.sh"
    tests.write_text(TESTS)
    tests.chmod(0o755)
    ours = Path(sys.executable).parent
    path = os.pathsep.join([str(programs), str(ours), clean["PATH"]])
    subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**clean, "PATH": path},
        check=True,
        capture_output=True,
    )
    ran = [e["data"] for e in events("agent-ran")]
    assert [one["usage"]["cost_usd"] for one in ran] == [0.25, 0.25, 0.25]
    assert [one["sessions"] for one in ran] == [["s1"], ["s2"], ["s3"]]
    ended = [e["data"] for e in events("iteration-ended")]
    assert [(e["number"], e["summary"]) for e in ended] == [
        (1, "did 1"),
        (2, "did 2"),
        (3, "did 3"),
    ]
    purposes = [e["data"].get("purpose", "iteration") for e in events("snapshot-taken")]
    assert sorted(purposes) == ["instruments", *["iteration"] * 3, "moment"] or (
        sorted(purposes) == ["instruments", *["iteration"] * (1 + 3)]
    )
    sprintlog("rollback", "best", "--yes")
    assert (tmp_path / "count").read_text() == "2\n"
    assert not (tmp_path / "DONE").exists()
    rows = json.loads(sprintlog("list", "--json"))
    assert [one.get("is_on_path", True) for one in rows] == [True, True, False]
    assert "9/10" in sprintlog("list")
    assert "did 3" in sprintlog("report")
    assert "3 runs" in sprintlog("status")
