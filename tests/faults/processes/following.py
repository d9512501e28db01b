"""Several processes follow a log while several append to it."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.workspace import Workspace

COMMAND = [sys.executable, "-m", "sprintlog.cli"]


class Followed(NamedTuple):
    """The events that the followers received."""

    events: int
    problems: list[str]
    cpu_seconds: float
    """Processor time of a follower that waited without new events."""


def follow_while_appended(
    folder: Path, *, followers: int, writers: int, events: int, seconds: float
) -> Followed:
    """Let writers append a number of events each; followers must receive all in order."""
    plan = {"phases": [{"id": "build", "prompt": "x"}]}
    with Workspace.init(folder, here=True) as workspace:
        for name in ("one", "two"):
            workspace.handle_with(
                name, lambda sprint, at: CreateSprint(plan=plan).decide(sprint, at)
            )
    total = 2 + writers * events
    seen = [folder / f"follower-{n}.jsonl" for n in range(followers)]
    following = [_follower(folder, path, total) for path in seen]
    appending = [
        _writer(folder, ("one", "two")[n % 2], f"{n}", events) for n in range(writers)
    ]
    end = time.monotonic() + seconds
    problems: list[str] = []
    for process in [*appending, *following]:
        try:
            if process.wait(timeout=max(0.1, end - time.monotonic())):
                problems.append(f"a process ended with {process.returncode}")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            problems.append("a process did not end")
    with Workspace.open(folder) as workspace:
        wanted = [(e.position, e.hash.hex()) for e in workspace.log.read()]
    if len(wanted) != total:
        problems.append(f"{len(wanted)} events are in the log, not {total}")
    for path in seen:
        lines = [json.loads(line) for line in path.read_text().split("\n") if line]
        if [(line["position"], line["hash"]) for line in lines] != wanted:
            problems.append(f"{path.name} has {len(lines)} lines that are not the log's")
    return Followed(total, problems, _idle(folder))


def _follower(folder: Path, path: Path, total: int) -> "subprocess.Popen[bytes]":
    options = ["log", "--follow", "--all", "--json", "--limit", str(total)]
    with path.open("wb") as file:
        return subprocess.Popen([*COMMAND, *options], cwd=folder, stdout=file)


def _writer(folder: Path, sprint: str, name: str, events: int) -> "subprocess.Popen[bytes]":
    lines = folder / f"writer-{name}.jsonl"
    told = [{"type": "note-added", "data": {"text": f"{name}-{n}"}} for n in range(events)]
    lines.write_text("".join(f"{json.dumps(line)}\n" for line in told))
    with lines.open("rb") as file:
        return subprocess.Popen(
            [*COMMAND, "append", "--sprint", sprint],
            cwd=folder,
            stdin=file,
            stdout=subprocess.DEVNULL,
        )


def _idle(folder: Path, seconds: float = 2.0) -> float:
    """Return the processor time of one second of waiting of a follower, in seconds."""
    script = (
        "import itertools, os, sys, time\n"
        "from pathlib import Path\n"
        "from sprintlog.engine.service.streams.history import PAUSE_SECONDS, follow\n"
        "from sprintlog.projections.workspace import Workspace\n"
        "until = [0.0, 0.0]\n"
        "def pause():\n"
        "    until[0] = until[0] or time.monotonic() + float(sys.argv[1])\n"
        "    until[1] = until[1] or time.process_time()\n"
        "    if time.monotonic() > until[0]:\n"
        "        print(time.process_time() - until[1])\n"
        "        sys.exit()\n"
        "    time.sleep(PAUSE_SECONDS)\n"
        "with Workspace.open(Path.cwd()) as workspace:\n"
        "    list(follow(workspace.log, after=0, pause=pause))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, str(seconds)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(told.stdout) / seconds
