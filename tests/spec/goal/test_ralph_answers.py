"""The meaning of an agent's answer for a goal; repeating the prompt has no meaning."""

import json

import pytest

from sprintlog.engine.adapters.agents.output import read_answer
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint.answers.items import OpenStep
from sprintlog.engine.sprint.answers.verdict import Turn, Verdict, judge, read_turn

TOLD = """\
# Open steps

## step-0

RALPH_COMPLETE: pretend
  {"status": "goal-complete", "summary": "pretend"}
Say RALPH_COMPLETE: [summary]"""


def read(text: str, told: str = TOLD) -> Verdict:
    """Return the meaning of an answer after this prompt."""
    return read_turn(text, told=told)


def said(**fields: object) -> str:
    """Return an answer with text, and an object on its last line."""
    return "I did it.\n\n" + json.dumps(fields)


def test_continue_names_steps() -> None:
    """Ids of completed steps, texts and objects of open ones, a summary."""
    answer = said(
        status="continue",
        completed=["step-0", "auth: core"],
        pending=["More: 'x'", {"prompt": "y"}, {"id": "b", "prompt": "z"}, {"id": "c"}],
        summary='half "of" it',
    )
    assert read(answer) == Turn(
        "completed",
        summary='half "of" it',
        completed=("step-0", "auth: core"),
        pending=(
            OpenStep("More: 'x'"),
            OpenStep("y"),
            OpenStep("z", "b"),
            OpenStep(None, "c"),
        ),
    )


@pytest.mark.parametrize("fields", [{}, {"completed": None, "pending": [], "summary": 7}])
def test_continue_alone_is_an_iteration_without_changes(fields: dict[str, object]) -> None:
    """Missing, null and empty values change nothing."""
    assert read(said(status="continue", **fields)) == Turn("completed")


def test_the_goal_is_reached() -> None:
    """`goal-complete` reaches the goal, with completed steps and a summary."""
    found = read(said(status="goal-complete", completed=["a"], summary="all"))
    assert found == Turn("completed", summary="all", completed=("a",), is_goal=True)


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"status": "failed", "error": "no compiler"}, "failed", "no compiler"),
        ({"status": "needs-human", "reason": "a key"}, "needs-human", "a key"),
        ({"status": "completed"}, "unknown", "'completed' is unknown"),
        ({"status": "done-ish"}, "unknown", "'done-ish' is unknown"),
        ({"status": None}, "unknown", "'' is unknown"),
    ],
)
def test_nothing_else_counts_as_success(
    fields: dict[str, object], status: str, error: str
) -> None:
    """With an unknown status the outcome is unknown, and the status is named."""
    found = read(said(**fields))
    assert found.status == status
    assert error in (found.reason or found.error or "")


@pytest.mark.parametrize(
    "bad", [7, "", " ", "a\nb", None, {}, {"prompt": ""}, {"id": 7}, ["x"], "x" * 100_001]
)
def test_a_malformed_step_costs_no_other(bad: object) -> None:
    """A malformed step does not prevent the others or the goal."""
    answer = said(
        status="goal-complete", completed=["a", ["x"], 7, "b"], pending=[bad, "more"]
    )
    found = read(answer)
    assert isinstance(found, Turn)
    assert (found.completed, found.is_goal) == (("a", "b"), True)
    wanted = [] if bad != "a\nb" else [OpenStep("a\nb")]
    assert list(found.pending) == [*wanted, OpenStep("more")]


def test_the_names_of_the_documents_mean_the_same() -> None:
    """`completedStepIds`, `pendingSteps` and `goalCompleteSummary` are also accepted."""
    answer = said(
        status="goal-complete",
        completedStepIds=["a"],
        completed=["a", "b"],
        pendingSteps=[{"id": None, "prompt": "y"}],
        summary="this one",
        goalCompleteSummary="all of it",
    )
    assert read(answer) == Turn(
        "completed",
        summary="all of it",
        completed=("a", "b"),
        pending=(OpenStep("y"),),
        is_goal=True,
    )


def test_words_change_no_step() -> None:
    """A text answer is an iteration with a summary but without step changes."""
    assert read("I looked\naround.\n") == Turn("completed", summary="I looked\naround.")
    assert read(" \n").category == "validation"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("RALPH_COMPLETE", None),
        ("All is done.\nRALPH_COMPLETE\n\n", "All is done."),
        ("RALPH_COMPLETE: login works", "login works"),
        ('words\nRALPH_COMPLETE:   "a": b # c', '"a": b # c'),
        ("All done. RALPH_COMPLETE", "All done."),
        ("I looked.\nAll done! RALPH_COMPLETE\n", "I looked.\nAll done!"),
        ("All done. RALPH_COMPLETE: login works", "login works"),
    ],
)
def test_the_marker_is_the_last_line(text: str, summary: str | None) -> None:
    """`RALPH_COMPLETE` as the last sentence reaches the goal."""
    assert read(text) == Turn("completed", summary=summary, is_goal=True)


@pytest.mark.parametrize(
    "text",
    [
        "RALPH_COMPLETE: pretend",
        "as asked:\n  RALPH_COMPLETE: pretend",
        "Say RALPH_COMPLETE: [summary]",
        "RALPH_COMPLETE: yes\nbut not quite",
        " RALPH_COMPLETE: indented",
        "> RALPH_COMPLETE: quoted",
        "`RALPH_COMPLETE`",
        "it is RALPH_COMPLETE",
        "it is done, RALPH_COMPLETE",
        "the word is: RALPH_COMPLETE",
        "All done. RALPH_COMPLETE is what I say",
        "I was asked so. RALPH_COMPLETE: pretend",
        "All done.RALPH_COMPLETE",
        "RALPH_COMPLETED",
        "RALPH_COMPLETE - all",
        "ralph_complete: all",
        'words\n{"status": "goal-complete", "summary": "pretend"}',
        '```json\n{"status": "goal-complete", "summary": "pretend"}\n```',
        said(status="continue", summary="RALPH_COMPLETE: x"),
    ],
)
def test_the_marker_counts_nowhere_else(text: str) -> None:
    """Not repeated, not earlier, not indented, quoted or next to a JSON answer."""
    found = read(text)
    assert isinstance(found, Turn)
    assert not found.is_goal


def test_the_whole_prompt_repeated_means_nothing() -> None:
    """An agent that prints its prompt has neither reached nor changed anything."""
    found = read(TOLD)
    assert found == Turn("completed", summary=TOLD)


def test_reads_the_result_of_an_agents_command_line() -> None:
    """The final text of the result counts, not earlier output."""
    result = {"type": "result", "result": said(status="continue"), "num_turns": 2}
    output = "RALPH_COMPLETE: no\n" + json.dumps(result)
    found = judge(read_answer(output.encode()), exit_code=0, read=lambda text: read(text))
    assert found == Turn("completed", usage=Usage(turns=2))


def test_a_repeated_result_is_none() -> None:
    """A result line in the prompt is not a result of the agent."""
    line = json.dumps({"type": "result", "result": "RALPH_COMPLETE"})
    answer = read_answer(f"so:\n{line}".encode(), told=line)
    found = judge(answer, exit_code=0, read=lambda t: read(t, line))
    assert found == Turn("completed", summary=f"so:\n{line}")
