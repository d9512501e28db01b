"""`gate run`: verdicts, exit codes, prompts, and records."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Gated, Run, types

State = Callable[[], Any]
TOKEN = "ghp_" + "a1" * 20


def test_passes(gated: Gated, done: Run, state: State) -> None:
    """A gate that passes ends with 0, and its phase is completed."""
    gated("echo fine")
    out = done("gate", "run").out
    assert out == "auth: the gate of build passed  [position 6, version 6]\n"
    assert types(done) == ["gate-started", "gate-checked"]
    phase = state()["phases"][0]
    assert phase["status"] == "completed"
    assert phase["gate-tracking"] == {
        "attempts": 1,
        "status": "passed",
        "last-output": "fine\n",
        "last-exit-code": 0,
    }


def test_fails_with_6(gated: Gated, run: Run) -> None:
    """A failure ends with 6; stdout is the repair prompt, stderr is for people."""
    gated("echo broken; exit 3")
    result = run("gate", "run")
    assert result.code == 6
    assert result.out == (
        "Repair the build.\n\nThe gate of build failed with exit code 3 (attempt 1 of 4).\n"
        "\nIts script:\n\n    echo broken; exit 3\n\nWhat it printed:\n\n    broken\n"
    )
    assert result.err.startswith(
        "error: the gate of build failed: exit code 3 (attempt 1 of at most 4)\nhint: "
    )


def test_blocks_at_last(gated: Gated, run: Run, done: Run, state: State) -> None:
    """Without retries left the sprint blocks; a person can resume it."""
    gated("echo no; test -e repaired", retries=1)
    words = [run("gate", "run", "--json").json["status"] for _ in range(2)]
    assert words == ["retrying", "blocked"]
    assert types(done)[-3:] == ["gate-checked", "gate-blocked", "sprint-blocked"]
    assert run("gate", "run").code == 1
    assert "(gate blocked, 2 of 2 attempts)" in done("status").out
    done("sprint", "resume", "--by", "ana", "--why", "repaired")
    Path("repaired").touch()
    assert done("gate", "run", "--json").json["attempt"] == 1
    assert state()["phases"][0]["status"] == "completed"


def test_prints_no_prompt_when_blocked(gated: Gated, run: Run) -> None:
    """Without a further retry no repair prompt is printed."""
    gated("echo no; exit 1", retries=0)
    result = run("gate", "run")
    assert result.code == 6
    assert result.out.startswith(
        "The gate of build failed with exit code 1 (attempt 1 of 1"
    )
    assert result.out.endswith("\n\nWhat it printed:\n\n    no\n")
    assert "sprintlog sprint resume" in result.err


def test_answers_as_json(gated: Gated, run: Run) -> None:
    """With --json the check's event, the verdict and the prompt are in one object."""
    gated("echo broken; exit 3", retries=0)
    result = run("gate", "run", "--json")
    answer = result.json
    events = answer.pop("events")
    assert [event["type"] for event in events] == [
        "gate-checked",
        "gate-blocked",
        "sprint-blocked",
    ]
    assert {name: answer.pop(name) for name in events[0]} == events[0]
    assert answer.pop("duration_ms") >= 0
    assert answer == {
        "phase": "build",
        "status": "blocked",
        "attempt": 1,
        "attempts_max": 1,
        "exit_code": 3,
        "timed_out": False,
        "left_behind": 0,
        "elsewhere": False,
        "output": "broken\n",
        "output_bytes": 7,
        "output_sha256": hashlib.sha256(b"broken\n").hexdigest(),
        "repair_prompt": None,
    }
    assert (result.code, result.err) == (6, "")


def test_gives_the_script_its_names(
    gated: Gated, done: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """The script runs in the work tree, with sprint, phase and attempt as variables."""
    gated('echo "$SPRINT_ID $PHASE_ID $ATTEMPT_NUMBER $PWD $API_KEY $REGION"')
    monkeypatch.setenv("API_KEY", "not-passed-on")
    monkeypatch.setenv("REGION", "here")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    output = done("gate", "run", "--env", "REGION", "--json").json["output"]
    assert output == f"auth build 1 {folder}  here\n"


def test_has_a_time_limit(gated: Gated, run: Run, done: Run) -> None:
    """A script that exceeds its limit has failed, distinguished from one that exits 124."""
    gated("echo on; sleep 100")
    result = run("gate", "run", "--timeout", "0.2")
    assert result.code == 6
    assert "timed out (attempt 1 of at most 4)" in result.err
    assert "    on\n    [sprintlog: ended at its time limit of 0.2 s]" in result.out
    data = done("log", "--json").lines[-1]["data"]
    assert (data["timed_out"], data["exit_code"]) == (True, 143)


def test_says_what_was_left_running(gated: Gated, run: Run) -> None:
    """A process left by the script is ended, which is reported."""
    gated("sleep 100 & exit 0")
    result = run("gate", "run")
    assert result.code == 0
    assert result.err == (
        "warning: processes left running by the gate of build were stopped: 1\n"
    )


def test_masks_what_a_script_prints(gated: Gated, run: Run, folder: Path) -> None:
    """A token appears neither in the log, nor in the state file, nor in the prompt."""
    (folder / "said").write_text(TOKEN)
    gated("echo token $(cat said); exit 1")
    result = run("gate", "run")
    assert (
        "token [masked: github-token f65b37ab]" in result.out.split("What it printed:")[1]
    )
    tracking = (folder / "PROGRESS.yaml").read_text().split("gate-tracking:")[1]
    assert "[masked: github-token f65b37ab]" in tracking
    assert TOKEN not in tracking
    answer = run("gate", "run", "--no-mask", "--json").json
    assert answer["output"] == f"token {TOKEN}\n"


def test_makes_output_safe_for_a_terminal(gated: Gated, run: Run, state: State) -> None:
    """Escape sequences of a script are made visible, and stored unchanged in the log."""
    gated("printf '\\033[31mred\\0'; exit 1")
    assert "    \\x1b[31mred\\x00\n" in run("gate", "run").out
    assert state()["phases"][0]["gate-tracking"]["last-output"] == "\x1b[31mred\0"


def test_runs_once_under_a_key(gated: Gated, run: Run, done: Run, folder: Path) -> None:
    """A known key returns its check, and the script does not run again."""
    gated("echo x >> ran; exit 1")
    first = run("gate", "run", "--key", "k", "--json").json
    again = run("gate", "run", "--key", "k", "--json")
    assert (again.code, again.json["duplicate"]) == (6, True)
    assert again.json["position"] == first["position"]
    assert (folder / "ran").read_text() == "x\n"
    assert run("gate", "run", "--key", "k", "--timeout", "3").code == 5
    assert len(types(done)) == 2


def test_has_nothing_to_do_once_passed(gated: Gated, done: Run) -> None:
    """A gate that has passed is not run again."""
    gated("true")
    done("gate", "run")
    answer = done("gate", "run", "--phase", "build", "--json").json
    assert answer == {"unchanged": True, "stream": "sprint/auth", "version": 6}


def test_refuses_what_is_not_due(gated: Gated, run: Run) -> None:
    """A gate runs only if its phase waits for it."""
    gated("true")
    assert run("gate", "run", "--phase", "ship").err.startswith(
        "error: phase ship has no gate\n"
    )
    assert run("gate", "run", "--phase", "nowhere").code == 3
    assert run("phase", "reopen", "build/one").code == 0
    result = run("gate", "run")
    assert result.code == 1
    assert "the gate of phase build cannot be checked: build/one is pending" in result.err


def test_is_what_completes_the_phase(gated: Gated, run: Run) -> None:
    """A sprint is not completed while a gate is open, and the next command is printed."""
    gated("true")
    run("phase", "skip", "ship")
    result = run("sprint", "complete")
    assert result.code == 1
    assert "waits for a gate\nhint: `sprintlog gate run` first" in result.err


def test_a_script_that_edits_the_state_file_keeps_its_verdict(
    gated: Gated, run: Run, done: Run, folder: Path
) -> None:
    """If edits are refused the result is recorded, and the edit stays."""
    gated("echo 'mine: true' >> PROGRESS.yaml")
    done("iteration rules set", "--progress-edits", "refuse")
    assert run("gate", "run").code == 0
    assert (folder / "PROGRESS.yaml").read_text().endswith("mine: true\n")
    assert run("note", "x").code == 1
    done("rebuild")
    assert "status: passed" in done("show", "progress").out


def test_tells_of_an_edit_found_before(gated: Gated, run: Run, folder: Path) -> None:
    """A hand edit found by the first refresh is reported, although a second one follows."""
    gated("true")
    (folder / "PROGRESS.yaml").write_text("mine: true\n")
    assert "was edited by others" in run("gate", "run").err


def test_a_stop_at_a_gate_ends_with_its_last_words(
    gated: Gated, run: Run, done: Run
) -> None:
    """The gate's last output is shown with the reason of the block."""
    gated("echo first; echo only 17 tests; exit 3", retries=0)
    assert run("gate", "run").code == 6
    assert "details: only 17 tests\n" in done("status").out
    assert done("next", "--json").json["details"] == "only 17 tests"
