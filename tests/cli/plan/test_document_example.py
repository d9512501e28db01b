"""The complex example of the PROGRESS.yaml reference, by the real command alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

PLAN = """\
phases:
  - {id: branch, prompt: Make a branch}
  - id: endpoints
    steps:
      - id: step-0
        prompt: The way in
        phases: [{id: implement, prompt: Write the way in}, {id: qa, prompt: Try it}]
      - id: step-1
        prompt: The way out
        phases: [{id: implement, prompt: Write the way out}, {id: qa, prompt: Try it}]
      - id: step-2
        prompt: The way on
        phases: [{id: implement, prompt: Write the way on}, {id: qa, prompt: Try it}]
  - {id: review, prompt: Read everything}
"""

MAY_BE_ADDED = {"started-at", "completed-at", "elapsed", "last-activity"}


def times(started: str, completed: str | None = None, elapsed: str | None = None) -> Any:
    """Return the times of a node, given as minutes after nine o'clock."""
    found = {"started-at": f"2026-01-15T09:{started}:00Z"}
    if completed:
        found["completed-at"] = f"2026-01-15T09:{completed}:00Z"
    if elapsed:
        found["elapsed"] = elapsed
    return found


def contains(whole: Any, part: Any) -> bool:
    """Return whether `whole` has all of `part` and adds only what SPR-011 allows."""
    if isinstance(part, dict):
        extra = set(whole) - set(part) - MAY_BE_ADDED
        return not extra and all(contains(whole.get(k), v) for k, v in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


def step(number: int, prompt: str, status: str, *children: Any, **more: Any) -> Any:
    """Return a step as shown in the example."""
    return {
        "id": f"step-{number}",
        "prompt": prompt,
        "status": status,
        **more,
        "phases": list(children),
    }


def leaf(identity: str, prompt: str, status: str, found: Any = None) -> Any:
    """Return a leaf as shown in the example."""
    return {"id": identity, "status": status, "prompt": prompt, **(found or {})}


EXPECTED = {
    "sprint-id": "feature-auth",
    "status": "in-progress",
    "phases": [
        leaf("branch", "Make a branch", "completed", times("00", "02", "00:02:00")),
        {
            "id": "endpoints",
            "status": "in-progress",
            "steps": [
                step(
                    0,
                    "The way in",
                    "completed",
                    leaf("implement", "Write the way in", "completed", times("02", "10")),
                    leaf("qa", "Try it", "completed", times("10", "15")),
                    **times("02", "15", "00:13:00"),
                ),
                step(
                    1,
                    "The way out",
                    "in-progress",
                    leaf("implement", "Write the way out", "in-progress", times("15")),
                    leaf("qa", "Try it", "pending"),
                    **times("15"),
                ),
                step(
                    2,
                    "The way on",
                    "pending",
                    leaf("implement", "Write the way on", "pending"),
                    leaf("qa", "Try it", "pending"),
                ),
            ],
        },
        leaf("review", "Read everything", "pending"),
    ],
    "current": {"phase": 1, "step": 1, "sub-phase": 0},
    "stats": {
        "started-at": "2026-01-15T09:00:00Z",
        "completed-at": None,
        "total-phases": 3,
        "completed-phases": 1,
        "total-steps": 3,
        "completed-steps": 1,
        "current-iteration": 5,
        "max-iterations": 30,
    },
}


def test_complex_example_comes_out_of_commands(
    folder: Path, done: Any, state: Callable[[], Any]
) -> None:
    """Every field of the complex example results from commands alone."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done(
        "sprint", "create", "feature-auth", "--plan", "plan.yaml", "--max-iterations", "30"
    )
    commands = [
        ("00", "sprint", "start"),
        ("00", "phase", "start"),
        ("02", "phase", "complete"),
        ("02", "phase", "start"),
        ("10", "phase", "complete"),
        ("10", "phase", "start"),
        ("15", "phase", "complete"),
        ("15", "iteration", "start", "--number", "5"),
        ("15", "phase", "start"),
    ]
    for minute, *command in commands:
        done(*command, "--at", f"2026-01-15T09:{minute}:00Z")
    assert contains(state(), EXPECTED), state()
