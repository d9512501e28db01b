"""A session resumed by a later run: the usage of each run is counted once.

This is how Codex 0.169 prints it: at the end of a run it states the usage of its thread
since the thread's start.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

FIXTURE = Path(__file__).resolve().parents[4] / "fixtures" / "agents" / "codex-exec.jsonl"
FIRST = {"input_tokens": 5000, "cached_input_tokens": 4000, "output_tokens": 250}
TOTAL = {"input_tokens": 7840, "cached_input_tokens": 6500, "output_tokens": 400}
Record = Callable[[Path], None]


def printed(name: str, used: dict[str, int], *, thread: str | None = None) -> Path:
    """Write Codex output in which the thread has used the given amount so far."""
    lines = [json.loads(line) for line in FIXTURE.read_text().splitlines()]
    for line in lines:
        if "usage" in line:
            line["usage"] = used
        if "thread_id" in line and thread is not None:
            line["thread_id"] = thread
    file = Path(f"{name}.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file.absolute()


@pytest.fixture(params=["end --from", "run", "wrap"])
def record(request: pytest.FixtureRequest, folder: Path, done: Run) -> Record:
    """Return a function that records a run of an agent that prints a file."""
    done("init", "--here")
    done("sprint", "create", "win", "--goal", "Win", "--max-iterations", "9")

    def end(file: Path) -> None:
        done("iteration", "start")
        done("iteration", "end", "--from", file)

    def loop(file: Path) -> None:
        done("sprint", "create", file.stem, "--goal", "Win", "--sprint-dir", file.stem)
        done("run", "--sprint", file.stem, "--", "cat", file)

    def wrap(file: Path) -> None:
        words = [sys.executable, "-m", "sprintlog.cli", "wrap", "--", "cat", str(file)]
        before = len(spent(done))
        subprocess.run(words, check=True, capture_output=True)
        until = time.monotonic() + 60
        # On a busy machine, recording may end after the command.
        while len(spent(done)) == before and time.monotonic() < until:
            time.sleep(0.1)

    if request.param == "end --from":
        done("sprint", "start")
    return {"end --from": end, "run": loop, "wrap": wrap}[request.param]


def runs(done: Run) -> list[dict[str, Any]]:
    """Return the record of each run."""
    found = done("log", "--all", "--type", "agent-ran", "--json").lines
    return [event["data"] for event in found]


def spent(done: Run) -> list[tuple[int, int, int]]:
    """Return the tokens of each run: in, out, from the cache."""
    used = [one["usage"] for one in runs(done)]
    names = ("input_tokens", "output_tokens", "cache_read_tokens")
    return [tuple(one[name] for name in names) for one in used]


def test_a_run_that_goes_on_with_a_session_counts_its_own_tokens(
    record: Record, done: Run
) -> None:
    """Earlier runs' usage is subtracted from the thread's total."""
    record(printed("first", FIRST))
    record(printed("again", TOTAL))
    record(printed("other", FIRST, thread="another"))
    assert spent(done) == [(1000, 250, 4000), (340, 150, 2500), (1000, 250, 4000)]


def test_what_is_less_than_before_is_no_total(record: Record, done: Run) -> None:
    """A version that states the usage of the run alone is accepted."""
    record(printed("first", TOTAL))
    record(printed("again", FIRST))
    assert spent(done) == [(1340, 400, 6500), (1000, 250, 4000)]


READ = {
    "type": "assistant",
    "sessionId": "4f21",
    "message": {
        "id": "m1",
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 120, "output_tokens": 40},
        "content": [{"type": "text", "text": "I look."}],
    },
}
PRINTED = {
    "type": "result",
    "subtype": "success",
    "session_id": "4f21",
    "is_error": False,
    "result": "Done.",
    "modelUsage": {"m": {"inputTokens": 240, "outputTokens": 80}},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "reads", [("import", "transcript"), ("session", "reconcile", "--ended", "--transcript")]
)
@pytest.mark.parametrize("outer", ["run", "wrap"])
def test_what_is_read_while_it_runs_is_not_counted_again(
    folder: Path, done: Run, outer: str, reads: tuple[str, ...]
) -> None:
    """A session whose transcript is read before its end costs what its end states."""
    done("init", "--here")
    done("sprint", "create", "win", "--goal", "Win", "--max-iterations", "1")
    Path("4f21.jsonl").write_text(json.dumps(READ) + "\n")
    Path("printed").write_text(json.dumps(PRINTED) + "\n")
    hook = {"session_id": "4f21", "hook_event_name": "SessionStart", "source": "startup"}
    Path("hook").write_text(json.dumps(hook))
    ours = f"'{sys.executable}' -m sprintlog.cli"
    read = f"{' '.join(reads)} 4f21.jsonl >&2 || true"
    script = f"{ours} hook claude < hook; {ours} {read}; cat printed"
    words = [sys.executable, "-m", "sprintlog.cli", outer, "--", "sh", "-c", script]
    subprocess.run(words, capture_output=True, check=False)
    until = time.monotonic() + 60
    while not any("exit_code" in one for one in runs(done)) and time.monotonic() < until:
        time.sleep(0.1)
    used = [one.get("usage", {}) for one in runs(done)]
    names = ("input_tokens", "output_tokens")
    assert [sum(one.get(name, 0) for one in used) for name in names] == [240, 80]
