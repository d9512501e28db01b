"""Hooks of agents at their limits: a log that is locked, sessions of 100,000 calls."""

import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from sprintlog.engine.adapters.hooks.hook_calls import HookPlace
from sprintlog.engine.adapters.hooks.hook_input import hear_hook
from sprintlog.engine.log.stores import open_log
from sprintlog.engine.service.agent_sessions import spool
from sprintlog.projections.workspace import wall_clock
from tests.faults.runner import is_slow

from ..commands import answers, clean_environment, run
from ..criterion import Verdict

HOOKS, LOCKED_SECONDS, HOOK_SECONDS_MAX = 8, 10, 1.0
CALLS, CALLS_OF_A_SESSION = 100_000, 1_000
PAIRS, RATIO_MAX = 15, 1.1
TRIES = 20
BYTES_OF_A_CALL_MAX = 1_500
AT = "2026-01-15T09:00:00Z"


def after_tool(session: str, number: int) -> bytes:
    """Return Claude Code's hook input after a command, or after an edit."""
    given: dict[str, object] = {
        "session_id": session,
        "transcript_path": f"/home/user/.claude/projects/-shop/{session}.jsonl",
        "cwd": "/srv/shop",
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PostToolUse",
        "tool_use_id": f"toolu_01A09kq90qW90f{number:08d}",
        "duration_ms": number % 9000,
    }
    if number % 2:
        given |= {
            "tool_name": "Bash",
            "tool_input": {"command": f"python -m pytest -q tests/shop/test_{number}.py"},
            "tool_response": {"stdout": "12 passed in 0.41s", "stderr": ""},
        }
    else:
        path = f"/srv/shop/src/cart/model_{number}.py"
        given |= {
            "tool_name": "Edit",
            "tool_input": {"file_path": path, "old_string": "a\n", "new_string": "b\nc\n"},
            "tool_response": {"filePath": path},
        }
    return json.dumps(given).encode()


def eight_while_locked(data: Path, seed: int) -> Verdict:
    """Eight simultaneous hooks each end within a second, and the log gets all events."""
    problems = []
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        work = Path(name)
        run(work, "init", "--here")
        with ThreadPoolExecutor(HOOKS) as pool:
            usual = list(pool.map(lambda n: _hook_seconds(work, n, "free"), range(HOOKS)))
        with _held(work), ThreadPoolExecutor(HOOKS) as pool:
            began = time.monotonic()
            took = list(pool.map(lambda n: _hook_seconds(work, n, "locked"), range(HOOKS)))
            time.sleep(max(0.0, began + LOCKED_SECONDS - time.monotonic()))
        waiting = len(list((work / ".sprintlog" / "spool").iterdir()))
        run(work, "sprint", "create", "s", "--goal", "Do it all")
        for number in range(TRIES):
            # A command imports spooled events for some seconds; on a busy machine the next
            # continues.
            if not (work / ".sprintlog" / "spool").exists():
                break
            run(work, "note", f"Still here {number}")
        told = [
            e
            for e in answers(work, "log", "--session", "locked")
            if e["type"] == "tool-called"
        ]
        known = {event["data"]["call"] for event in told}
    if waiting != HOOKS:
        problems.append(f"{waiting} of {HOOKS} waited while the log was locked")
    if len(known) != HOOKS or len(told) != HOOKS:
        problems.append(f"{len(told)} events of {len(known)} calls were recorded")
    if is_slow(max(took), limit=HOOK_SECONDS_MAX, usual=max(usual)):
        problems.append(f"the slowest took {max(took):.2f} s")
    said = ", ".join(f"{seconds:.2f}" for seconds in sorted(took))
    counts = f"{len(known)} of {HOOKS} recorded; seconds: {said}; {max(usual):.2f} unlocked"
    return Verdict(not problems, counts, problems)


def many_calls(data: Path, seed: int) -> Verdict:
    """Check that 100,000 calls take little space and do not slow down `status`."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        without, with_calls = Path(name) / "without", Path(name) / "with"
        for work in (without, with_calls):
            work.mkdir()
            run(work, "init", "--here")
            run(work, "sprint", "create", "s", "--goal", "Do it all")
            run(work, "sprint", "start")
            record(work, CALLS_OF_A_SESSION, after=CALLS)
        before = _size(with_calls)
        record(with_calls, CALLS)
        size = (_size(with_calls) - before) / CALLS
        pairs = []
        for number in range(2 * PAIRS):
            order = (without, with_calls) if number % 2 else (with_calls, without)
            spent = {work: _status_seconds(work) for work in order}
            pairs.append(spent[with_calls] / spent[without])
    ratio = statistics.median(pairs)
    problems = []
    if size > BYTES_OF_A_CALL_MAX:
        problems.append(f"a call takes more than {BYTES_OF_A_CALL_MAX} bytes")
    if ratio > RATIO_MAX:
        problems.append(f"status takes more than {RATIO_MAX} times as long")
    counts = f"{size:.0f} bytes a call; status takes {ratio:.2f} times as long"
    return Verdict(not problems, counts, problems)


def record(work: Path, calls: int, *, after: int = 0) -> None:
    """Record a number of tool calls like hooks, in sessions of a thousand."""
    log = open_log(
        str(work / ".sprintlog" / "log.db"), clock=wall_clock, entropy=os.urandom
    )
    with closing(log):
        for number in range(after, after + calls):
            session = f"4b1d7e0c-90f2-4c1b-8a49-{number // CALLS_OF_A_SESSION:012d}"
            content = after_tool(session, number)
            heard = hear_hook("claude", content, HookPlace("/srv/shop", "/home/user"))
            assert heard.event is not None
            draft = spool.draft_of(
                heard.stream,
                heard.event,
                key=heard.key,
                counts=heard.counts,
                at=AT,
                correlation="",
            )
            spool.append(log, draft)


@contextmanager
def _held(work: Path) -> Iterator[None]:
    database = work / ".sprintlog" / "log.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")
        yield
        held.execute("ROLLBACK")


def _hook_seconds(work: Path, number: int, session: str) -> float:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", "hook", "claude"],
        cwd=work,
        env=clean_environment(),
        input=after_tool(session, number),
        capture_output=True,
        check=False,
    )
    took = time.monotonic() - began
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return took


def _status_seconds(work: Path) -> float:
    """Return the processor time of one `status`, as a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(work, "status")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _size(work: Path) -> int:
    """Return the size of a log in bytes; there must be no files next to its database."""
    with closing(sqlite3.connect(work / ".sprintlog" / "log.db")) as held:
        held.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = work / ".sprintlog"
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
