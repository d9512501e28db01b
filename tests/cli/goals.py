"""A goal, the script that plays its agent, and the loop that works on it."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sprintlog.engine.adapters.processes.loop_lock import is_held

AGENT = """\
import json, os, sys
prompt = sys.stdin.read()
number = int(os.environ["ITERATION_NUMBER"])
with open("said.txt", "a") as said:
    said.write(f"{number} {os.environ['ATTEMPT_NUMBER']} {os.environ.get('PHASE_ID')}\\n")
%s
result = {"status": "continue", "completed": [f"step-{number - 2}"], "summary": "x"}
if number == 1:
    result = {"status": "continue", "pending": ["one", "two"]}
if number == 3:
    result["status"] = "goal-complete"
usage = {"input_tokens": 10, "output_tokens": 1}
print(json.dumps({"type": "result", "result": json.dumps(result), "usage": usage,
                  "total_cost_usd": 0.1}))
"""
HANGS_ONCE = """\
if number == 2 and not os.path.exists("hung"):
    open("hung", "w").write(str(os.getpid()))
    import time; time.sleep(120)
"""
HOOK = "id=learning,workflow=house:learn"
Make = Callable[..., list[str]]


def start(command: list[str]) -> "subprocess.Popen[str]":
    """Start a loop in a separate process."""
    line = [sys.executable, "-m", "sprintlog.cli", *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True)


def wait_for_nobody(folder: Path) -> None:
    """Wait until a killed loop and all its children are gone."""
    while any(is_held(path) for path in folder.glob(".sprintlog/run-*.lock")):
        time.sleep(0.02)


def said(folder: Path) -> list[str]:
    """Return the prompts of the agent in each run: iteration, attempt, phase."""
    return (folder / "said.txt").read_text().splitlines()


def tasks(state: Any) -> list[tuple[int, str, str]]:
    """Return iteration, hook and status of every hook task."""
    return [(t["iteration"], t["hook-id"], t["status"]) for t in state()["hook-tasks"]]
