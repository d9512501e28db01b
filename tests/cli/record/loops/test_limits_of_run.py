"""`run` and the notices of agents: a wait, a person, a failure, or completed work."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

CASES = tomllib.loads(
    (Path(__file__).resolve().parents[4] / "fixtures" / "limits.toml").read_text(
        encoding="utf-8"
    )
)["case"]
ENDS = {
    # A wait or a pause after a failure ends `run --no-wait`; the completed run reaches the
    # iteration limit.
    "wait-until": 1,
    "wait-and-retry": 1,
    "person": 24,
    "completed": 20,
    "failure": 1,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_each_notice_ends_a_run_by_its_kind(
    case: dict[str, Any], folder: Path, run: Run, done: Run
) -> None:
    """A notice is never a completed iteration, and its kind decides what follows."""
    (folder / "output").write_text(case.get("output", "").lstrip())
    (folder / "errors").write_text(case.get("errors", ""))
    script = f"cat > /dev/null; cat errors >&2; cat output; exit {case['status']}"
    done("init")
    done("sprint", "create", "g", "--goal", "x", "--max-iterations", "1")
    result = run("run", "--rest", "0", "--no-wait", "--", "sh", "-c", script)
    assert result.code == ENDS[case["kind"]], result.out + result.err
    ran = done("log", "--type", "agent-ran", "--json").lines[-1]["data"]
    assert (ran.get("limit") or {}).get("waits_for") == case.get("waits-for")
    assert (ran["status"] == "completed") == (case["kind"] == "completed")
    assert len(done("log", "--type", "iteration-ended", "--json").lines) == (
        case["kind"] == "completed"
    )
