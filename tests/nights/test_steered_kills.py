"""Notes to an agent whose loop and whose processes are killed at random points."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.engine.sprint.state.notes import AgentNote, deliver
from sprintlog.projections.workspace import Workspace

from ..cli.goals import wait_for_nobody

PLAN = """\
retry: {maxAttempts: 99, backoffMs: [1], retryOn: [network, validation, logic]}
phases:
""" + "".join(f"  - {{id: p{number}, prompt: Do it}}\n" for number in range(900))
AGENT = """\
import json, os, re, sys, time
own = os.getpid()
open("pid", "w").write(str(own))
prompt = sys.stdin.read()
open(f".reading.{own}", "w").write(prompt)
os.rename(f".reading.{own}", f"read.{time.time_ns()}")
time.sleep(own % 10 / 100)
named = re.findall(r"^(note-[0-9]+)", prompt, re.M) if own % 2 else []
status = "failed" if own % 7 == 0 else "completed"
print(json.dumps({"status": status, "error": "x", "acknowledged": named}))
"""
"""An agent that keeps each prompt that it has read, and fails or acknowledges sometimes."""
SENT = re.compile(r"^(note-\d+)( \(repeated\))?, from", re.MULTILINE)


class Told(NamedTuple):
    """The notes in the prompts that the agent has read, and the recorded notes."""

    plain: Counter[str]
    marked: Counter[str]
    notes: dict[str, AgentNote]
    kills: int


def loop(root: Path) -> "subprocess.Popen[bytes]":
    """Start a loop after the end of the last one and its agents."""
    wait_for_nobody(root)
    line = ("run", "--rest", "0", "--", sys.executable, "-S", "agent.py")
    command, out = [sys.executable, "-m", "sprintlog.cli", *line], subprocess.DEVNULL
    return subprocess.Popen(command, cwd=root, stdout=out, stderr=out)


def steered(root: Path, count: int, kills: int, *, seed: int) -> Told:
    """Send notes to a loop while it or its agent is killed; return the result."""
    chance, made, process, number = random.Random(seed), 0, loop(root), 0
    until = time.monotonic() + 10 + count
    with Workspace.open(root) as workspace:
        while number < count or is_due(workspace.sprint("night").knowledge.notes):
            assert time.monotonic() < until
            if process.poll() is not None:
                process = loop(root)
            if number < count:
                now, number = chance.random() < 0.1, number + 1
                note = AddNote(f"text {number}", to_agent=True, now=now)
                workspace.handle(note, sprint_id="night")
            time.sleep(chance.random() * 0.2)
            if chance.random() < (kills - made) / (count - number + 1):
                made += 1
                time.sleep(chance.random() * 0.5)
                with suppress(OSError, ValueError):
                    victim = int((root / "pid").read_text()) if made % 2 else process.pid
                    os.kill(victim, signal.SIGKILL)
        process.terminate()
        process.wait()
        wait_for_nobody(root)
        notes = workspace.sprint("night").knowledge.notes
    plain, marked = Counter[str](), Counter[str]()
    for prompt in root.glob("read.*"):
        for identity, mark in SENT.findall(prompt.read_text()):
            (marked if mark else plain)[identity] += 1
    return Told(plain, marked, notes, made)


def is_due(notes: dict[str, AgentNote]) -> bool:
    """Return whether a note will still be delivered or its delivery settled."""
    return bool(deliver(notes, "run/", may_repeat=True))


@pytest.mark.parametrize(
    ("count", "kills"), [(6, 3), pytest.param(200, 120, marks=pytest.mark.long)]
)
def test_no_note_is_lost_or_repeated_silently(
    count: int, kills: int, tmp_path: Path
) -> None:
    """Each note is delivered once, listed as undelivered, or repeated once with a mark."""
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "agent.py").write_text(AGENT)
    for line in ("init --here", "sprint create night --plan plan.yaml"):
        command = [sys.executable, "-m", "sprintlog.cli", *line.split()]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    seed = random.randrange(10**6)
    found = steered(tmp_path, count, kills, seed=seed)
    states = Counter(note.state for note in found.notes.values())
    read = {*found.plain, *found.marked}
    told = f"seed {seed}: {found.kills} kills, {dict(states)}, {len(read)} notes read, "
    told += f"{sum(found.plain.values())} plain, {sum(found.marked.values())} repeated"
    assert len(found.notes) == count, told
    assert max(found.plain.values(), default=0) <= 1, told
    assert max(found.marked.values(), default=0) <= 1, told
    for identity, note in found.notes.items():
        if identity not in read:
            assert note.state in ("undelivered", "unknown"), (identity, note, told)
        if note.state == "undelivered":
            assert identity not in read, (identity, told)
    assert read, told
