"""A session of a real agent, turn by turn."""

import json
import re
import subprocess
from contextlib import suppress
from typing import Self

from .places import Place

UNASKED = {
    "claude": (),
    "codex": ("--dangerously-bypass-hook-trust",),
    "gemini": (),
    "copilot": (),
}
"""Options that run hooks without approval by a person."""
_TURN_SECONDS = 120


class Session:
    """A session, as a context: Claude Code's is one process, others' are resumed."""

    def __init__(self, place: Place, *, prefix: tuple[str, ...] = ()) -> None:
        """Begin a session; `prefix` is a command that runs the agent, such as `wrap --`."""
        self._place, self._prefix = place, prefix
        self._process: subprocess.Popen[str] | None = None
        self._id: str | None = None

    def turn(self, play: str) -> None:
        """Give one prompt, and return when the agent has ended its turn."""
        prompt = f"Do it. play:{play} at:{self._place.work}"
        if self._place.program.name != "claude":
            done = self._start(turn_command(self._place, prompt, session=self._id))
            printed, said = done.communicate(timeout=_TURN_SECONDS)
            assert done.returncode == 0, (printed[-300:], said[-300:])
            self._id = session_of(printed)
            return
        if self._process is None:
            command = [
                *self._place.program.forms["stream"],
                "--input-format",
                "stream-json",
            ]
            self._process = self._start(command)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if json.loads(line)["type"] == "result":
                return
        raise AssertionError("the agent ended in the middle of a turn")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=_TURN_SECONDS)
            self._process.kill()
            self._process.wait()

    def _start(self, command: list[str]) -> "subprocess.Popen[str]":
        is_open = self._place.program.name == "claude"
        return subprocess.Popen(
            [*self._prefix, *command],
            cwd=self._place.work,
            env=self._place.env,
            stdin=subprocess.PIPE if is_open else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if is_open else subprocess.PIPE,
            text=True,
        )


def turn_command(place: Place, prompt: str, *, session: str | None = None) -> list[str]:
    """Return the command of one turn, which resumes a session if one is given."""
    program, unasked = place.program, UNASKED[place.program.name]
    match program.name, session:
        case "codex", str():
            resume = ("resume", "--skip-git-repo-check", "--json", session)
            return ["codex", "exec", *unasked, *resume, prompt]
        case "gemini", str():
            return [*program.forms["json"][:-1], "--resume", "latest", "-p", prompt]
        case "gemini", None:
            return [*program.forms["json"], prompt]
        case "copilot", str():
            return [*program.forms["stream"][:-1], f"--resume={session}", "-p", prompt]
        case "claude", str():
            return [*program.forms["stream"], "--resume", session, prompt]
        case _:
            return [*program.forms["stream"], *unasked, prompt]


def session_of(printed: str) -> str | None:
    """Return the session id in an agent's output."""
    found = re.findall(r'"(?:session_id|sessionId|thread_id)": ?"([^"]+)"', printed)
    return found[-1] if found else None
