"""Writers to be killed: commands, whole processes, coprocesses, callers of the library."""

import json
import os
import random
import sys
from functools import partial
from pathlib import Path

import msgspec

# Imported before the fork, so that a writer spends its life on the log.
import sprintlog.cli.work.append  # noqa: F401
from sprintlog.engine.command import digest_of
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.commands import to_event
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections import Workspace

from .. import children, clocks
from ..children import Child
from ..ledger import Line

COPROCESS, LIBRARY, COMMAND, PROCESS = "coprocess", "library", "command", "process"
LINES_MAX = {COPROCESS: 12, LIBRARY: 5, COMMAND: 1, PROCESS: 1}
"""How many lines one life of each kind is given at most."""


def start_writer(
    kind: str, line: Line | None, *, seed: int, root: Path, errors: Path
) -> Child:
    """Start a writer; one that records a single line gets it now."""
    if kind == COPROCESS:
        body = partial(children.command_line, ["append", "--json"], seed=seed)
    elif kind == LIBRARY:
        body = partial(_call_library, root, seed)
    elif line is None:
        raise ValueError("a command needs its line")
    else:
        body = partial(run_writer, kind, line, seed=seed)
    return children.fork(body, root=root, errors=errors)


def run_writer(kind: str, line: Line, *, seed: int | None = None) -> int:
    """Record one line in this forked process, as a new interpreter if requested."""
    if kind == PROCESS:
        return children.execute(append_arguments(line))
    return children.command_line(append_arguments(line), seed=seed)


def append_arguments(line: Line) -> list[str]:
    """Return the arguments of a command line that records a line."""
    data = json.dumps(line.data)
    return [
        "append", line.type, "--stream", f"sprint/{line.sprint}", "--data", data,
        "--key", line.token, "--observed", "--json",
    ]  # fmt: skip


def _call_library(root: Path, seed: int) -> int:
    """Open the workspace again for every input line, with a wrong clock."""
    chance = random.Random(seed)
    for text in sys.stdin:
        line = msgspec.convert(json.loads(text)["line"], Line)
        with Workspace.open(root, clock=clocks.lying_clock(chance)) as workspace:
            event = to_event(line.type, line.data)
            arguments = {"type": line.type, "data": msgspec.to_builtins(event)}
            outcome = workspace.handle_with(
                line.sprint,
                partial(_decide, event),
                key=line.token,
                key_digest=digest_of("append", {**arguments, "to": line.sprint}),
                observed=True,
            )
            recorded = outcome.events[0]
            answer = {
                "position": recorded.position,
                "stream": recorded.stream,
                "version": recorded.version,
                "id": recorded.id,
                "type": recorded.type,
                "hash": recorded.hash.hex(),
                "duplicate": outcome.duplicate,
            }
            os.write(1, msgspec.json.encode(answer) + b"\n")
            workspace.refresh(line.sprint)
    return 0


def written_for(kind: str, line: Line) -> bytes:
    """Return a line as a running writer of this kind reads it."""
    if kind == LIBRARY:
        return json.dumps({"line": msgspec.to_builtins(line)}).encode() + b"\n"
    return json.dumps(line.fields).encode() + b"\n"


def _decide(event: Event, sprint: Sprint, at: str) -> list[Event]:
    return [event]
