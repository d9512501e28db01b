"""Hooks of iterations: run, recorded, ended with their loop, and repeated after a kill."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run
from ...goals import HANGS_ONCE, HOOK, Make, said, start, tasks, wait_for_nobody
from .test_run import wait_for

pytestmark = pytest.mark.long


def test_hooks_run_for_every_iteration(
    folder: Path, run: Run, goal_agent: Make, state: Any
) -> None:
    """Each gets id, workflow, iteration and prompt; its output is its transcript."""
    shell = 'echo "$HOOK_ID,$HOOK_WORKFLOW,$ITERATION_NUMBER,$SPRINT_ID"; cat; exit $F'
    command = goal_agent(
        "",
        HOOK,
        "id=beside,prompt=Note: it,parallel=true",
        options=("--hook-command", f"F=3; case $HOOK_ID in learning) F=0;; esac; {shell}"),
    )
    assert run(*command).code == 0
    assert sorted(tasks(state)) == [
        (number, hook, status)
        for number in (1, 2, 3)
        for hook, status in (("beside", "failed"), ("learning", "completed"))
    ]
    printed = (folder / "transcripts" / "iter-2-learning.jsonl").read_text()
    assert printed == "learning,house:learn,2,win\n"
    assert (
        "beside,,3,win\nNote: it"
        in (folder / "transcripts" / "iter-3-beside.jsonl").read_text()
    )


@pytest.mark.parametrize(
    ("text", "gets_others"), [("", True), ('[agent]\nenvironment = ["MODEL_KEY"]\n', False)]
)
def test_a_hook_gets_what_is_named(
    folder: Path,
    run: Run,
    goal_agent: Make,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    gets_others: bool,
) -> None:
    """With `agent.environment`, hooks get those variables, plus theirs and PATH."""
    monkeypatch.setenv("MODEL_KEY", "named")
    monkeypatch.setenv("OTHER_KEY", "unnamed")
    command = goal_agent("", f"{HOOK},command=env", "id=beside,parallel=true,command=env")
    (folder / "sprintlog.toml").write_text(text)
    assert run(*command).code == 0
    for hook in ("learning", "beside"):
        printed = (folder / "transcripts" / f"iter-1-{hook}.jsonl").read_text()
        seen = dict(line.partition("=")[::2] for line in printed.splitlines())
        assert (seen["MODEL_KEY"], "OTHER_KEY" in seen) == ("named", gets_others)
        assert seen["SPRINTLOG_ACTOR"] == "agent:hook"
        assert {"PATH", "HOME", "HOOK_ID", "SPRINT_ID"} <= {*seen}


def test_a_hook_without_a_command_is_told_first(
    folder: Path, run: Run, goal_agent: Make, done: Run
) -> None:
    """A hook without a command is refused before anything is done."""
    command = goal_agent("", HOOK)
    result = run(*command)
    assert result.code == 1
    assert "hook learning has no command" in result.err
    assert "--hook-command" in result.err
    assert not (folder / "said.txt").exists()
    done("sprint", "start")
    done("goal", "complete")
    assert run(*command).code == 0


def test_a_transcript_replaces_what_stands_there(
    folder: Path, run: Run, goal_agent: Make, state: Any
) -> None:
    """A link or pipe at a transcript's path is not written to; a folder is reported."""
    command = goal_agent("", f"{HOOK},command=echo mine")
    place = folder / "transcripts"
    place.mkdir()
    (folder / "theirs").write_text("theirs")
    (place / "iter-1-learning.jsonl").symlink_to(folder / "theirs")
    os.mkfifo(place / "iter-2-learning.jsonl")
    (place / "iter-3-learning.jsonl").mkdir()
    assert run(*command).code == 0
    assert (folder / "theirs").read_text() == "theirs"
    assert (place / "iter-1-learning.jsonl").read_text() == "mine\n"
    assert [task[2] for task in tasks(state)] == ["completed", "completed", "failed"]


def test_no_transcript_leaves_the_work_tree(
    folder: Path, run: Run, goal_agent: Make, state: Any, tmp_path_factory: Any
) -> None:
    """If the transcript folder is a link out of the work tree, nothing runs."""
    command = goal_agent("", f"{HOOK},command=echo mine; touch ran")
    outside = tmp_path_factory.mktemp("outside")
    (folder / "transcripts").symlink_to(outside)
    result = run(*command)
    assert "or is a link, which is not followed" in result.err
    assert {task[2] for task in tasks(state)} == {"failed"}
    assert (list(outside.iterdir()), (folder / "ran").exists()) == ([], False)


SLOW = "id=slow,parallel=true,command=echo $$ >> pids; sleep 30 & sleep 30"


def test_a_signal_ends_agent_and_hooks(
    folder: Path, run: Run, goal_agent: Make, state: Any
) -> None:
    """No process is left; the next run repeats the interrupted work."""
    command = goal_agent(HANGS_ONCE, SLOW)
    loop = start(command)
    wait_for(folder / "hung")
    loop.send_signal(signal.SIGTERM)
    loop.communicate(timeout=60)
    assert loop.returncode == 128 + signal.SIGTERM
    pids = [int(pid) for pid in (folder / "pids").read_text().split()]
    for pid in (*pids, int((folder / "hung").read_text())):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert (state()["status"], tasks(state)) == ("interrupted", [(1, "slow", "running")])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_loop_that_was_ended_goes_on_in_its_iteration(
    folder: Path, run: Run, goal_agent: Make, state: Any, done: Run, number: int
) -> None:
    """Number, counters and cost are unchanged; interrupted hooks are run again."""
    hook = "id=slow,parallel=true,command=test -e hung && echo again || sleep 30"
    loop = start(goal_agent(HANGS_ONCE, hook))
    wait_for(folder / "hung")
    answered = done("status", "--json").json
    assert (answered["run"]["state"], answered["run"]["pid"]) == ("running", loop.pid)
    assert f"by process {loop.pid} on" in done("status").out
    loop.send_signal(number)
    loop.communicate(timeout=60)
    wait_for_nobody(folder)
    answered = done("status", "--json").json
    ends = "gone" if number == signal.SIGKILL else "ended"
    assert answered["run"]["state"] == ends
    if number == signal.SIGTERM:
        assert done("next", "--json").json["do"] == "resume"
        done("sprint", "resume")
    told = done("next", "--json").json
    assert (told["iteration"], told["resumed"]) == (2, True)
    assert (answered["idle"], answered["spent"]["runs"]) == (0, 1)
    assert run("run", "--", sys.executable, "agent.py").code == 0
    assert said(folder) == ["1 1 None", "2 1 None", "2 1 None", "3 1 None"]
    assert tasks(state) == [(n, "slow", "completed") for n in (1, 2, 3)]
    assert done("status", "--json").json["spent"]["runs"] == 3
    assert state()["stats"]["current-iteration"] == 3
