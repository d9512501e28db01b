"""A sprint of 30 phases driven by `run` with a scripted agent, with kills.

The actions of the agent and the gates depend on the stated attempt, so a kill between two
events is followed by the same actions.
"""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.state_files.yaml.writer import dump
from tests.acceptance.commands import clean_environment, run

COMMAND = [sys.executable, "-m", "sprintlog.cli"]
PHASES = 30
LIMITED, REFUSED, BROKEN, GATED = "p3", "p5", "p20", ("p6", "p12", "p25")
INJECTING = {"p8": ["--position", "after:p15"], "p10": ["--position", "end-of-workflow"]}
TIMES = {
    *("started-at", "completed-at", "elapsed", "last-activity", "injected-at"),
    *("added-at", "detected-at"),
}
RUN_SECONDS_MAX = 240
LIFE_SECONDS = (0.2, 1.5)

AGENT = f"""\
import os, subprocess, sys
prompt, phase = sys.stdin.read(), os.environ["PHASE_ID"]
if phase == {LIMITED!r} and os.environ["ATTEMPT_NUMBER"] == "1":
    sys.exit("timed out: too slow")
if phase == {REFUSED!r}:
    line = [*{COMMAND!r}, "log", "--type", "retry-scheduled", "--json"]
    waits = subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout.decode()
    # Whoever is killed in the wait finds it in the log, and is not refused again.
    if f'"{{phase}}"' not in waits:
        sys.exit("429: try again in 1s")
position = {INJECTING!r}.get(phase)
if position:
    line = [*{COMMAND!r}, "phase", "inject", "--id", "extra-" + phase, "--prompt", "More"]
    line += [*position, "--key", "inject-" + phase]
    subprocess.run(line, stdout=subprocess.DEVNULL, check=True)
print("did", phase, "as told:", prompt.splitlines()[0])
"""


class Life(NamedTuple):
    """How a sprint was brought to its end."""

    document: dict[str, Any]
    """PROGRESS.yaml at the end, without times."""
    kills: int
    seconds: float


def plan() -> dict[str, Any]:
    """Return a sprint with gates that recover, a failure that is retried, a breakpoint."""
    phases: list[dict[str, Any]] = []
    for number in range(PHASES):
        phase: dict[str, Any] = {"id": f"p{number}", "prompt": f"Do part {number}"}
        if phase["id"] == BROKEN:
            phase["break"] = True
        if phase["id"] in GATED:
            script = 'echo "attempt $ATTEMPT_NUMBER"; test "$ATTEMPT_NUMBER" -ge 2'
            phase["gate"] = {"script": script, "on-fail-prompt": "Repair it"}
        phases.append(phase)
    return {"retry": {"maxAttempts": 2, "backoffMs": [10]}, "phases": phases}


def prepare(folder: Path) -> None:
    """Create a folder with an agent and a sprint that has not started."""
    (folder / "agent.py").write_text(AGENT)
    (folder / "plan.yaml").write_text(dump(plan()))
    run(folder, "init", "--here")
    run(folder, "sprint", "create", "long", "--plan", "plan.yaml")


def bring_to_end(
    folder: Path, rng: random.Random, *, kills: int, options: Sequence[str] = ()
) -> Life:
    """Run the sprint, kill the loop a number of times, and continue until it is done."""
    began, killed = time.monotonic(), 0
    while True:
        loop = subprocess.Popen(
            [*COMMAND, "run", *options, "--", sys.executable, "agent.py"],
            cwd=folder,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        life = rng.uniform(*LIFE_SECONDS) if killed < kills else RUN_SECONDS_MAX
        try:
            said, _ = loop.communicate(timeout=life)
        except subprocess.TimeoutExpired:
            loop.send_signal(signal.SIGKILL)
            loop.communicate()
            assert killed < kills, "the loop hangs"
            killed += 1
            continue
        if loop.returncode == 0:
            break
        assert "paused-at-breakpoint" in said, (loop.returncode, said)
        run(folder, "sprint", "resume")
    run(folder, "verify")
    document = load((folder / "PROGRESS.yaml").read_bytes())
    return Life(without_times(document), killed, time.monotonic() - began)


def without_times(value: Any) -> Any:
    """Return a document without its times."""
    if isinstance(value, dict):
        return {key: without_times(x) for key, x in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value
