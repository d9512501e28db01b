"""Races as users run them: real worktrees, agents that edit files, and a real measure."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from .. import lengths
from .racing import COMMAND, Scene, kill_all, race_words


def check_result(scene: Scene, answer: dict[str, object]) -> None:
    """Check the winner of the three agents, and that nothing is left unlisted."""
    attempts = {one["attempt"]: one for one in answer["attempts"]}  # type: ignore[attr-defined]
    assert (answer["winner"], answer["reason"]) == (1, "only attempt 1 is verified")
    assert (answer["because"], answer["exit_code"]) == ("verified", 0)
    assert attempts[1]["state"] == "verified"
    assert [one["figures"].get("is_verified", False) for one in attempts.values()] == [
        True,
        False,
        False,
    ]
    assert scene.changed() == ""
    listed = {one["path"] for one in attempts.values()}
    assert scene.worktrees() <= listed
    scene.await_silence()


def test_the_verified_attempt_wins_over_a_regression_and_a_tampered_measure(
    tmp_path: Path,
) -> None:
    """The attempt that the measure confirms wins, and the main tree is unchanged."""
    scene = Scene(tmp_path, AGENT_SECONDS="0.3")
    code, answer, err = scene.race()
    assert code == 0, err
    check_result(scene, answer)
    assert answer["iteration"] == 5
    assert answer == scene.shown()
    second, third = answer["attempts"][1:]
    figures = second["figures"]
    assert (second["status"], figures["iteration"], figures["tests_passed"]) == (26, 2, 2)
    assert "Previously passing tests now failing" in second["reason"]
    assert "changed its measure" in third["figures"]["why"]
    tree = Path(answer["attempts"][0]["path"])
    assert (tree / "work.txt").read_text() == "line\n" * 5
    assert tree.stat().st_mode & 0o777 == 0o700
    assert "run `sprintlog race show` to see the race" in scene.run("status")[2]
    # The decided race is not run again, and its name is taken.
    code, _, err = scene.race("--name", "race-1")
    assert code == 1
    assert "race race-1 is decided" in err


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sampled(1)
def test_a_killed_race_ends_in_the_same_way(tmp_path: Path, seed: int) -> None:
    """A race killed at random points is resumed to the same end, without repeated work.

    Every second kill hits only the supervisor: its runs end, and keep their work. An agent
    is called again only if its run was interrupted.
    """
    chance, scene = random.Random(seed), Scene(tmp_path, AGENT_SECONDS="0.4")
    kills = 5 if lengths.is_long else 1
    for number in range(kills):
        process = scene.start(*race_words(), "--", *COMMAND)
        try:
            process.wait(timeout=chance.uniform(0.3, 4.0))
        except subprocess.TimeoutExpired:
            if number % 2 == seed % 2:
                kill_all(process.pid)
            else:
                process.kill()
        process.communicate()
        scene.await_silence()
        if process.returncode == 0:
            break
    if process.returncode != 0:
        code, _, err = scene.race()
        assert code == 0, err
    answer = scene.shown()
    check_result(scene, answer)
    for one in answer["attempts"]:
        _, out, _ = scene.run("log", "--json", "--sprint", one["sprint"])
        events = map(json.loads, out.splitlines())
        ran = [event["data"] for event in events if event["type"] == "agent-ran"]
        done = [one["iteration"] for one in ran if one["status"] == "completed"]
        assert len(done) == len({*done}), ran
        assert scene.calls()[str(one["attempt"])] <= len(done) + kills + 1
