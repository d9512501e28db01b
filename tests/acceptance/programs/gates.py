"""Hostile gates from the command line, with the time limits that users get."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from tests.adapters.remains import alive_with

from ..commands import answers, run
from ..criterion import Verdict

LIMIT, AFTER_LIMIT_MAX = 3, 5.0
GROWTH_MIB_MAX = 16.0
GB = 1_000_000_000
KILLS = 300
KILLED_WITHIN_SECONDS = 2.0


class Gate(NamedTuple):
    """A script and its expected result."""

    script: str
    exit_codes: tuple[int, ...]
    timed_out: bool = False
    leaves: bool = False
    output_bytes: int | None = None


ENDED = (143, 137)
GATES = {
    "fork": Gate("sleep 1000 & sleep 1000 & exit 0", (0,), leaves=True),
    "double fork": Gate("( ( sleep 1000 & ) & ); sleep 1000", ENDED, True),
    "setsid": Gate("setsid sleep 1000 & setsid -f sleep 1000", (0,), leaves=True),
    "ignores TERM": Gate(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &"
        " while :; do sleep 1; done",
        ENDED,
        True,
    ),
    "endless output": Gate("yes", ENDED, True),
    "no newline": Gate("tr '\\0' x < /dev/zero", ENDED, True),
    "invalid UTF-8": Gate("head -c 100000 /dev/urandom; exit 9", (9,), output_bytes=10**5),
    "reads stdin": Gate("cat; read line && exit 1; exit 5", (5,), output_bytes=0),
    "exit 124": Gate("exit 124", (124,)),
    "killed by a signal": Gate("kill -SEGV $$", (139,)),
    "closes its output and sleeps": Gate("exec >&- 2>&-; sleep 1000", ENDED, True),
    "1 GB of output": Gate(f"head -c {GB} /dev/zero; exit 4", (4,), output_bytes=GB),
}
LIMITS = {"1 GB of output": 120}


def hostile(data: Path, seed: int) -> Verdict:
    """Each hostile script gets the right verdict and leaves nothing behind."""
    problems: list[str] = []
    _, _, _, least = _play(Gate("exit 1", (1,)), LIMIT)
    most, slowest = 0.0, 0.0
    for name, gate in GATES.items():
        limit = LIMITS.get(name, LIMIT)
        answer, left, seconds, size = _play(gate, limit)
        most = max(most, size - least)
        if gate.timed_out:
            slowest = max(slowest, seconds - limit)
        problems += [f"{name}: {said}" for said in _wrong(gate, answer)]
        if left:
            problems.append(f"{name}: still running: {left}")
    if most > GROWTH_MIB_MAX:
        problems.append(f"memory grew by {most:.0f} MiB")
    if slowest > AFTER_LIMIT_MAX:
        problems.append(f"{slowest:.1f} s after the limit it was still at work")
    counts = (
        f"{len(GATES)} gates; all had ended {slowest:.1f} s after the limit at the latest;"
        f" memory grew by {most:.1f} MiB at most"
    )
    return Verdict(not problems, counts, problems)


def _wrong(gate: Gate, answer: dict[str, Any]) -> list[str]:
    wrong = []
    if answer["exit_code"] not in gate.exit_codes:
        wrong.append(f"exit code {answer['exit_code']}")
    if answer["timed_out"] != gate.timed_out:
        wrong.append(f"timed out: {answer['timed_out']}")
    if answer["status"] != ("passed" if gate.exit_codes == (0,) else "retrying"):
        wrong.append(f"status {answer['status']}")
    if (answer["left_behind"] > 0) != gate.leaves:
        wrong.append(f"still running: {answer['left_behind']}")
    if gate.output_bytes not in (None, answer["output_bytes"]):
        wrong.append(f"{answer['output_bytes']} bytes of output")
    if len(answer["output"]) > 50_000:
        wrong.append(f"{len(answer['output'])} characters kept")
    return wrong


def killed(data: Path, seed: int) -> Verdict:
    """Kill gate runs at any moment: the script ends too, and no attempt is counted."""
    chance, problems, lost, checks = random.Random(seed), [], 0, 0
    mark = f"sprintlog-accept-{uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        folder = Path(name)
        _begin(
            folder,
            {"script": "setsid sleep 1000 & sleep 0.1; exit 1", "max-retries": 10**6},
        )
        for _ in range(KILLS):
            playing = _start(folder, mark, 60)
            time.sleep(chance.uniform(0, KILLED_WITHIN_SECONDS))
            playing.kill()
            playing.communicate()
            until = time.monotonic() + AFTER_LIMIT_MAX
            while (left := alive_with(mark)) and time.monotonic() < until:
                time.sleep(0.02)
            if left:
                problems.append(f"still running: {left}")
        answer = json.loads(_start(folder, mark, 60).communicate()[0])
        types = [event["type"] for event in answers(folder, "log")]
        lost, checks = types.count("gate-interrupted"), types.count("gate-checked")
        if answer["attempt"] != checks or types.count("gate-started") != lost + checks:
            problems.append(
                f"attempt {answer['attempt']} with {checks} checks, {lost} lost"
            )
        if min(lost, checks) < KILLS // 20:
            problems.append(f"only {lost} runs were lost and {checks} ended")
        run(folder, "verify")
    counts = f"{KILLS} kills: {lost} runs lost without costing a retry, {checks} checks"
    return Verdict(not problems, counts, problems)


def _play(gate: Gate, limit: int) -> tuple[dict[str, Any], list[str], float, float]:
    """Run a gate; return its answer, its remains, its seconds and its MiB."""
    mark = f"sprintlog-accept-{uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        folder = Path(name)
        _begin(folder, {"script": gate.script})
        began = time.monotonic()
        playing = _start(folder, mark, limit)
        assert playing.stdout is not None
        answer = json.loads(playing.stdout.read())
        _, status, usage = os.wait4(playing.pid, 0)
        playing.returncode = os.waitstatus_to_exitcode(status)
        playing.stdout.close()
        seconds = time.monotonic() - began
        assert playing.returncode == (0 if answer["status"] == "passed" else 6)
        run(folder, "verify")
        return answer, alive_with(mark), seconds, usage.ru_maxrss / 1024


def _begin(folder: Path, gate: dict[str, Any]) -> None:
    """Create a sprint with a leaf in progress that has a gate."""
    plan = {"phases": [{"id": "a", "prompt": "x", "gate": gate}]}
    (folder / "plan.yaml").write_text(json.dumps(plan))
    run(folder, "init", "--here")
    run(folder, "sprint", "create", "s", "--plan", "plan.yaml")
    run(folder, "sprint", "start")
    run(folder, "phase", "start")


def _start(folder: Path, mark: str, limit: int) -> "subprocess.Popen[bytes]":
    """Start running the gate; all its processes have the mark in their environment."""
    command = [sys.executable, "-m", "sprintlog.cli", "gate", "run", "--json"]
    return subprocess.Popen(
        [*command, "--env", "MARK", "--timeout", str(limit)],
        cwd=folder,
        env={**os.environ, "MARK": mark},
        stdout=subprocess.PIPE,
    )
