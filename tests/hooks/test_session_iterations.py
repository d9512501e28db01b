"""Turns of hooked sessions as iterations: their files, authors and figures."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.goal import CompleteGoal
from sprintlog.engine.sprint.iterations.loop import StartIteration, is_used_up
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.document_fields import ralph_fields
from sprintlog.engine.sprint.state.times import parse
from sprintlog.projections.workspace import Workspace

from .conftest import RECORDED, events_of
from .hooked import HookedSession, Tree


def test_a_turn_with_a_call_is_an_iteration(tree: Tree, session: HookedSession) -> None:
    """A turn in which the agent calls a tool is one iteration with its files and answer."""
    session.start()
    session.work(a="one")
    assert tree.iterations() == ["+1", "-1"]
    (began,) = tree.events(f.IterationStarted)
    (ran,) = tree.runs()
    assert (began.session, began.before is None) == ("claude-s-1", False)
    assert (ran.iteration, ran.output, ran.tool_calls) == (1, "Done.", 1)
    assert ran.turn == f.TurnFacts("claude-s-1", how="startup")
    assert tree.why("a") == "agent 1"


def test_a_question_is_no_iteration(tree: Tree, session: HookedSession) -> None:
    """A turn without a call or a change is recorded as a run without an iteration."""
    session.ask()
    session.stop("It is 42.")
    assert tree.iterations() == []
    assert [(x.iteration, x.output) for x in tree.runs()] == [(None, "It is 42.")]


def test_a_question_does_not_change_the_iteration_before(
    tree: Tree, session: HookedSession
) -> None:
    """An iteration has the marks, the outcome and the usage of its turn alone."""
    session.start("resume")
    session.ask("/loop 1m do it")
    session.call(a="one")
    session.say("PreCompact", trigger="auto")
    session.stop()
    session.ask()
    session.say("StopFailure", error="server_error")
    with Workspace.open(tree.root) as workspace:
        judged = evaluate(workspace.log, tree.sprint())
        marks = "session (/loop, after resume, 1 compaction)"
        assert judged.endings()[1].words == f"completed, {marks}"
        assert judged.spent()[1].runs == 1


def test_a_claim_by_the_first_command_is_of_its_turn(
    tree: Tree, session: HookedSession
) -> None:
    """A claim in a turn without a known call starts its iteration, and is not decided."""
    session.work(a="one")
    session.ask()
    with Workspace.open(tree.root) as workspace:
        workspace.handle(CompleteGoal("done"), sprint_id=workspace.choose(None))
    (claim,) = tree.events(f.GoalClaimed)
    assert (claim.iteration, claim.source) == (2, "wrapped")
    session.call(a="two")
    session.stop()
    assert tree.iterations() == ["+1", "-1", "+2", "-2"]


def test_an_agent_after_its_turn_is_no_person(tree: Tree, session: HookedSession) -> None:
    """Until the session ends, a command below the agent's process is the agent's."""
    session.work(a="one")
    with Workspace.open(tree.root) as workspace:
        claim, sprint_id = CompleteGoal("done"), workspace.choose(None)
        with pytest.raises(RefusedError, match="turn of this agent has ended"):
            workspace.handle(claim, sprint_id=sprint_id, actor="operator")
        session.end()
        workspace.handle(claim, sprint_id=sprint_id, actor="operator")
    assert [x.source for x in tree.events(f.GoalCompleted)] == ["person"]


def test_a_change_without_a_call_is_an_iteration(
    tree: Tree, session: HookedSession
) -> None:
    """A turn that changes a file without a reported call is an iteration."""
    session.ask()
    tree.write(a="one")
    session.stop()
    assert tree.iterations() == ["+1", "-1"]
    assert tree.why("a") == "agent 1"


def test_lines_between_turns_are_a_persons(tree: Tree, session: HookedSession) -> None:
    """A line written between turns is from outside, a line of a turn from its agent."""
    tree.write(a="before")
    session.work(a="one")
    tree.write(a="person")
    session.work(a="two")
    tree.write(a="after")
    found = [tree.why("a", line) for line in range(1, 6)]
    assert found == ["outside", "agent 1", "outside", "agent 2", "outside"]


@pytest.mark.parametrize("is_settled", [True, False])
def test_a_late_start_leaves_the_author_open(
    tree: Tree, session: HookedSession, is_settled: bool
) -> None:
    """If a file changed before the files were saved, its author may also be a person."""
    session.work(a="one")
    tree.write(a="person")
    tree.settles = False
    session.ask()
    tree.settles = True
    tree.write(a="agent")
    if is_settled:
        session.settle()
    session.call()
    session.stop()
    assert tree.why("a", 1) == "agent 1"
    assert {tree.why("a", 2), tree.why("a", 3)} == {"agent-or-outside 2"}


def test_two_sessions_at_once(tree: Tree, session: HookedSession) -> None:
    """A line that either of two overlapping turns may have written belongs to both."""
    other = HookedSession(tree, "codex", "c-1")
    session.ask()
    session.call(a="one")
    other.ask()
    other.call(b="two")
    session.stop()
    other.stop()
    assert tree.iterations() == ["+1", "+2", "-1", "-2"]
    assert (tree.why("a"), tree.why("b")) == ("agent 1", "one-of 1 2")
    session.work(c="three")
    assert tree.why("c") == "agent 3"


def test_a_question_while_another_agent_works(tree: Tree, session: HookedSession) -> None:
    """Files that another agent changes do not make a question an iteration."""
    other = HookedSession(tree, "codex", "c-1")
    for _ in range(2):
        session.ask("why?")
        other.ask()
        other.call(a="two")
        session.stop()
        session.ask("and?")
        other.stop()
        session.stop()
    assert tree.iterations() == ["+1", "-1", "+2", "-2"]
    assert {one.session for one in tree.events(f.IterationStarted)} == {"codex-c-1"}


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_an_answer_that_another_program_refused(tree: Tree, agent: str) -> None:
    """Work after an answer belongs to the same iteration, which ends again."""
    session = HookedSession(tree, agent)
    session.work(a="one")
    session.call(a="two")
    session.stop("Now.", stop_hook_active=True)
    times = [parse(x.at) for x in events_of(tree.log) if x.stream == session.stream]
    tree.write(a="person")
    session.work(a="three")
    assert tree.iterations() == ["+1", "-1", "-1", "+2", "-2"]
    found = [tree.why("a", line) for line in range(1, 5)]
    assert found == ["agent 1", "agent 1", "outside", "agent 2"]
    first, again, _ = tree.runs()
    assert (first.tool_calls, again.tool_calls) == (1, 1)
    seconds = ((first.duration_ms or 0) + (again.duration_ms or 0)) / 1000
    assert seconds == pytest.approx((times[-1] - times[0]).total_seconds(), abs=0.002)


def test_the_rounds_of_a_goal_of_codex(tree: Tree) -> None:
    """A turn without a prompt starts with its first call; an answer alone starts none."""
    session = HookedSession(tree, "codex")
    for turn in ("t-1", "t-2"):
        session.turn = turn
        session.call(a=turn)
        session.stop()
    session.turn = "t-3"
    session.stop()
    assert tree.iterations() == ["+1", "-1", "+2", "-2"]
    assert [tree.why("a", line) for line in (1, 2)] == [
        "agent-or-outside 1",
        "agent-or-outside 2",
    ]


def test_a_persons_own_command_between_turns(tree: Tree, session: HookedSession) -> None:
    """The answer that Claude Code repeats after a person's command ends no turn."""
    session.work(a="one")
    tree.write(a="person")
    session.stop(session_crons=["changed"])
    session.work(a="two")
    assert tree.iterations() == ["+1", "-1", "+2", "-2"]
    found = [tree.why("a", line) for line in range(1, 4)]
    assert found == ["agent 1", "outside", "agent 2"]


def test_a_turn_waits_for_its_background_tasks(tree: Tree, session: HookedSession) -> None:
    """A turn ends with the answer to the last notification, which starts no other."""
    session.ask()
    session.call(a="one")
    session.stop(background_tasks=[{"type": "subagent", "status": "running"}])
    session.call(a="subagent")
    session.ask("<task-notification>done</task-notification>")
    session.call(a="two")
    session.stop("All done.", background_tasks=[])
    assert tree.iterations() == ["+1", "-1"]
    assert [(run.tool_calls, run.output) for run in tree.runs()] == [(3, "All done.")]
    assert {tree.why("a", line) for line in range(1, 4)} == {"agent 1"}


def test_a_subagent_of_copilot_is_part_of_its_turn(tree: Tree) -> None:
    """A subagent with another session id starts no iteration, even if it fails."""
    session = HookedSession(tree, "copilot")

    def say(event: str, **fields: Any) -> None:
        session.say(event, sessionId=fields.pop("sessionId", "s-1"), **fields)

    sub = {"sessionId": "sub-1", "agentId": "sub-1", "parentAgentId": "s-1"}
    say("userPromptSubmitted", prompt="do it", hookName="userPromptSubmitted")
    say("userPromptSubmitted", prompt="look", hookName="userPromptSubmitted", **sub)
    say("postToolUse", hookName="postToolUse", toolName="bash", toolResult={}, **sub)
    say("errorOccurred", hookName="errorOccurred", error="lost", **sub)
    say("postToolUse", hookName="postToolUse", toolName="bash", toolResult={})
    say("agentStop", hookName="agentStop", stopReason="end_turn")
    assert tree.iterations() == ["+1", "-1"]
    (ran,) = tree.runs()
    assert (ran.tool_calls, ran.error, ran.turn and ran.turn.subagents) == (2, None, 1)


def test_turns_do_not_count_towards_the_maximum(tree: Tree, session: HookedSession) -> None:
    """Turns use numbers, but neither the maximum nor the counts of a loop."""
    with Workspace.open(tree.root) as workspace:
        create = CreateSprint(ralph_fields("all tests pass"), max_iterations=1)
        workspace.handle(create, sprint_id="goal")
    for _ in range(6):
        session.ask()
        session.call()
        session.stop()
    sprint = tree.sprint()
    assert sprint.knowledge.iteration_max == 6
    assert sprint.knowledge.tracker.unchanged == sprint.knowledge.loops.failures == 0
    assert not is_used_up(sprint)
    with Workspace.open(tree.root) as workspace:
        workspace.handle(StartIteration(), sprint_id="goal")
        assert is_used_up(workspace.sprint("goal"))


def test_linked_worktrees_have_sprints_of_their_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns in two worktrees of a repository are iterations of two sprints."""
    other = tmp_path / "other"
    for words in (
        ("init", "-q"),
        ("commit", "-q", "--allow-empty", "-m", "first"),
        ("worktree", "add", "-q", str(other)),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    Workspace.init(folder).close()
    trees = [Tree(folder, monkeypatch), Tree(other, monkeypatch)]
    for tree in trees:
        os.chdir(tree.root)
        HookedSession(tree, session=tree.root.name).work(a=tree.root.name)
        assert tree.why("a") == "agent 1"
    with Workspace.open(folder) as workspace:
        assert len(workspace.sprints()) == 2


CALLS = {
    "claude-2.1.197-api-error": [],
    "claude-2.1.197-blocked-stop": [1, 0],
    "claude-2.1.197-http": [4],
    "claude-2.1.197-killed": [],
    "claude-2.1.197": [7],
    "claude-2.1.330": [7],
    "claude-as-copilot-1.0.102": [3],
    "codex-0.169.0": [2],
    "copilot-1.0.102": [3],
    "gemini-0.61.0": [3],
    "opencode-plugin": [3],
}
"""The calls in each run of the only iteration of a recorded session."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_recorded_hooks(tree: Tree, file: Path) -> None:
    """The hooks of a real session become its iteration, once, even if they are repeated."""
    lines = file.read_bytes().splitlines()
    for line in [*lines, *lines]:
        tree.hook(file.stem.partition("-")[0], line)
    runs = [run for run in tree.runs() if run.iteration is not None]
    assert [run.tool_calls for run in runs] == CALLS[file.stem]
    assert {(run.iteration, run.status) for run in runs} <= {(1, "completed")}
