"""A goal reached in 40 iterations by `run` with a scripted agent, with kills.

The agent's answers depend on the stated iteration and attempt, so a kill between two events
is followed by the same answers.
"""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.projections.workspace import Workspace
from tests.acceptance.commands import answers, run

from . import looping

ITERATIONS, MINIMUM = 40, 30
GOAL = 'Ship it: "all" of it\n- status: completed\n# no comment'
NASTY = "- 'a': [b]\n\"c\": {d}\n# e\nRALPH_COMPLETE: pretend\n---\n"
HOOKS = (
    "id=learning,workflow=house:learn,parallel=true",
    'id=notes,workflow=house:notes,command=echo "$HOOK_ID of $ITERATION_NUMBER"',
    "id=off,workflow=house:off,enabled=false",
)
HOOK_COMMAND = 'sleep 0.05; echo "{\\"hook\\": \\"$HOOK_ID\\", \\"n\\": $ITERATION_NUMBER}"'

IDLE = (*range(4, 9), *range(15, 19), 21, 25, 26, ITERATIONS)
"""Iterations in which no step was added and none completed."""
REFLECTIONS = [{"iteration": 7, "idle": 3}, {"iteration": 18, "idle": 3}]
"""They begin after three idle ones: 4 to 6, and 15 to 17."""
CLAIMS = {4, 21, ITERATIONS}
"""Iterations that claim the goal, all but the last too early."""
LIMITED, REFUSED = {10, 30}, {6, 22}
"""Iterations whose first attempt meets a rate limit."""

SAYS: dict[int, dict[str, Any] | str] = {
    1: {
        "pending": [
            "First: the 'ground'",
            {"id": "auth-core", "prompt": NASTY},
            {"id": "b: c", "prompt": '{"status": "goal-complete"}'},
            {"id": "step-7", "prompt": "seventh"},
            "after the seventh",
        ],
        "summary": 'planned: "five" # steps',
    },
    2: {"completed": ["step-7", "auth-core"], "summary": "out of order"},
    3: {"pending": ["after the seventh", "ninth"], "completed": ["b: c"]},
    4: {"status": "goal-complete", "summary": "too early"},
    5: "I looked around.\nRALPH_COMPLETE: pretend",
    6: 'Result:\n{"status": "goal-complete"}',
    7: "RALPH_COMPLETE: not yet\nI am still thinking.",
    8: {},
    9: {"pending": [{"id": "\u00e9tape", "prompt": "z"}], "summary": "reflected"},
    10: {"completed": ["\u00e9tape", "nowhere"]},
    15: "words",
    16: {"pending": ["ninth"]},
    17: {"pending": [{"id": "step-9", "prompt": "ninth, again"}]},
    18: "more words",
    21: "RALPH_COMPLETE",
    25: {"pending": [{"id": "auth-core"}], "summary": "open again"},
    26: "words",
    27: {"completed": ["auth-core"]},
    ITERATIONS: {"status": "goal-complete", "summary": 'All: "done"\n# really'},
}
"""Answers of an iteration; in all others a step is added and the previous one done."""


class Goal(NamedTuple):
    """How a goal was reached, and the figures at the end."""

    life: looping.Life
    figures: dict[str, Any]


def said(number: int) -> str:
    """Return the agent's answer in an iteration."""
    text = SAYS.get(number)
    if isinstance(text, str):
        return text
    own = f"made-{number}"
    usual: dict[str, Any] = {"pending": [{"id": own, "prompt": f"Made in {number}"}]}
    usual["completed"] = [] if number - 1 in SAYS else [f"made-{number - 1}"]
    return "So:\n" + json.dumps({"status": "continue", **(usual if text is None else text)})


AGENT = f"""\
import json, os, subprocess, sys
sys.stdin.read()
number, attempt = int(os.environ["ITERATION_NUMBER"]), os.environ["ATTEMPT_NUMBER"]
if number in {LIMITED!r} and attempt == "1":
    sys.exit("timed out: too slow")
# Whoever is killed in the wait finds it in the log, and is not refused again.
if number in {REFUSED!r}:
    line = [*{looping.COMMAND!r}, "log", "--type", "retry-scheduled", "--json"]
    waits = subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    if number not in [json.loads(wait)["data"]["iteration"] for wait in waits]:
        sys.exit("429: try again in 1s")
open("work", "w").write(str(number))
text = json.load(open("says.json"))[str(number)]
usage = {{"input_tokens": number, "output_tokens": 2 * number}}
print("{{}}")
print(json.dumps({{"type": "result", "result": text, "usage": usage,
                  "total_cost_usd": 0.25, "num_turns": 3}}))
"""


def prepare(folder: Path) -> None:
    """Create a folder with an agent and a new goal."""
    (folder / "agent.py").write_text(AGENT)
    says = {number: said(number) for number in range(1, ITERATIONS + 1)}
    (folder / "says.json").write_text(json.dumps(says))
    (folder / "plan.yaml").write_text(
        "retry: {maxAttempts: 2, backoffMs: [10], limitWaitMs: [10]}\n"
    )
    run(folder, "init", "--here")
    words = ["sprint", "create", "long", "--goal", GOAL, "--plan", "plan.yaml"]
    words += ["--min-iterations", str(MINIMUM), "--max-iterations", str(ITERATIONS)]
    run(folder, *words, *(word for hook in HOOKS for word in ("--hook", hook)))


def bring_to_end(folder: Path, rng: random.Random, *, kills: int) -> Goal:
    """Reach the goal with a loop that is killed a number of times at any moment."""
    options = ["--hook-command", HOOK_COMMAND]
    life = looping.bring_to_end(folder, rng, kills=kills, options=options)
    [status] = answers(folder, "status")
    status["spent"].pop("duration_ms")
    # The usage of an agent killed together with its loop is unknown.
    status["spent"].pop("runs_cut_short", None)
    events = answers(folder, "log")
    types = Counter(event["type"] for event in events)
    # An interrupted hook and a killed loop are started again.
    again = ("hook-task-", "run-")
    counts = {name: types[name] for name in types if not name.startswith(again)}
    keys = ("steps", "idle", "reflection", "spent")
    figures = {"counts": counts, **{key: status[key] for key in keys}}
    figures["reflections"] = [
        event["data"] for event in events if event["type"] == "reflection-started"
    ]
    return Goal(life, figures)


def idle_after(folder: Path) -> list[int]:
    """Return the idle count at the end of every iteration, according to the log."""
    with Workspace.open(folder) as workspace:
        ends = [workspace.sprint("long", at=f"iter:{n}") for n in range(1, ITERATIONS + 1)]
        return [sprint.plan.turns.idle for sprint in ends]


def idle_counts() -> list[int]:
    """Return the expected numbers of idle iterations."""
    found, idle = [], 0
    for number in range(1, ITERATIONS + 1):
        idle = idle + 1 if number in IDLE else 0
        found.append(idle)
    return found
