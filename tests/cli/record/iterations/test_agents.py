"""`run` and `--report` with the output of the agents' command lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "agents"
SPENT = {
    "antigravity-stream.jsonl": (1200, 200, 2800, None, None),
    "claude-2.1.197-result.json": (1080, 360, 9000, 270, 0.0205875),
    "claude-2.1.330-result.json": (1200, 400, 10_000, 300, 0.0163),
    "claude-2.1.330-stream.jsonl": (1200, 400, 10_000, 300, 0.0163),
    "claude-2.1.330-array.json": (1200, 400, 10_000, 300, 0.0163),
    "codex-exec.jsonl": (1000, 250, 4000, 0, None),
    "gemini-result.json": (1200, 200, 2800, None, None),
    "gemini-stream.jsonl": (1200, 200, 2800, None, None),
    "copilot-run.jsonl": (None, None, None, None, None),
    "cursor-stream.jsonl": (1200, 200, 2800, 300, None),
    "droid-result.json": (1200, 200, 2800, 300, None),
    "droid-stream.jsonl": (1200, 200, 2800, 300, None),
    "opencode-run.jsonl": (480, 160, 4000, 120, 0.00549),
    "pi-run.jsonl": (360, 120, 3000, 90, 0.004),
}
"""Tokens in, out, from the cache and into it, and dollars."""
FIGURES = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "cost_usd",
)
FAILED = {
    "antigravity-failed.jsonl": (
        "API error: RESOURCE_EXHAUSTED (code 429): the quota is used up."
    ),
    "claude-api-error.jsonl": "API Error: 529 overloaded",
    "claude-killed-stream.jsonl": "the agent's output ends before its end of turn",
    "codex-failed.jsonl": "the usage limit was reached",
    "copilot-failed.jsonl": "the quota is used up",
    "gemini-failed-stream.jsonl": "too many turns",
    "opencode-failed.jsonl": "connection refused",
    "pi-aborted.jsonl": "the user stopped the agent",
}


def ran(done: Run) -> list[dict[str, Any]]:
    """Return the record of each run of an agent."""
    return [x["data"] for x in done("log", "--type", "agent-ran", "--json").lines]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SPENT)
def test_reaches_a_goal_and_knows_what_it_cost(
    name: str, folder: Path, run: Run, done: Run, state: Any
) -> None:
    """The final text is found in each agent's format; missing figures remain absent."""
    done("init")
    done("sprint", "create", "win", "--goal", "Do it all")
    assert run("run", "--", "cat", FIXTURES / name).code == 0
    found = [data.get("usage", {}) for data in ran(done)]
    assert [tuple(one.get(n) for n in FIGURES) for one in found] == [SPENT[name]]
    assert state()["ralph-exit"]["final-summary"] == "All done."


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SPENT)
def test_a_finished_run_completes_a_phase(
    name: str, folder: Path, run: Run, done: Run, state: Any
) -> None:
    """A finished run is a success for any agent, and its text is the summary."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: Do it}]")
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    assert run("run", "--", "cat", FIXTURES / name).code == 0
    assert state()["phases"][0]["summary"] == "All done. RALPH_COMPLETE"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FAILED)
def test_a_failed_run_fails_a_phase(
    name: str, folder: Path, run: Run, done: Run, state: Any
) -> None:
    """Exit code 0 does not help an agent that reports a failure or stopped early."""
    (folder / "plan.yaml").write_text(
        "retry: {maxAttempts: 0, maxLimitWaits: 0}\nphases: [{id: a, prompt: Do it}]"
    )
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    assert run("run", "--", "cat", FIXTURES / name).code != 0
    phase = state()["phases"][0]
    assert (phase["status"], phase["error"]) == ("failed", FAILED[name])


def test_an_error_on_standard_error(folder: Path, run: Run, done: Run, state: Any) -> None:
    """An agent that fails with an object on standard error is understood there, too."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: Do it}]")
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    script = f"cat '{FIXTURES / 'gemini-error.json'}' >&2; exit 41"
    assert run("run", "--", "sh", "-c", script).code != 0
    assert state()["phases"][0]["error"] == "no key was given"


@pytest.mark.parametrize("name", [n for n in SPENT if n != "copilot-run.jsonl"])
def test_a_report_tells_what_an_iteration_cost(name: str, folder: Path, done: Run) -> None:
    """`--report` recognizes the output of each agent by its content."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: Do it}]")
    done("init")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "start")
    (folder / "out").write_bytes((FIXTURES / name).read_bytes())
    done("iteration", "end", "--report", "out", "--metric", "loc_total=1")
    events = done("log", "--type", "iteration-measured", "--json").lines
    usage = events[0]["data"]["usage"]
    assert tuple(usage.get(n) for n in FIGURES) == SPENT[name], json.dumps(usage)


def test_what_nobody_said_is_not_shown_as_zero(folder: Path, done: Run) -> None:
    """Tokens of an agent that prints none are absent in `status`, too."""
    done("init")
    done("sprint", "create", "win", "--goal", "Do it all")
    done("run", "--", "cat", FIXTURES / "copilot-run.jsonl")
    spent = done("status", "--json").json["spent"]
    assert spent.pop("duration_ms") >= 0
    assert spent == {"runs": 1, "runs_without_cost": 1, "runs_without_tokens": 1}
    assert "token" not in done("status").out
