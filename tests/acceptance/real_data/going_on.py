"""A real sprint of another tool, continued at many points until its end."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from sprintlog.projections.state_files.yaml.reader import load

from ..commands import answers, run
from ..criterion import Skip, Verdict

SPRINT = "2026-01-18_ralph-mode-implementation"
EVERY = 5
AGENT = """\
import json, os, sys
sys.stdin.read()
phase = os.environ.get("PHASE_ID")
goal = {"status": "goal-complete", "pending": ["look again"], "summary": "all: 'done'"}
print("did " + phase if phase else json.dumps(goal))
"""


def to_the_end(data: Path, seed: int) -> Verdict:
    """From many versions on, `run` does exactly the remaining work; then it runs a goal."""
    files = sorted((data / "sprints" / SPRINT).glob("*.yaml"))
    if not files:
        raise Skip(f"there is no sprint {SPRINT} in {data}")
    taken = [*files[:-1:EVERY], files[-1]]
    problems: list[str] = []
    done = 0
    for file in taken:
        with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
            found, count = _brought_to_end(Path(name), file)
        done += count
        problems += [f"{file.name}: {problem}" for problem in found]
    return Verdict(not problems, f"{len(taken)} versions, {done} leaves done", problems)


def _brought_to_end(folder: Path, file: Path) -> tuple[list[str], int]:
    before = load(file.read_bytes())
    (folder / "agent.py").write_text(AGENT)
    run(folder, "init", "--here")
    run(folder, "import", "progress", "--sprint-dir", "sprint", file)
    if before["status"] == "completed":
        run(folder, "sprint", "reopen")
    loop = ["run", "--", sys.executable, "agent.py"]
    run(folder, *loop)
    after = load((folder / "sprint" / "PROGRESS.yaml").read_bytes())
    problems, count = [], 0
    for was, now in zip(_leaves(before), _leaves(after), strict=True):
        done = was.get("status") in ("completed", "skipped") or "status" not in was
        if done and was != now:
            problems.append(f"{was.get('id')} was done and is otherwise now")
        if not done and (now["status"], now["summary"][:4]) != ("completed", "did "):
            problems.append(f"{now.get('id')} is {now['status']}")
        count += not done
    imported = before["stats"]["current-iteration"]
    # A started leaf continues in the iteration in which it was started.
    begun = sum(leaf.get("status") == "in-progress" for leaf in _leaves(before))
    last = imported + count - begun
    if after["stats"]["current-iteration"] != last:
        problems.append(f"iteration {after['stats']['current-iteration']}, not {last}")
    run(folder, "sprint", "reopen")
    run(folder, "goal", "set", "Nothing is left: 'nothing'")
    run(folder, *loop)
    exit_ = load((folder / "sprint" / "PROGRESS.yaml").read_bytes())["ralph-exit"]
    if exit_["iteration"] != last + 1 or exit_["final-summary"] != "all: 'done'":
        problems.append(f"the goal was reached as {exit_}")
    if answers(folder, "status")[0]["status"] != "completed":
        problems.append("the sprint is not completed")
    run(folder, "verify")
    return problems, count


def _leaves(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the leaves in order."""
    children = [*(node.get("phases") or ()), *(node.get("steps") or ())]
    return [leaf for child in children for leaf in _leaves(child)] if children else [node]
