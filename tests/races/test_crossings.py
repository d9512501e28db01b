"""Races whose attempts hang, vanish, wait or meet limits, and races beside each other."""

import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from ..adapters.trees import git
from .racing import COMMAND, OPTIONS, Scene, race_words

FAST = {"AGENT_SECONDS": "0.3"}


@pytest.mark.long
def test_an_interrupted_race_is_continued_by_the_same_command(tmp_path: Path) -> None:
    """Ctrl-C ends all attempts, which keep their work; another definition is refused."""
    scene = Scene(tmp_path, AGENT_SECONDS="0.6")
    (scene.main / "notes").write_text("not committed\n")
    process = scene.start(*race_words(), "--", *COMMAND)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "ended by SIGINT; the same command continues"
    assert "the attempts do not contain 1 uncommitted path of this work tree" in err
    scene.await_silence()
    code, _, err = scene.race("--budget-failures", 3)
    assert code == 1
    assert "race race-1 of this work tree is unfinished, and its definition differs" in err
    code, answer, err = scene.race()
    assert (code, answer["winner"]) == (0, 1)
    assert "continuing race race-1" in err


def test_no_agent_outlives_a_killed_supervisor(tmp_path: Path) -> None:
    """If only the supervisor is killed, its runs end their agents at once."""
    scene = Scene(tmp_path, AGENT_1="hang", AGENT_2="hang", AGENT_3="hang")
    process = scene.start(*race_words(), "--", *COMMAND)
    until = time.monotonic() + 30
    while len(scene.calls()) < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    process.kill()
    process.communicate()
    scene.await_silence(15)


def test_two_supervisors_in_one_work_tree_share_the_attempts(tmp_path: Path) -> None:
    """Beside a running race, `join` runs only attempts that nobody runs."""
    scene = Scene(tmp_path, AGENT_SECONDS="0.4", AGENT_3="good")
    first = scene.start(*race_words("--parallel", 1), "--", *COMMAND)
    until = time.monotonic() + 30
    while not scene.calls():
        assert time.monotonic() < until
        time.sleep(0.05)
    code, out, err = scene.run("race", "join", "race-1", "--parallel", 1, "--json")
    first.communicate(timeout=60)
    assert (code, first.returncode) == (0, 0), err
    assert json.loads(out)["ranking"] == scene.shown()["ranking"]
    assert max(scene.calls().values()) <= 6


@pytest.mark.long
def test_a_hanging_and_a_destroyed_attempt_do_not_stop_a_race(tmp_path: Path) -> None:
    """An agent that hangs is ended by its run, and a deleted worktree ends its attempt."""
    scene = Scene(tmp_path, **FAST, AGENT_2="hang", AGENT_3="destroy")
    code, answer, err = scene.race("--idle-timeout", 1, "--budget-failures", 1)
    assert (code, answer["winner"]) == (0, 1), err
    _, hung, gone = answer["attempts"]
    assert hung["state"] == "ended"
    assert gone["reason"] == "its worktree was deleted"
    assert scene.changed() == ""


@pytest.mark.long
def test_without_a_verified_attempt_all_run_to_their_limits(tmp_path: Path) -> None:
    """Attempts that end at different times leave a race without a winner, and status 1."""
    scene = Scene(tmp_path, AGENT_1="cheat", AGENT_2="worse", AGENT_3="worse")
    (scene.main / "agents").write_text(
        f"first: {' '.join(COMMAND)}  # a comment\n\n{' '.join(COMMAND)}\n"
    )
    scene.commit("agents")
    code, out, err = scene.run(
        *("race", "--attempts", "agents", "--json", "--max-iterations", 2, *OPTIONS)
    )
    answer = json.loads(out)
    assert (code, answer["because"], answer["exit_code"]) == (1, "ended", 1), err
    names = [one["name"] for one in answer["attempts"]]
    assert names == ["first", " ".join(COMMAND)]
    assert (answer["winner"], answer["iteration"]) == (2, 2)


def test_a_race_ends_when_the_attempts_spend_its_budget_together(tmp_path: Path) -> None:
    """Shared iterations are summed over all attempts; the status is 25."""
    scene = Scene(tmp_path, **FAST)
    code, answer, err = scene.race("--budget-iterations", 4)
    assert (code, answer["because"]) == (25, "budget"), err
    assert "iterations" in answer["reason"]
    assert 4 <= sum(one["iterations"] for one in answer["attempts"]) <= 4 + 3
    (budget,) = answer["budgets"]
    assert (budget["of"], budget["limit"]) == ("race", 4)


@pytest.mark.long
def test_worktrees_of_a_lost_log_are_never_used_again(tmp_path: Path) -> None:
    """After the log was deleted, a new race has another name and new worktrees."""
    scene = Scene(tmp_path, AGENT_1="good")
    words = ("race", 1, "--json", *OPTIONS)
    assert scene.run(*words, "--", *COMMAND)[0] == 0
    shutil.rmtree(scene.main / ".git" / "sprintlog")
    code, out, _ = scene.run(*words, "--", *COMMAND)
    assert (code, json.loads(out)["race"]) == (0, "race-2")
    shutil.rmtree(scene.main / ".git" / "sprintlog")
    code, _, err = scene.run(*words, "--name", "race-1", "--", *COMMAND)
    assert (code, "race-1 is the name of other sprints or worktrees" in err) == (1, True)


@pytest.mark.long
def test_two_races_run_at_once(tmp_path: Path) -> None:
    """Races with different names share nothing but the log."""
    scene = Scene(tmp_path, AGENT_2="good", AGENT_3="good")
    started = [
        scene.start("race", 2, "--name", name, "--json", *OPTIONS, "--", *COMMAND)
        for name in ("a", "b")
    ]
    answers = [json.loads(one.communicate(timeout=120)[0]) for one in started]
    assert [one.returncode for one in started] == [0, 0]
    assert [one["race"] for one in answers] == ["a", "b"]
    assert scene.changed() == ""


@pytest.mark.long
def test_worktrees_get_submodules_copies_and_their_preparation(tmp_path: Path) -> None:
    """Used submodules are cloned locally, links stay links, and --prepare runs once."""
    scene = Scene(tmp_path, AGENT_1="good")
    for name in ("used", "unused"):
        part = tmp_path / name
        part.mkdir()
        git(part, "init", "-q")
        (part / "file").write_text(name)
        git(part, "add", "file")
        git(part, "commit", "-qm", name)
        allow = ("-c", "protocol.file.allow=always")
        git(scene.main, *allow, "submodule", "add", "-q", str(part), name)
    (scene.main / ".gitignore").write_text("env/\n")
    scene.commit("submodules")
    git(scene.main, "submodule", "deinit", "-q", "-f", "unused")
    (scene.main / "env").mkdir()
    (scene.main / "env" / "link").symlink_to("/etc/passwd")
    for wrong in ("../ledger", ".git/config", "env/none", "/etc/passwd"):
        code, _, err = scene.run("race", 1, "--copy", wrong, *OPTIONS, "--", *COMMAND)
        assert (code, err.count("error:")) == (1, 1), err
    words = ("--copy", "env", "--prepare", "echo $SPRINTLOG_ATTEMPT >> env/prepared")
    code, out, err = scene.run("race", 1, "--json", *words, *OPTIONS, "--", *COMMAND)
    assert code == 0, err
    tree = Path(json.loads(out)["attempts"][0]["path"])
    assert (tree / "used" / "file").read_text() == "used"
    assert not (tree / "unused" / "file").exists()
    assert "note: submodule unused is omitted" in Path(f"{tree}.log").read_text()
    assert os.readlink(tree / "env" / "link") == "/etc/passwd"
    assert (tree / "env" / "prepared").read_text() == "1\n"


@pytest.mark.long
def test_a_race_that_waits_for_a_person_ends_with_the_status_of_its_run(
    tmp_path: Path,
) -> None:
    """A paused attempt is not over: the race ends with 22, and continues later."""
    scene = Scene(tmp_path, AGENT_SECONDS="0.6")
    words = ("race", 1, "--json", *OPTIONS, "--", *COMMAND)
    process = scene.start(*words)
    time.sleep(2)
    process.terminate()
    process.communicate(timeout=60)
    assert scene.run("sprint", "resume", "--sprint", "race-1-1")[0] in (0, 1)
    assert scene.run("sprint", "pause", "--sprint", "race-1-1")[0] == 0
    code, out, _ = scene.run(*words)
    assert (code, json.loads(out)["status"]) == (22, "running")
    assert scene.run("sprint", "resume", "--sprint", "race-1-1")[0] == 0
    assert scene.run(*words)[0] == 0


@pytest.mark.long
def test_attempts_of_a_recorded_race_run_one_by_one(tmp_path: Path) -> None:
    """`--plan-only` runs nothing, and `join --attempt` one attempt; the last decides."""
    scene = Scene(tmp_path, AGENT_2="cheat", AGENT_3="good")
    code, answer, _ = scene.race("--plan-only", "--name", "ci")
    assert (code, {one["state"] for one in answer["attempts"]}) == (0, {"not-started"})
    assert scene.worktrees() == set()
    codes = [scene.run("race", "join", "ci", "--attempt", n)[0] for n in (2, 3)]
    assert codes == [20, 0]
    assert scene.shown()["winner"] == 3
    assert scene.run("race", "join", "ci", "--attempt", 1)[0] == 0
    assert scene.calls()["1"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((2, "--until", "tests_failed=0"), "specify either a COMMAND after `--`"),
        (
            (2, "--measure", "true", "--", "true"),
            "specify --goal, --prompt-file or --until",
        ),
        ((2, "--prompt-file", "P.md", "--", "true"), "P.md is not part of commit"),
        ((2, *OPTIONS, "--name", "a/b", "--", "true"), "must not contain a slash"),
        ((2, *OPTIONS, "--", "./none"), "./none: command not found"),
    ],
)
def test_an_impossible_race_is_refused(
    tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    """A race without an aim, a command or its prompt records nothing."""
    scene = Scene(tmp_path)
    code, _, err = scene.run("race", *words)
    assert code in (1, 2, 3)
    assert message in err
    assert scene.run("race", "show")[0] == 3


def test_a_race_without_room_for_its_worktrees_is_refused_in_one_line(
    tmp_path: Path,
) -> None:
    """If the folder for worktrees cannot be written, one error names it."""
    scene = Scene(tmp_path)
    scene.state.write_text("not a folder")
    code, _, err = scene.run("race", 1, *OPTIONS, "--", sys.executable, "agent.py")
    assert (code, err.count("error:")) == (1, 1)
    assert f"error: cannot create {scene.state}/sprintlog/attempts" in err
