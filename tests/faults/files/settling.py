"""State files after commands that ended in any way: the next record repairs them.

Commands are ended by signals at random moments, refused, or run while others pause the
sprint, edit a state file or remove it.
"""

import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from ..runner import Done, Runner
from ..sweep import judge_ending

PLAN = """\
retry: {maxAttempts: 1, backoffMs: [10]}
phases:
  - id: setup
    prompt: Make a branch
    gate: {script: 'sleep 0.08; test "$ATTEMPT_NUMBER" != 1', max-retries: 2}
  - id: build
    break: true
    gate: {script: sleep 0.08}
    steps:
      - id: login
        prompt: Let people log in
        gate: {script: sleep 0.05}
        phases:
          - {id: implement, prompt: Write it, gate: {script: 'sleep 0.05; exit 1'}}
          - {id: check, prompt: Try it}
      - {id: logout, prompt: Let people log out, phases: []}
  - id: empty
    gate: {script: 'true'}
    steps: []
"""
AGENT = ("--", "sh", "-c", "cat > /dev/null; sleep 0.01; echo done > work.txt; echo done")
COMMANDS: tuple[tuple[str, ...], ...] = (
    *[("gate", "run")] * 4,
    *[("run", *AGENT)] * 4,
    ("sprint", "start"),
    ("sprint", "pause", "--reason", "lunch"),
    *[("sprint", "resume", "--by", "Ada", "--why", "done")] * 3,
    *[("phase", "start")] * 3,
    *[("phase", "complete", "--summary", "x")] * 3,
    ("phase", "fail", "--error", "x", "--category", "network"),
    ("phase", "retry"),
    ("phase", "skip"),
    ("phase", "inject", "--prompt", "More", "--prefix", "more"),
    ("phase", "inject", "--prompt", "x", "--prefix", "m", "--position", "end-of-workflow"),
    ("phase", "inject", "--prompt", "x", "--prefix", "b", "--position", "before:build"),
    ("queue", "add", "A bug", "--priority", "high", "--type", "bug"),
    ("queue", "approve", "req-1", "--reasoning", "x", "--position", "end-of-phase"),
    ("queue", "defer", "req-2", "--reasoning", "x", "--until", "end-of-phase"),
    ("iteration", "start"),
    ("iteration", "end", "--metric", "coverage_percentage=70", "--snapshot"),
    ("iteration", "snapshot"),
    ("rollback", "start"),
    ("rollback", "version:4"),
    ("rollback", "iter:1", "--files", "--yes"),
    ("undo",),
    ("redo",),
    ("adopt",),
    ("journal", "entry", "record", "auth", "--status", "completed", "--summary", "x"),
    (
        "journal",
        "learning",
        "add",
        "Tokens last an hour",
        "--type",
        "tool-usage",
        "--prd",
        "auth",
    ),
    ("rebuild",),
)
ENDINGS = ("whole", "whole", "SIGINT", "SIGTERM", "SIGKILL", "paused", "edited", "gone")
SECONDS_MAX = {"run": 0.6, "gate": 0.15}
"""Until when a command may be ended; most take a hundredth of a second."""
WAYS_ON = (("sprint", "resume", "--by", "Ada", "--why", "done"), ("phase", "start"))
NEXT = (
    (
        ("note", "on we go"),
        ("journal", "learning", "add", "On we go", "--type", "tool-usage", "--prd", "auth"),
    ),
    (("rebuild",),),
)
"""The next step: a recording command of each stream, or `rebuild`."""


def begin(runner: Runner, folder: Path) -> None:
    """Create a folder with a started sprint and a journal."""
    (folder / "plan.yaml").write_text(PLAN)
    runner.must(folder, "init", "--here")
    runner.must(folder, "sprint", "create", "auth", "--plan", "plan.yaml")
    runner.must(folder, "sprint", "start")
    runner.must(folder, *NEXT[0][1])


def unsettled(
    runner: Runner, other: Runner, folder: Path, *, rounds: int, chance: random.Random
) -> Iterator[str]:
    """Yield the problems after commands that ended in any way, in a prepared folder."""
    for _ in range(rounds):
        if chance.random() < 0.6:
            for way in WAYS_ON:
                runner.run(folder, *way)
        command, ending = chance.choice(COMMANDS), chance.choice(ENDINGS)
        name = f"{' '.join(command[:2])} {ending}"
        done = end(runner, other, folder, command, ending=ending, chance=chance)
        if ending == "whole" and command[0] != "run":
            yield from (f"{name}: {problem}" for problem in judge_ending(done))
        if ending in ("whole", "paused"):
            checked = runner.run(folder, "rebuild", "--check")
            if checked.code != 0:
                yield f"{name}: left {checked.out!r} {checked.err!r}"
        following = chance.choice(NEXT)
        for after in following:
            told = runner.run(folder, *after)
            if told.code != 0:
                yield f"{name}, then {after[0]}: {told.code} {told.err!r}"
        checked = runner.run(folder, "rebuild", "--check")
        if checked.code != 0:
            yield f"{name}, then {following[0][0]}: {checked.out!r} {checked.err!r}"
        seen = runner.inspect(folder)
        if not seen["sound"]:
            yield f"{name}, then {following[0][0]}: not sound: {seen['findings']}"


def end(
    runner: Runner,
    other: Runner,
    folder: Path,
    command: tuple[str, ...],
    *,
    ending: str,
    chance: random.Random,
) -> Done:
    """Run a command and make it end in the given way."""
    seconds = chance.uniform(0.001, SECONDS_MAX.get(command[0], 0.02))
    if ending.startswith("SIG"):
        return runner.run(folder, *command, timer=[int(signal.Signals[ending]), seconds])
    beside = {
        "paused": lambda: other.run(folder, "sprint", "pause", "--reason", "lunch"),
        "edited": lambda: edit(folder / "PROGRESS.yaml"),
        "gone": lambda: (folder / "PROGRESS.yaml").unlink(missing_ok=True),
    }.get(ending)
    if beside is None:
        return runner.run(folder, *command)
    thread = threading.Timer(seconds, beside)
    thread.start()
    try:
        return runner.run(folder, *command)
    finally:
        thread.join()


def edit(file: Path) -> None:
    """Replace the content of a state file, as an editor does."""
    text = file.read_text() if file.exists() else ""
    changed = file.with_name("edited.tmp")
    changed.write_text(text.replace("prompt: ", "prompt: By hand. ", 1))
    changed.replace(file)
