"""A real agent works with the tools of an installed `sprintlog mcp`."""

import json
from pathlib import Path
from typing import Any

from ..commands import run
from ..criterion import Skip, Verdict
from .model_server import ModelServer
from .places import new_place
from .programs import Program, installed
from .runs import wrapped

PLAN = {
    "phases": [{"id": "build", "prompt": "Write it"}, {"id": "ship", "prompt": "Ship it"}]
}
BEFORE = '{ "mcpServers" : { },\n\t"mine":  1.0}\n'
"""A file of somebody, in a form that nobody else would write."""
PATIENT = {
    # Wait for a starting server, and offer its tools immediately.
    "MCP_TIMEOUT": "120000",
    "MCP_CONNECTION_NONBLOCKING": "false",
    "ENABLE_TOOL_SEARCH": "false",
}
RECORDED = ["phase-started", "phase-completed", "request-queued"]
"""What the play records: `report`, then `request`; `next` records nothing."""


def works_with_tools(data: Path, seed: int, *, folder: Path | None = None) -> Verdict:
    """Install the tools, run the agent through a play, and remove the tools."""
    claude = next((one for one in installed(folder) if one.name == "claude"), None)
    if claude is None:
        raise Skip("not installed: claude")
    with ModelServer() as server:
        problems, calls = _play(claude, server, folder)
    return Verdict(not problems, f"a run of claude; {calls} calls of our tools", problems)


def _play(
    program: Program, server: ModelServer, folder: Path | None
) -> tuple[list[str], int]:
    """Return the problems, and the number of calls of sprintlog's tools."""
    with new_place(program, server, folder) as place:
        work, env = place.work, place.env | PATIENT
        own = work / ".mcp.json"
        own.write_text(BEFORE)
        (work / "plan.json").write_text(json.dumps(PLAN))
        run(work, "init", **env)
        run(work, "sprint", "create", "auth", "--plan", "plan.json", **env)
        run(work, "sprint", "start", **env)
        run(work, "setup", program.name, "--yes", **env)
        # With this option, the agent starts a server that the user has not approved.
        given = ["--mcp-config", own.name, "--", f"Do it. play:tooled at:{work}"]
        command = [*program.forms["stream"], *given]
        done, problems = wrapped(command, work, env, by=None, server=server)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace")[-300:]
            problems.append(f"exit code {done.returncode}: {said}")
        calls = sum(one.act == "Ask" for one in server.ledger.taken())
        problems += _problems(work, env)
        run(work, "setup", "--remove", program.name, "--yes", **env)
        if own.read_text() != BEFORE:
            problems.append(f"{own.name} is not what it was")
        return problems, calls


def _problems(work: Path, env: dict[str, str]) -> list[str]:
    """Return the problems in the records of the tools."""
    printed = run(work, "log", "--sprint", "auth", "--json", **env)
    events: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines()]
    ours = [e for e in events if e["type"] in RECORDED]
    problems = []
    if [e["type"] for e in ours] != RECORDED:
        problems.append(f"recorded {[e['type'] for e in events]}, not {RECORDED}")
    if any(not e["actor"].startswith("agent:") for e in ours):
        problems.append(f"by {sorted({e['actor'] for e in ours})}, not by an agent")
    if ours and len({e["correlation_id"] for e in ours}) != 1:
        problems.append("the records of one run have more than one correlation id")
    return problems
