"""An agent's session, in which each turn of a night is a few calls of its hooks."""

import json
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from sprintlog.engine.sprint.state.words import IN_PROGRESS

from .scripts import Night
from .theatre import PATIENCE_SECONDS, SPRINTLOG, Theatre

HOOK = shlex.join([*SPRINTLOG, "hook", "claude"])
SESSION = "5e551011-0000-4000-8000-000000000001"
GOAL = "All tests pass"


class Session:
    """A process named `claude` that calls hooks and edits files, as the agent does."""

    def __init__(self, theatre: Theatre) -> None:
        self.theatre, self._turn = theatre, 0
        program = theatre.tree.parent / "claude"
        if not program.exists():
            program.symlink_to(str(shutil.which("sh")))
        self._process = subprocess.Popen(
            [program], cwd=theatre.tree, env=theatre.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> "Session":
        self.hook("SessionStart", source="startup")
        return self

    def __exit__(self, *error: object) -> None:
        if error == (None, None, None):
            self.hook("SessionEnd", reason="other")
        self._process.communicate()

    @property
    def transcript(self) -> Path:
        """The path of the session's transcript, which a test may write."""
        return self.theatre.tree.parent / f"home/.claude/projects/tree/{SESSION}.jsonl"

    def types(self, line: str) -> str:
        """Execute a shell line in the agent's process; return its output."""
        write, read = self._process.stdin, self._process.stdout
        assert write is not None
        assert read is not None
        write.write(f"{line}\necho; echo THE-END\n")
        write.flush()
        said = ""
        while not said.endswith("\nTHE-END\n"):
            piece = read.readline()
            assert piece, said
            said += piece
        return said.removesuffix("THE-END\n").strip()

    def hook(self, event: str, *, waits: bool = True, **fields: Any) -> str:
        """Call the agent's hook, and wait for the recorder; return the hook's answer."""
        given = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": str(self.theatre.tree),
            "prompt_id": f"p-{self._turn}",
            "hook_event_name": event,
            **fields,
        }
        said = self.types(f"printf %s {shlex.quote(json.dumps(given))} | {HOOK}")
        if waits:
            self.settle()
        return said

    def settle(self) -> None:
        """Wait for the end of the detached processes of hooks."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.theatre.ours():
            assert time.monotonic() < until
            time.sleep(0.02)

    def prompt(self, text: str = "go on") -> None:
        """Begin a turn."""
        self._turn += 1
        self.hook("UserPromptSubmit", prompt=text)

    def edit(self, line: str = "echo go on | sh ../agent.sh") -> str:
        """Work on the files, by default as the night's script does; return the output."""
        said = self.types(line)
        self.hook(
            "PostToolUse",
            tool_name="Bash",
            tool_use_id=f"toolu_{time.monotonic_ns()}",
            tool_input={"command": "edit"},
            tool_response={"stdout": "", "stderr": ""},
        )
        return said

    def stop(self, text: str, *, waits: bool = True) -> dict[str, Any]:
        """End the turn with an answer; return the output of the hook."""
        said = self.hook(
            "Stop",
            waits=waits,
            stop_hook_active=False,
            last_assistant_message=text,
            background_tasks=[],
        )
        return dict(json.loads(said or "{}"))


def hooked(night: Night, *, blocks: bool) -> Night:
    """Return a night with the settings by which its turns are measured."""
    if (measure := night.measure) is None:
        return night
    settings = f"[measure]\nrun = [{json.dumps(measure)}]\n"
    settings += 'reports = ["junit.xml"]\n' if "--report" in night.options else ""
    settings += "[hooks]\nblock-stop = true\n" if blocks else ""
    return night._replace(files={**night.files, "sprintlog.toml": settings})


def through_hooks(theatre: Theatre) -> int:
    """Play the night in a session that no loop started; return 0.

    If the answer to a claim is that it was refused, the agent continues in the same turn.
    """
    night = theatre.night
    theatre.type("init", "--here")
    if "sprintlog.toml" in night.files:
        theatre.type("config", "--trust")
    if "block-stop" in night.files.get("sprintlog.toml", ""):
        theatre.type("sprint", "create", "night", "--goal", GOAL)
    if night.until:
        theatre.type("sprint", "create", "night")
        measure = str(night.measure)
        rules = "iteration", "rules", "set", "--measure", measure, "--until", night.until
        theatre.type(*rules)
    with Session(theatre) as session:
        is_blocked = False
        for number, _ in enumerate(night.script, 1):
            if not is_blocked:
                session.prompt()
            answer, is_killed = session.edit(), night.kill and number == 1
            said = session.stop(answer, waits=not is_killed)
            is_blocked = said.get("decision") == "block"
            if is_killed:
                theatre.kill(lambda: bool(theatre.ours()))
            sprint = theatre.read()
            if sprint is not None and sprint.plan.status != IN_PROGRESS:
                break
    return 0
