"""Plays a scripted night through `run` or `wrap`, and returns its verdict."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.sprint.events import ClaimAccepted, ClaimRefused, GoalCompleted
from sprintlog.engine.sprint.state.completion import goal_standing
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED, IN_PROGRESS
from sprintlog.projections.workspace import Workspace

from . import expected as e
from .project import write_project
from .scripts import NIGHTS, OUTSIDE, Night

SPRINTLOG = (sys.executable, "-m", "sprintlog.cli")
AGENT = ("--", "sh", "../agent.sh")
PATIENCE_SECONDS = 60.0
GOAL = "All tests pass"


class Played(NamedTuple):
    """The result of a night."""

    verdict: e.Expected
    text: str
    """The standing of the goal, followed by everything that sprintlog printed."""


class Theatre:
    """A folder with a project, in which a night is played."""

    def __init__(self, folder: Path, night: Night) -> None:
        self.night = night
        self.printed = ""
        self.tree = write_project(folder, night.script, night.files)
        for name, text in OUTSIDE.items():
            (folder / name).write_text(text)
        self._mark = f"STARTED_IN={folder}"
        ours = {
            k: v for k, v in os.environ.items() if not k.startswith(("SPRINTLOG_", "GIT_"))
        }
        home = str(folder / "home")
        self.environment = {**ours, "STARTED_IN": str(folder), "HOME": home}
        if night.git:
            for line in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "begin")):
                subprocess.run(
                    ["git", "-c", "user.name=A", "-c", "user.email=a@b.invalid", *line],
                    cwd=self.tree,
                    env=self.environment,
                    check=True,
                )

    def type(self, *words: str, check: bool = True) -> int:
        """Type a command as a person; return its exit status."""
        return self._ended(self.start(*words), check=check)

    def type_killed(self, *words: str) -> None:
        """Type a command, and kill it and its recorder once `../reached` exists."""
        process = self.start(*words)
        until = time.monotonic() + PATIENCE_SECONDS
        while not (self.tree / "../reached").exists():
            assert process.poll() is None, self.printed + str(process.communicate())
            assert time.monotonic() < until
            time.sleep(0.02)
        for pid in self.ours():
            os.kill(pid, signal.SIGKILL)
        (self.tree / "../go").touch()
        process.communicate()

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a command of sprintlog in the work tree."""
        return subprocess.Popen(
            [*SPRINTLOG, *words], cwd=self.tree, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def _ended(self, process: "subprocess.Popen[str]", *, check: bool) -> int:
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        self.printed += said
        assert not check or process.returncode == 0, said
        return process.returncode

    def ours(self) -> list[int]:
        """Return the processes of sprintlog that belong to this night."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = self._mark.encode() in (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if is_ours and b"sprintlog.cli" in command:
                found.append(int(folder.name))
        return found

    def read(self) -> Sprint | None:
        """Return the newest sprint, or None without a sprint."""
        with Workspace.open(self.tree) as workspace:
            names = [*workspace.sprints()]
            return workspace.sprint(names[-1]) if names else None


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
}
"""The ways to play a night, each with the expected verdicts."""


def differences(name: str, way: str, folder: Path) -> list[str]:
    """Play a night; return how its verdict differs from the expected one."""
    play, table = WAYS[way]
    theatre = Theatre(folder, NIGHTS[name])
    code = play(theatre)
    found = _compared(table[name], verdict_of(theatre, code if way == "run" else 0), way)
    after = e.AFTERWARDS.get(name)
    if after is not None:
        for words in NIGHTS[name].person:
            theatre.type(*words)
        found += [f"afterwards: {x}" for x in _compared(after, verdict_of(theatre, 0), way)]
    return [f"{name} ({way}): {one}" for one in found]


def _compared(wanted: e.Expected, played: Played, way: str) -> list[str]:
    if way == "wrap":
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
