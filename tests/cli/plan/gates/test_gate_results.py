"""External results of gates, and their places."""

import json
from pathlib import Path

from ...conftest import Gated, Run

TOKEN = "ghp_" + "a1" * 20


def test_takes_a_result_from_elsewhere(gated: Gated, run: Run, done: Run) -> None:
    """An external result follows the same rules, and is marked."""
    gated("true")
    Path("ci.log").write_bytes(b"red \xff " + TOKEN.encode() + b"\n")
    result = run("gate", "record", "--exit-code", "1", "--output-file", "ci.log")
    assert result.code == 6
    assert result.out.endswith(
        "What it printed:\n\n    red \\xff [masked: github-token f65b37ab]\n"
    )
    said = ("--exit-code", 0, "--duration", 1.5, "--attempt", 2)
    answer = done("gate", "record", *said, "--json").json
    verdict = answer["status"], answer["elsewhere"], answer["duration_ms"]
    assert verdict == ("passed", True, 1500)
    assert [e["data"]["elsewhere"] for e in done("log", "--json").lines[-2:]] == [True] * 2


def test_takes_no_file_that_is_not_there(gated: Gated, run: Run) -> None:
    """A missing file is not found, and nothing is recorded."""
    gated("true")
    result = run("gate", "record", "--exit-code", "0", "--output-file", "ci.log")
    assert (result.code, result.err) == (3, "error: ci.log: no such file\n")


def test_appends_by_the_same_rules(gated: Gated, done: Run, run: Run) -> None:
    """`append gate-checked` records an external result; our own runs cannot be faked."""
    gated("true")
    data = {"phase": "build", "exit_code": 0, "output": f"x {TOKEN}", "elsewhere": False}
    done("append", "gate-checked", "--data", json.dumps(data))
    recorded = done("log", "--json").lines[-1]["data"]
    assert (recorded["elsewhere"], recorded["output"]) == (
        True,
        "x [masked: github-token f65b37ab]",
    )
    started = {"phase": "build", "attempt": 1, "run": "r", "pid": 1, "process_started": ""}
    more = {"boot_id": "", "timeout_ms": 1}
    refused = run("append", "gate-started", "--data", json.dumps(started | more))
    assert refused.code == 1
    assert "gate-started cannot be recorded directly" in refused.err


def test_shows_gates(gated: Gated, run: Run, done: Run) -> None:
    """`gate show` lists the gates, or one with all data required for a repair."""
    gated("echo no; exit 2")
    run("gate", "run")
    assert done("gate", "show").out == "build  retrying  1 of 4  echo no; exit 2\n"
    assert done("gate", "show", "--at", "version:4").out.split()[1] == "pending"
    assert "last output:\n  no\n" in done("gate", "show", "--phase", "build").out
    (shown,) = done("gate", "show", "--json").json
    one = done("gate", "show", "--phase", "build", "--json").json
    assert shown == one
    assert (one["status"], one["due"], one["last_exit_code"]) == ("retrying", True, 2)
    assert one["repair_prompt"].startswith("Repair the build.\n")
    status = done("status", "--json").json
    assert status["phases"][0]["gate"] == {
        "status": "retrying",
        "attempts": 1,
        "attempts_max": 4,
    }


def test_shows_no_gates(sprint: Path, run: Run) -> None:
    """A sprint without gates shows none."""
    assert run("gate", "show").code == 3
