"""Plays a scripted night through `run`, `wrap` or hooks, and returns its verdict."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.sprint.events import ClaimAccepted, ClaimRefused, GoalCompleted
from sprintlog.engine.sprint.state.completion import goal_standing
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED, IN_PROGRESS
from sprintlog.projections.workspace import Workspace

from . import expected as e
from .scripts import NIGHTS
from .session import hooked, through_hooks
from .theatre import Theatre

AGENT = ("--", "sh", "../agent.sh")
GOAL = "All tests pass"


class Played(NamedTuple):
    """The result of a night."""

    verdict: e.Expected
    text: str
    """The standing of the goal, followed by everything that sprintlog printed."""


def through_run(theatre: Theatre) -> int:
    """Play the night through `run`; return its last exit status."""
    night = theatre.night
    limit = str(night.limit or len(night.script))
    theatre.type("init", "--here")
    line = ["run", *night.options, *night.run_options]
    if night.goal:
        theatre.type("sprint", "create", "night", "--goal", GOAL, "--max-iterations", limit)
    else:
        line += ["--prompt-file", "prompt.md"]
    if "sprintlog.toml" in night.files:
        theatre.type("config", "--trust")
    line += ["--measure", night.measure] if night.measure else []
    line += ["--until", night.until] if night.until else []
    line += AGENT
    if night.kill:
        theatre.type_killed(*line)
    return theatre.type(*line, check=False)


def through_wrap(theatre: Theatre) -> int:
    """Play the night through `wrap` in a loop of a shell; return 0."""
    night = theatre.night
    measure = night.wrap_measure or night.measure
    theatre.type("init", "--here")
    line = ["wrap", *night.options, *(("--measure", measure) if measure else ()), *AGENT]
    if night.until:
        assert measure is not None
        theatre.type("sprint", "create", "night")
        rules = "iteration", "rules", "set", "--measure", measure, "--until", night.until
        theatre.type(*rules)
    for number, _ in enumerate(night.script, 1):
        if night.kill and number == 1:
            theatre.type_killed(*line)
            continue
        theatre.type(*line)
        sprint = theatre.read()
        if sprint is not None and sprint.plan.status != IN_PROGRESS:
            break
    return 0


def verdict_of(theatre: Theatre, code: int) -> Played:
    """Return the verdict on the recorded night."""
    with Workspace.open(theatre.tree) as workspace:
        name = [*workspace.sprints()][-1]
        sprint = workspace.sprint(name)
    theatre.type("status", check=False)
    tracker = sprint.knowledge.tracker
    typed = theatre.tree / "../typed"
    refused = typed.exists() and "exit 1" in typed.read_text()
    verdict = e.Expected(
        goal=_goal(sprint),
        iterations=sprint.knowledge.iteration_max,
        best=tracker.best.number if tracker.best else None,
        code=code,
        refused=tuple(_refused(theatre)),
        marked=tuple(sorted(getattr(tracker, "changed", {}))),
        agent_refused=refused,
    )
    return Played(verdict, f"{goal_standing(sprint.plan)}\n{theatre.printed}")


def _goal(sprint: Sprint) -> str:
    plan = sprint.plan
    decided, done = plan.last.decided, plan.last.sprint
    if plan.status == COMPLETED:
        if not isinstance(done, GoalCompleted):
            return e.GIVEN_UP
        return e.VERIFIED if isinstance(decided, ClaimAccepted) else e.CLAIMED
    if plan.last.claim is None:
        return e.NONE
    return e.REFUSED if isinstance(decided, ClaimRefused) else e.OPEN


def _refused(theatre: Theatre) -> list[int]:
    """Return the iterations of the refused claims."""
    process = theatre.start("log", "--type", "claim-refused", "--json")
    lines = process.communicate()[0].splitlines()
    return [json.loads(line)["data"]["claim"] for line in lines if line.startswith("{")]


WAYS = {
    "run": (through_run, {**e.RUN, **e.LIMITS}),
    "wrap": (through_wrap, {**e.WRAP, **e.LIMITS}),
    "hooks": (through_hooks, {**e.HOOKS, **e.LIMITS}),
    "block": (through_hooks, e.BLOCKED),
}
"""The ways to play a night, each with the expected verdicts."""


def differences(name: str, way: str, folder: Path) -> list[str]:
    """Play a night; return how its verdict differs from the expected one."""
    play, table = WAYS[way]
    night = NIGHTS[name]
    if play is through_hooks:
        night = hooked(night, blocks=way == "block")
    theatre = Theatre(folder, night)
    code = play(theatre)
    found = _compared(table[name], verdict_of(theatre, code), way)
    after = e.AFTERWARDS.get(name)
    if after is not None:
        for words in NIGHTS[name].person:
            theatre.type(*words)
        found += [f"afterwards: {x}" for x in _compared(after, verdict_of(theatre, 0), way)]
    return [f"{name} ({way}): {one}" for one in found]


def _compared(wanted: e.Expected, played: Played, way: str) -> list[str]:
    if way != "run":
        wanted = wanted._replace(code=0)
    found = played.verdict._asdict()
    problems = [
        f"{field}: {found[field]!r}, expected {value!r}"
        for field, value in wanted._asdict().items()
        if field != "why" and found[field] != value
    ]
    if wanted.why not in played.text:
        problems.append(f"nothing states {wanted.why!r}: {played.text.splitlines()[0]}")
    return problems


def play_in(folder: Path, name: str, way: str) -> list[str]:
    """Play a night in a fresh subfolder, which is removed if the verdict is right."""
    here = folder / f"{way}-{name.replace(' ', '-')}"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    found = differences(name, way, here)
    if not found:
        shutil.rmtree(here)
    return found
