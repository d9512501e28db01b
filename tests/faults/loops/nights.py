"""Nights of a loop that judges its iterations, with kills: for a goal and for a plan.

The agent's actions follow from the number of the iteration and from the log, so a kill
between two events is followed by the same actions. The agent counts its calls outside the
work tree, so that no rollback reverses them.
"""

import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.workspace import Workspace
from tests.acceptance.commands import answers, clean_environment, run
from tests.cli.goals import wait_for_nobody
from tests.cli.record.loops.judged_loops import MEASURE

from .looping import TIMES

ROOT = Path(__file__).resolve().parents[3]
GOAL, PLAN = "goal", "plan"
NIGHTS = (GOAL, PLAN)
LIMITED, TESTS = 5, {1: 4, 3: 6, 4: 1, 5: 8, 6: 9, 7: 10, 8: 11}
"""How many tests there are after an iteration; after the second none can be run."""
BUDGET, RAISED = "0.75", "9"
"""The first is spent after three iterations."""
UNKNOWN = ("duration_ms", "runs_cut_short")
"""The usage of an agent that was killed with its loop is unknown."""
REPEATED = ("gate-started", "gate-interrupted", "heartbeat-recorded")
"""Types of events that are recorded again after a kill."""
BEFORE = {"sprint-compiled", "budgets-set"}
"""Types of events that are recorded before the night."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z")
RUN_SECONDS_MAX = 1_200
LIFE_SECONDS = (0.15, 1.6)
APPENDS_AHEAD = 5
OPTIONS = (
    *("--measure", "sh measure.sh", "--report", "junit.xml", "--snapshot"),
    *("--on-regression", "rollback", "--select", "--rest", "0"),
)
PLAN_TEXT = """\
retry: {maxAttempts: 2, backoffMs: [1]}
phases:
  - {id: a, prompt: Do a}
  - {id: b, prompt: Do b, gate: {script: test -e repaired, on-fail-prompt: Repair it}}
  - {id: c, prompt: Do c}
  - {id: d, prompt: Do d}
"""
AGENT = f"""\
n=$ITERATION_NUMBER
echo "$n" >> ../calls
cat > prompt.txt
if test "$n" = {LIMITED} && ! '{sys.executable}' -m sprintlog.cli log \\
    --type retry-scheduled --json | grep -q retry-scheduled
then echo "429: try again in 1s" >&2; exit 1; fi
case "$n" in
2) touch broken ;;
{"".join(f"{n}) echo {count} > tests ;;{chr(10)}" for n, count in TESTS.items())}esac
grep -q 'Repair it' prompt.txt && touch repaired
rm prompt.txt
echo "work of $n" > work
cat ../says/$n
"""


class Killed(NamedTuple):
    """One kill."""

    step: str
    """The last output or event before the kill."""
    cut: int
    """How many runs of the agent were lost by it."""


class Night(NamedTuple):
    """How a night ended."""

    outcome: dict[str, Any]
    kills: list[Killed]
    calls: int
    """Runs of the agent as it counted them itself."""
    ran: int
    """Those that are recorded."""
    said: str


def said_in(kind: str, number: int) -> dict[str, Any]:
    """Return the agent's answer in an iteration."""
    text: dict[str, Any] = {"status": "completed", "summary": f"did {number}"}
    if kind == GOAL:
        text["status"] = "goal-complete" if number == 6 else "continue"
        text["pending"] = [f"step {number}"]
    if number in (1, LIMITED):
        text["operatorRequests"] = [{"title": f"Odd {number}", "priority": "low"}]
        text["operatorRequests"][0]["type"] = "bug"
        text["proposedSteps"] = [f"Test {number}"]
        text["learnings"] = [f"use make {number}"]
    return text


def prepare(folder: Path, kind: str) -> Path:
    """Create a sprint that has not started, and all files of its night; return its tree."""
    tree, says = folder / "tree", folder / "says"
    tree.mkdir(parents=True)
    says.mkdir()
    for number in range(1, 13):
        answer = {
            "type": "result",
            "result": json.dumps(said_in(kind, number)),
            "usage": {"input_tokens": number, "output_tokens": 2 * number},
            "total_cost_usd": 0.25,
            "num_turns": 3,
        }
        (says / str(number)).write_text(json.dumps(answer) + "\n")
    (tree / "agent.sh").write_text(AGENT)
    (tree / "measure.sh").write_text(MEASURE)
    (tree / "tests").write_text("3\n")
    run(tree, "init", "--here")
    run(tree, "journal", "open")
    if kind == PLAN:
        (tree / "plan.yaml").write_text(PLAN_TEXT)
        run(tree, "sprint", "create", "one", "--plan", "plan.yaml")
    else:
        run(tree, "sprint", "create", "one", "--goal", "Win", "--max-iterations", "12")
    run(tree, "iteration", "rules", "set", "--budget-cost", BUDGET)
    return tree


def bring_to_end(
    tree: Path, rng: random.Random, *, kills: int, places: tuple[str, ...] = ()
) -> Night:
    """Continue until the sprint is done; kill the loop a number of times first.

    The kills come first right after the first event of each type of `places`, then at any
    moment and around any append.
    """
    found: list[Killed] = []
    wanted, lost, raised = {*places}, 0, False
    while True:
        place = ",".join(sorted(wanted))
        how, seconds = "", float(RUN_SECONDS_MAX)
        if place or len(found) < kills:
            how, seconds = _aim(rng, place)
        code, said = _live(tree, how, seconds)
        if code == -9:
            wait_for_nobody(tree)
            calls, ran = _calls(tree), _ran(tree)
            found.append(Killed(_step(tree, how, said), calls - ran - lost))
            lost = calls - ran
            wanted -= {*_types(tree)}
        elif code == 25 and not raised:
            # A loop killed at this point raises the budget again, which costs nothing.
            run(tree, "iteration", "rules", "set", "--budget-cost", RAISED)
            raised = True
        elif code == 0:
            assert not wanted, f"a night without {place}"
            break
        else:
            raise AssertionError((code, said))
    run(tree, "verify")
    return Night(outcome(tree), found, _calls(tree), _ran(tree), said)


def _aim(rng: random.Random, place: str) -> tuple[str, float]:
    """Return around which append a life ends, or after how many seconds."""
    if place:
        return f"{place} after", RUN_SECONDS_MAX
    if rng.random() < 0.5:
        return "", rng.uniform(*LIFE_SECONDS)
    when = rng.choice(("before", "after"))
    return f"{rng.randint(2, APPENDS_AHEAD)} {when}", RUN_SECONDS_MAX


def _live(tree: Path, how: str, seconds: float) -> tuple[int, str]:
    """Run the loop until it ends or is killed; return its exit status and its output."""
    module = ["tests.cli.dying", *how.split()] if how else ["sprintlog.cli"]
    command = ["run", *OPTIONS, "--", "sh", "agent.sh"]
    with (tree.parent / "said").open("w+") as said:
        loop = subprocess.Popen(
            [sys.executable, "-m", *module, *command],
            cwd=tree,
            env={**clean_environment(), "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            code = loop.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            loop.kill()
            code = loop.wait()
            said.seek(0)
            assert seconds < RUN_SECONDS_MAX, f"the loop hangs: {said.read()[-2_000:]}"
        said.seek(0)
        return code, said.read()


def _step(tree: Path, how: str, said: str) -> str:
    """Return in which step of the loop it was killed."""
    if how:
        return f"{how.split()[1]} an append, {_types(tree)[-1]} is the last"
    lines = [line for line in said.splitlines() if line[:1].isalpha()]
    return f"while: {lines[-1].split()[0]}" if lines else "while: begin"


def _calls(tree: Path) -> int:
    path = tree.parent / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def _ran(tree: Path) -> int:
    return _types(tree).count("agent-ran")


def _types(tree: Path) -> list[str]:
    with Workspace.open(tree) as workspace:
        return [event.type for event in workspace.events("one")]


def outcome(tree: Path) -> dict[str, Any]:
    """Return all that a night leads to, without ids and times."""
    with Workspace.open(tree) as workspace:
        sprint = workspace.sprint("one")
        knowledge = sprint.knowledge
        tracker = knowledge.tracker
        found = {
            "document": _timeless(load((tree / "PROGRESS.yaml").read_bytes())),
            "measured": [str(structs.replace(one, version=0)) for one in tracker.measured],
            "best": tracker.best and (tracker.best.number, tracker.best.score),
            "selected": tracker.selected and tracker.selected.number,
            "back": [number for _, number in knowledge.gone_back],
            "iterations": [number for number, _ in knowledge.iterations],
            "queue": [(q["id"], q["title"], q["status"]) for q in sprint.queue],
            "learned": [one.content for one in workspace.document().learnings],
            "types": Counter(
                event.type
                for event in workspace.events("one")
                if not event.type.startswith("run-") and event.type not in REPEATED
                # A repeated attempt saves its initial files again.
                if b'"purpose":"moment"' not in (event.payload or b"")
            ),
        }
    [found["tracker"]] = map(_timeless, answers(tree, "show", "best"))
    [status] = answers(tree, "status")
    spent = status["spent"]
    found["spent"] = {k: v for k, v in spent.items() if k not in UNKNOWN}
    found["files"] = {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file() and ".sprintlog" not in path.parts
        if path.suffix not in (".yaml", ".json") or "plan.yaml" in path.name
    }
    found["trackers"] = {
        path.relative_to(tree).as_posix(): _timeless(json.loads(path.read_bytes()))
        for path in sorted(tree.rglob("*.json"))
        if ".sprintlog" not in path.parts
    }
    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        gone = {*TIMES, *UNKNOWN, "created-at", "created_at", "timestamp"}
        return {k: _timeless(v) for k, v in value.items() if k not in gone}
    if isinstance(value, list):
        return [_timeless(one) for one in value]
    if isinstance(value, str):
        return TIME.sub("a time", value)
    return value


def unlike(calm: Night, night: Night) -> list[str]:
    """Return the differences of a disturbed night to a calm one."""
    found = [
        f"{key}: {night.outcome[key]} is not {calm.outcome[key]}"
        for key in calm.outcome
        if night.outcome[key] != calm.outcome[key]
    ]
    if night.ran != calm.ran:
        found.append(f"{night.ran} runs of the agent are recorded, not {calm.ran}")
    found += [f"killed {k.step}: {k.cut} runs lost" for k in night.kills if k.cut > 1]
    if night.calls != night.ran + sum(kill.cut for kill in night.kills):
        found.append(f"{night.calls} calls, {night.ran} of them recorded: paid twice")
    return found
