"""A loop towards a goal, with every number right, disturbed or not."""

import random
from pathlib import Path

import pytest

from . import goal_looping as goals

KILLS = 5


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> goals.Goal:
    """Reach the goal undisturbed."""
    folder = tmp_path_factory.mktemp("calm")
    goals.prepare(folder)
    found = goals.bring_to_end(folder, random.Random(7), kills=0)
    names = {path.name for path in (folder / "transcripts").iterdir()}
    kinds = ("learning", "notes")
    wanted = {f"iter-{n}-{kind}.jsonl" for n in range(1, 41) for kind in kinds}
    assert names == wanted
    assert (folder / "transcripts/iter-40-notes.jsonl").read_text() == "notes of 40\n"
    assert goals.idle_after(folder) == goals.idle_counts()
    return found


@pytest.mark.long
def test_every_number_is_right(calm: goals.Goal) -> None:
    """Iterations, idle stretches, reflections, claims, runs, tokens and cost."""
    counts = calm.figures["counts"]
    assert counts["iteration-started"] == counts["iteration-ended"] == goals.ITERATIONS
    assert calm.figures["reflections"] == goals.REFLECTIONS
    assert counts["goal-claimed"] == len(goals.CLAIMS)
    assert counts["iteration-failed"] == len(goals.LIMITED)
    assert counts["retry-scheduled"] == len(goals.REFUSED)
    met = len(goals.LIMITED) + len(goals.REFUSED)
    assert counts["agent-ran"] == goals.ITERATIONS + met
    assert counts["note-added"] == 1
    assert calm.figures["idle"] == 1
    tokens = sum(range(1, goals.ITERATIONS + 1))
    spent = calm.figures["spent"]
    assert (spent["input_tokens"], spent["output_tokens"]) == (tokens, 2 * tokens)
    assert (spent["cost_usd"], spent["turns"]) == (0.25 * 40, 3 * 40)


@pytest.mark.long
def test_every_text_is_kept(calm: goals.Goal) -> None:
    """Ids, prompts and summaries are recorded unchanged and in order."""
    document = calm.life.document
    steps = {step["id"]: step for step in document["dynamic-steps"]}
    ids = ["step-0", "auth-core", "b: c", "step-7", "step-8", "step-9", "étape"]
    assert list(steps)[:7] == ids
    assert steps["auth-core"]["prompt"] == goals.NASTY
    assert (steps["auth-core"]["status"], steps["step-0"]["status"]) == (
        "completed",
        "pending",
    )
    assert steps["step-9"]["prompt"] == "ninth, again"
    assert steps["étape"]["added-in-iteration"] == 9
    assert document["goal"] == goals.GOAL
    assert document["ralph-exit"]["iteration"] == goals.ITERATIONS
    assert document["ralph-exit"]["final-summary"] == 'All: "done"\n# really'
    assert document["stats"]["current-iteration"] == goals.ITERATIONS
    tasks = document["hook-tasks"]
    assert [t["iteration"] for t in tasks[::2]] == list(range(1, goals.ITERATIONS + 1))
    assert {(t["hook-id"], t["status"], t["pid"]) for t in tasks} == {
        ("learning", "completed", None),
        ("notes", "completed", None),
    }


@pytest.mark.long
def test_a_killed_loop_reaches_the_same_goal(calm: goals.Goal, tmp_path: Path) -> None:
    """Killed and started again, document and figures are the same, times aside."""
    goals.prepare(tmp_path)
    killed = goals.bring_to_end(tmp_path, random.Random(11), kills=KILLS)
    assert killed.life.kills == KILLS
    assert killed.life.document == calm.life.document
    assert killed.figures == calm.figures
