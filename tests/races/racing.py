"""A repository with three scripted agents, and races of them as separate processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..adapters.trees import git

AGENT = """\
import os, pathlib, sys, time
sys.stdin.read()
number, work = os.environ["SPRINTLOG_ATTEMPT"], pathlib.Path("work.txt")
with open(os.environ["LEDGER"], "a") as ledger:
    ledger.write(f"{number}\\n")
lines = work.read_text().splitlines() if work.exists() else []
time.sleep(float(os.environ.get("AGENT_SECONDS", "0.05")))
kind = os.environ.get(f"AGENT_{number}") or ["", "good", "worse", "cheat"][int(number)]
if kind == "hang":
    time.sleep(600)
if kind == "destroy":
    import shutil
    shutil.rmtree(pathlib.Path.cwd())
elif kind == "worse" and len(lines) >= 2:
    work.write_text("")
elif kind == "cheat":
    pathlib.Path("test.sh").write_text("echo 5/5\\n")
else:
    work.write_text("line\\n" * min(len(lines) + 1, 5))
print("worked on", len(lines))
"""
MEASURE = 'n=$(cat work.txt 2>/dev/null | wc -l); echo "$n/5"\n'
OPTIONS = ("--rest", "0", "--measure", "sh test.sh", "--until", "tests_failed=0")
COMMAND = (sys.executable, "agent.py")


class Scene:
    """A repository in which races run, with a separate state folder."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.main, self.state = folder / "main", folder / "state"
        self.ledger = folder / "ledger"
        self.environment = {
            **os.environ,
            "XDG_STATE_HOME": str(self.state),
            "LEDGER": str(self.ledger),
            **variables,
        }
        self.main.mkdir()
        git(self.main, "init", "-q")
        (self.main / "agent.py").write_text(AGENT)
        (self.main / "test.sh").write_text(MEASURE)
        self.commit("start")

    def commit(self, message: str) -> None:
        """Commit all files."""
        git(self.main, "add", "-A")
        git(self.main, "commit", "-qm", message)

    def start(self, *words: object, folder: Path | None = None) -> "subprocess.Popen[str]":
        """Start a command in the main tree, or in another folder."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "sprintlog.cli", *map(str, words)],
            cwd=folder or self.main,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: object, folder: Path | None = None) -> tuple[int, str, str]:
        """Return the exit status, the output and the errors of a command."""
        process = self.start(*words, folder=folder)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def race(self, *words: object) -> tuple[int, dict[str, Any], str]:
        """Run a race of three agents; return its status, its answer and its messages."""
        code, out, err = self.run(*race_words(*words), "--", *COMMAND)
        return code, json.loads(out) if out else {}, err

    def shown(self, *words: str, folder: Path | None = None) -> dict[str, Any]:
        """Return the answer of `race show`."""
        code, out, err = self.run("race", "show", *words, "--json", folder=folder)
        assert code == 0, err
        answer: dict[str, Any] = json.loads(out)
        return answer

    def calls(self) -> Counter[str]:
        """Return how often each attempt's agent was called."""
        return (
            Counter(self.ledger.read_text().split()) if self.ledger.exists() else Counter()
        )

    def worktrees(self) -> set[str]:
        """Return the linked worktrees that git knows, and the folders of attempts."""
        said = git(self.main, "worktree", "list", "--porcelain")
        known = [
            x.removeprefix("worktree ") for x in said.splitlines() if x[:9] == "worktree "
        ]
        made = [*self.state.glob("sprintlog/attempts/*/*/[0-9]*")]
        return {*known[1:], *(str(one) for one in made if one.is_dir())}

    def changed(self) -> str:
        """Return the status of the main tree."""
        return git(self.main, "status", "--porcelain")

    def processes(self) -> list[int]:
        """Return the processes that work in a worktree of an attempt."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                at = os.readlink(entry / "cwd") if entry.name.isdigit() else ""
            except OSError:
                continue
            if at.startswith(str(self.state)):
                found.append(int(entry.name))
        return found

    def await_silence(self, seconds: float = 20.0) -> None:
        """Wait until no process works in a worktree; fail after a time limit."""
        until = time.monotonic() + seconds
        while left := self.processes():
            assert time.monotonic() < until, left
            time.sleep(0.05)


def race_words(*words: object) -> list[object]:
    """Return the words that start a race of three agents with five iterations each."""
    return ["race", 3, "--json", "--max-iterations", 5, *OPTIONS, *words]


def kill_all(top: int) -> None:
    """Kill a process and all of its descendants."""
    for pid in [top, *below(top)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def below(top: int) -> Sequence[int]:
    """Return the descendants of a process."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, waiting = list[int](), [top]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found
