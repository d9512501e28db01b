"""The plugins in `docs/clients`, installed and used by the agents' programs."""

import json
import subprocess
from pathlib import Path

from ..commands import run
from ..criterion import Skip, Verdict
from .model_server import ModelServer
from .places import new_place
from .programs import Environment, Program, installed
from .sessions import UNASKED
from .tooled import PATIENT

CLIENTS = Path(__file__).resolve().parents[3] / "docs" / "clients"
ADD, NAMED = ("plugin", "marketplace", "add", str(CLIENTS)), "sprintlog@sprintlog"
INSTALL = {
    "claude": (
        ("plugin", "validate", "--strict", str(CLIENTS)),
        ("plugin", "validate", "--strict", str(CLIENTS / "claude-code")),
        *(ADD, ("plugin", "install", NAMED)),
    ),
    "codex": (ADD, ("plugin", "add", NAMED)),
    "copilot": (ADD, ("plugin", "install", NAMED)),
    "gemini": (
        ("extensions", "validate", str(CLIENTS / "gemini")),
        ("extensions", "install", str(CLIENTS / "gemini"), "--consent"),
    ),
}
"""The arguments with which each program validates and installs its plugin."""
GOAL = "the-goal-of-this-sprint"
SKILL = "Work in a repository whose agent runs are recorded"
TOOLS = ("It does not pass a gate", "mcp__sprintlog: The record of this project's sprint")
"""Parts of the description of a tool, and of the server if its tools are deferred."""


def are_accepted(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Install each agent's plugin, run the agent, and look for its parts."""
    programs = [one for one in installed(folder) if one.name in INSTALL]
    if not programs:
        raise Skip(f"not installed: none of {', '.join(INSTALL)}")
    problems, said = [], []
    with ModelServer() as server:
        for program in programs:
            found, problem = _play(program, server, folder)
            said.append(f"{program.name}: {', '.join(found)}")
            problems += [f"{program.name}: {one}" for one in problem]
    return Verdict(not problems, "; ".join(said), problems)


def _play(
    program: Program, server: ModelServer, folder: Path | None
) -> tuple[list[str], list[str]]:
    """Return the parts of the plugin that reached the model or the log, and problems."""
    with new_place(program, server, folder) as place:
        work, env = place.work, place.env | PATIENT
        run(work, "goal", "set", GOAL, **env)
        for words in INSTALL[program.name]:
            done = _called((program.name, *words), work, env)
            if done.returncode:
                said = (done.stdout + done.stderr).decode("utf-8", "replace")[-500:]
                return [], [f"{' '.join(words)}: exit code {done.returncode}: {said}"]
        server.requests.clear()
        unasked = UNASKED[program.name]
        prompt = f"Do it. play:good at:{work}"
        _called((*program.forms["stream"], *unasked, prompt), work, env)
        asked = "".join(map(json.dumps, server.requests))
        events = run(work, "log", "--all", "--json", **env).decode()
        parts = {
            "briefing": GOAL in asked,
            "skill": SKILL in asked,
            "tools": any(one in asked for one in TOOLS),
            "hooks": '"tool-called"' in events and '"turn-ended"' in events,
        }
        missing = [f"no {part}" for part, is_found in parts.items() if not is_found]
        return [part for part, is_found in parts.items() if is_found], missing


def _called(
    words: tuple[str, ...], work: Path, env: Environment
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        words,
        cwd=work,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=180,
    )
