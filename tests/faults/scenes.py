"""The commands into which faults are injected, and their folders."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.service.agent_sessions.hook import take_hook

from ..copies import copy_tree
from .claims import acknowledged
from .runner import Done, Runner

PLAN = """\
phases:
  - id: setup
    prompt: Make a branch
  - id: build
    steps:
      - id: login
        prompt: Let people log in
        phases:
          - id: implement
            prompt: Write it
          - id: check
            prompt: Try it
"""
FOREIGN = """\
# Kept by another tool.
sprint-id: theirs
status: in-progress
phases:
  - {id: one, status: completed}
  - {id: two, status: in-progress}
"""
AT = "2026-01-15T10:00:00Z"
_LINES = [
    {"type": "note-added", "data": {"text": f"line {n}"}, "key": f"line-{n}", "at": AT}
    for n in range(3)
]


class Scene(NamedTuple):
    """A command, and the commands before it."""

    name: str
    arguments: tuple[str, ...]
    stdin: str = ""
    before: tuple[tuple[str, ...], ...] = ()
    without: tuple[str, ...] = ()
    """Files deleted before the command."""
    edited: str = ""
    """What somebody puts at the end of the state file before the command."""
    calls: tuple[str, ...] = ()
    """The earlier commands of an agent, as reported by its hooks."""
    gone: str = ""
    """Text that no file of the log contains afterwards."""


_KEYED = ("--key", "again", "--at", AT)
SCENES = (
    Scene("append", ("append", "note-added", "--data", '{"text": "seen"}', *_KEYED)),
    Scene("append loop", ("append",), "".join(json.dumps(x) + "\n" for x in _LINES)),
    Scene(
        "phase complete",
        ("phase", "complete", "setup", "--summary", "made", *_KEYED),
        before=(("phase", "start", "setup", "--at", "2026-01-15T09:30:00Z"),),
    ),
    Scene("rebuild", ("rebuild",), without=("PROGRESS.yaml",)),
    Scene("import progress", ("import", "progress", "theirs/PROGRESS.yaml", *_KEYED)),
    Scene("edit", ("note", "seen", *_KEYED), edited="edited: by hand\n"),
    Scene(
        "prune sessions",
        ("store", "prune", "--sessions", "--older-than", "0m", "--at", AT),
        calls=tuple(f"echo opensesame {n} {'x' * 400}" for n in range(3)),
        gone="opensesame",
    ),
)


class Template(NamedTuple):
    """A folder prepared for a scene, and the expected result of the scene."""

    scene: Scene
    folder: Path
    plants: tuple[str, ...]
    operations: list[str]
    """Names of the file operations, in order."""
    answers: int
    events: list[Any]
    files: dict[str, bytes]


def events(events: list[dict[str, Any]]) -> list[Any]:
    """Return the content of events, without values that differ in every run."""
    return sorted([e["stream"], e["type"], e["key"] or "", e["data"]] for e in events)


def state_files(folder: Path) -> dict[str, bytes]:
    """Return the state files of a work tree."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("PROGRESS.yaml"))
        if ".sprintlog" not in path.parts
    }


def prepare(
    runner: Runner, scene: Scene, folder: Path, plants: tuple[str, ...] = ()
) -> Template:
    """Create the folder of a scene, and play the scene once in a copy of it."""
    start = folder / "template"
    start.mkdir(parents=True)
    begin(runner, start, plants)
    for arguments in scene.before:
        runner.must(start, *arguments, plants=list(plants))
    for number, command in enumerate(scene.calls):
        _tell(start, number, command)
    for name in scene.without:
        (start / name).unlink()
    if scene.edited:
        with (start / "PROGRESS.yaml").open("a") as file:
            file.write(scene.edited)
    clean = folder / "clean"
    done, operations = play(runner, scene, start, clean, plants)
    seen = runner.inspect(clean, plants=plants)
    assert seen["sound"], seen
    return Template(
        scene,
        start,
        plants,
        operations,
        len(acknowledged(done)),
        events(seen["events"]),
        state_files(clean),
    )


def _tell(folder: Path, number: int, command: str) -> None:
    """Record the input of an agent's hook after a command."""
    given = {
        "session_id": "s-1",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": f"call-{number}",
    }
    content = json.dumps(given).encode()
    safe = folder / "none"
    take_hook("claude", content, start=folder, folder=None, safe=safe, environment={})


def play(
    runner: Runner, scene: Scene, template: Path, folder: Path, plants: tuple[str, ...]
) -> tuple[Done, list[str]]:
    """Run a scene in a copy of its folder, with no fault; return its operations too."""
    copy_tree(template, folder)
    trace = folder.with_name(f"{folder.name}.trace")
    done = runner.must(
        folder,
        *scene.arguments,
        stdin=scene.stdin,
        plants=list(plants),
        fault={"trace": str(trace)},
    )
    lines = trace.read_bytes().splitlines()
    return done, [line.split(b" ")[1].decode() for line in lines]


def begin(runner: Runner, folder: Path, plants: tuple[str, ...] = ()) -> None:
    """Create a log with a sprint that has started, and a foreign document."""
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "theirs").mkdir()
    (folder / "theirs" / "PROGRESS.yaml").write_text(FOREIGN)
    at = ("--at", "2026-01-15T09:00:00Z")
    for arguments in (
        ("init", "--here"),
        ("sprint", "create", "auth", "--plan", "plan.yaml", *at),
        ("sprint", "start", *at),
    ):
        runner.must(folder, *arguments, plants=list(plants))
