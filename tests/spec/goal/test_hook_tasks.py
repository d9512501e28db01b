"""Hook tasks: their transitions, transcripts, and which are due (LOOP-051 to LOOP-055)."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.runs import EndRun, StartRun
from sprintlog.engine.sprint.answers.verdict import Verdict
from sprintlog.engine.sprint.events import AgentRan, SprintImported
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations.goal import CompleteGoal
from sprintlog.engine.sprint.iterations.hook_tasks import (
    CompleteHook,
    FailHook,
    RunHook,
    SpawnHook,
    hooks_due,
    transcript_of,
)
from sprintlog.engine.sprint.iterations.loop import EndIteration, StartIteration
from sprintlog.engine.sprint.state.words import HOOK_TASK_STATUSES

from ..conftest import Make, Scenario, simple
from ..goals import DOCS, LEARNING, begun, goal, idle

SAY: dict[str, Make] = {
    "spawned": SpawnHook,
    "running": RunHook,
    "completed": CompleteHook,
    "failed": FailHook,
}
ALLOWED = {
    ("spawned", "running"),
    ("spawned", "completed"),
    ("spawned", "failed"),
    ("running", "completed"),
    ("running", "failed"),
}


def hooked(*words: str) -> Scenario:
    """Return a sprint whose hook of iteration 1 had these statuses."""
    scenario = begun(goal(LEARNING, DOCS)).do(StartIteration())
    for word in words:
        scenario.do(SAY[word](hook_id="learning"))
    return scenario


def test_are_due_after_an_iteration_for_a_phase(running: Any) -> None:
    """In standard mode, an iteration's hooks are due when it has ended, as with a goal."""
    plan = {**simple("a", "b"), "per-iteration-hooks": [LEARNING, DOCS]}
    scenario: Scenario = running(plan).do(StartRun(phase="a"))
    assert hooks_due(scenario.sprint.plan) == []
    ran = AgentRan("a", "completed")
    scenario.do(EndRun(ran=ran, verdict=Verdict("completed")), at=scenario.now)
    action = next_action(scenario.sprint, now=scenario.now)
    assert (action.do, action.iteration) == ("hooks", 1)
    assert [hook.id for hook in action.hooks] == ["learning", "docs"]
    scenario.do(SpawnHook(hook_id="learning")).do(SpawnHook(hook_id="docs"))
    assert next_action(scenario.sprint, now=scenario.now).do == "work"


def test_are_not_due_in_a_document_that_came_in(given: Any) -> None:
    """An iteration counted by another tool is not known to have ended here."""
    stats = {"current-iteration": 7}
    document = {"status": "in-progress", "stats": stats, **simple("a")}
    document["per-iteration-hooks"] = [LEARNING]
    scenario: Scenario = given(SprintImported("x", document=document))
    assert hooks_due(scenario.sprint.plan) == []


def test_says_only_what_is_said_of_it() -> None:
    """A status applies to one hook in one iteration; other tasks are unchanged."""
    scenario = hooked("spawned").do(SpawnHook(hook_id="docs")).do(EndIteration())
    scenario.do(StartIteration()).do(SpawnHook(hook_id="learning"))
    scenario.do(CompleteHook(hook_id="learning"))
    scenario.do(FailHook(hook_id="docs", iteration=1))
    told = [(t["iteration"], t["hook-id"], t["status"]) for t in _tasks(scenario)]
    assert told == [
        (1, "learning", "spawned"), (1, "docs", "failed"), (2, "learning", "completed"),
    ]  # fmt: skip


def _tasks(scenario: Scenario) -> list[Any]:
    tasks: list[Any] = scenario.document["hook-tasks"]
    return tasks


def test_has_all_fields_of_the_document() -> None:
    """A task has iteration, hook, status, process while it runs, and transcript."""
    scenario = hooked("spawned").do(RunHook(hook_id="learning", pid=4711))
    task = {
        "iteration": 1,
        "hook-id": "learning",
        "status": "running",
        "pid": 4711,
        "transcript": "transcripts/iter-1-learning.jsonl",
    }
    assert scenario.document["hook-tasks"] == [task]
    scenario.do(CompleteHook(hook_id="learning"))
    ended = {**task, "status": "completed", "pid": None}
    assert scenario.document["hook-tasks"] == [ended]


@pytest.mark.parametrize("state", HOOK_TASK_STATUSES)
@pytest.mark.parametrize("word", HOOK_TASK_STATUSES)
def test_follows_the_table(state: str, word: str) -> None:
    """Only the transitions in the table are allowed; the same status changes nothing."""
    before = ("spawned", state) if state != "spawned" else ("spawned",)
    scenario = hooked(*before).when(SAY[word](hook_id="learning"))
    if state == word:
        scenario.then_nothing()
    elif (state, word) in ALLOWED:
        scenario.go()
        assert scenario.document["hook-tasks"][0]["status"] == word
    else:
        scenario.then_refused(state=state, command=word)


def test_is_spawned_again_when_its_process_is_gone() -> None:
    """A killed loop's hook runs again under the same entry; one that ended does not."""
    scenario = hooked("spawned", "running")
    scenario.when(SpawnHook(hook_id="learning", again=True)).then(
        r.HookTaskSpawned(1, "learning", "transcripts/iter-1-learning.jsonl")
    )
    assert [t["status"] for t in scenario.document["hook-tasks"]] == ["spawned"]
    hooked("spawned", "completed").when(
        SpawnHook(hook_id="learning", again=True)
    ).then_refused(state="completed")


def test_names_an_iteration() -> None:
    """A task belongs to the latest iteration, or to the given one."""
    scenario = hooked("spawned").do(StartIteration())
    scenario.do(SpawnHook(hook_id="learning")).do(
        CompleteHook(hook_id="learning", iteration=1)
    )
    tasks = [(t["iteration"], t["status"]) for t in scenario.document["hook-tasks"]]
    assert tasks == [(1, "completed"), (2, "spawned")]


def test_refuses_what_is_not_there() -> None:
    """An unknown hook, a task never spawned and a time before iterations are refused."""
    with pytest.raises(NotFoundError, match="no active hook nowhere"):
        SpawnHook(hook_id="nowhere").decide(hooked().sprint, "2026-01-15T09:00:00Z")
    with pytest.raises(NotFoundError, match="was not spawned"):
        CompleteHook(hook_id="learning").decide(hooked().sprint, "2026-01-15T09:00:00Z")
    begun(goal(LEARNING)).when(SpawnHook(hook_id="learning")).then_refused(
        containing="no iteration has started"
    )


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a\\..\\x", "a\nb", "\\x"])
def test_no_transcript_leads_out(path: str) -> None:
    """A transcript must be in the sprint's directory, whoever specifies its path."""
    hooked().when(SpawnHook(hook_id="learning", transcript=path)).then_refused(
        field="transcript"
    )


@pytest.mark.parametrize(
    ("hook", "name"),
    [("learning", "learning"), ("a/b", "a_b"), ("../é", "..__"), ("x y\u202e", "x_y_")],
)
def test_names_a_transcript(hook: str, name: str) -> None:
    """The name is `iter-N-HOOK`, without characters that lead to another folder."""
    assert transcript_of(3, hook) == f"transcripts/iter-3-{name}.jsonl"


def due(scenario: Scenario) -> list[str]:
    """Return the ids of the hooks that are due."""
    return [hook.id for hook in hooks_due(scenario.sprint.plan)]


def test_hooks_are_due_when_their_iteration_has_ended() -> None:
    """Each hook is due once, until it is spawned or the next iteration starts."""
    scenario = begun(goal(LEARNING, DOCS)).do(StartIteration())
    assert due(scenario) == []
    assert due(scenario.do(EndIteration())) == ["learning", "docs"]
    assert due(scenario.do(SpawnHook(hook_id="learning"))) == ["docs"]
    assert due(scenario.do(StartIteration())) == []
    assert due(scenario.do(CompleteGoal())) == ["learning", "docs"]


@pytest.mark.parametrize(
    "hook", [{**LEARNING, "enabled": False}, {"workflow": "w"}, {"id": 7}, "learning", None]
)
def test_only_hooks_that_are_switched_on_are_due(hook: Any) -> None:
    """One that is switched off or malformed is ignored."""
    plan = {**goal(), "per-iteration-hooks": [hook, DOCS]}
    assert due(idle(begun(plan), 1)) == ["docs"]


def test_what_others_observed_is_taken_where_it_fits() -> None:
    """An observed end of a task that was not spawned changes nothing."""
    scenario = begun(None, r.HookTaskCompleted(1, "x"), r.HookTaskSpawned(1, "y", "t"))
    assert [t["hook-id"] for t in scenario.document["hook-tasks"]] == ["y"]
