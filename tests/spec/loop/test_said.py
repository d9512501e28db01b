"""The parts of an answer besides the outcome, each separate and bounded."""

import json
from typing import Any

import pytest

from sprintlog.engine.journal import parts
from sprintlog.engine.sprint.answers import items as s
from sprintlog.engine.sprint.answers.items import (
    OpenStep,
    SaidItems,
    SaidLearning,
    SaidRequest,
    read_said,
)
from sprintlog.engine.sprint.answers.verdict import said_beside
from sprintlog.engine.sprint.queue import decisions

REQUEST = {"title": "Crash", "priority": "high", "type": "bug"}


def problems(**own: Any) -> tuple[str, ...]:
    """Return the omitted parts of an answer."""
    return read_said(own).problems


def test_reads_all_forms_of_the_documents() -> None:
    """Requests, proposed steps, learnings and step ids are read as stated."""
    context = {"discoveredIn": "login", "relatedFiles": ["a.ts"]}
    found = read_said(
        {
            "status": "completed",
            "operatorRequests": [
                {**REQUEST, "id": "V1StGXR8", "description": "no mail", "context": context}
            ],
            "proposedSteps": [
                {"prompt": "Test it", "reasoning": "none is there", "priority": "low"}
            ],
            "learnings": [{"type": "build-command", "content": "make", "context": "ci"}],
            "completedStepIds": ["step-0"],
            "pendingSteps": [{"id": "step-1", "prompt": "x"}],
        }
    )
    step = {"step": {"prompt": "Test it"}, "reasoning": "none is there"}
    assert found == SaidItems(
        (
            SaidRequest("Crash", "high", "bug", "no mail", "V1StGXR8", context),
            SaidRequest("Test it", "low", "improvement", "Test it", context=step),
        ),
        (SaidLearning("make", "build-command", "ci"),),
        ("step-0",),
        (OpenStep("x", "step-1"),),
    )


def test_a_proposed_step_keeps_what_it_is_injected_by() -> None:
    """The context contains prompt, id, model and the requested position."""
    step = {"id": "t", "prompt": "Long\nwork", "model": "opus", "insertAfter": "build"}
    (found,) = read_said({"proposedSteps": [{**step, "title": " T "}]}).requests
    assert (found.title, found.priority, found.description) == ("T", "medium", "Long\nwork")
    assert found.context == {"step": step}
    assert decisions.step_of({"type": found.request_type, "context": found.context}) == step


def test_plain_texts_are_enough() -> None:
    """A proposed step and a learning may be texts."""
    found = read_said({"proposedSteps": ["First line\nmore"], "learnings": ["so it is"]})
    assert found.requests[0].title == "First line"
    assert found.learnings == (SaidLearning("so it is"),)


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (7, "operatorRequests[1]: is not an object"),
        ({**REQUEST, "title": " "}, "operatorRequests[1].title"),
        ({**REQUEST, "title": None}, "operatorRequests[1].title"),
        ({**REQUEST, "priority": "urgent"}, "operatorRequests[1].priority"),
        ({**REQUEST, "priority": ["high"]}, "operatorRequests[1].priority"),
        ({**REQUEST, "type": {}}, "operatorRequests[1].type"),
    ],
)
def test_a_malformed_item_costs_itself_alone(bad: object, field: str) -> None:
    """One problem names the field; the other items are accepted."""
    other = {**REQUEST, "title": "Other"}
    found = read_said({"operatorRequests": [REQUEST, bad, other], "learnings": ["x"]})
    assert [one.title for one in found.requests] == ["Crash", "Other"]
    assert found.learnings
    (problem,) = found.problems
    assert problem.startswith(field)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", "a\nb"),
        ("id", "x" * 129),
        ("description", 7),
        ("context", "text"),
        ("context", {"big": 2**64}),
        ("context", {"far": float("inf")}),
        ("context", {"long": "x" * s.CONTEXT_BYTES_MAX}),
        ("context", json.loads('{"a":' * 20 + "1" + "}" * 20)),
    ],
)
def test_a_malformed_field_that_may_lack_costs_no_item(name: str, value: object) -> None:
    """The request is accepted without the field, which one problem names."""
    found = read_said({"operatorRequests": [{**REQUEST, name: value}]})
    assert found.requests == (SaidRequest("Crash", "high", "bug"),)
    (problem,) = found.problems
    assert problem.startswith(f"operatorRequests[0].{name}: ")


def test_what_is_no_list_is_named() -> None:
    """A value that is not a list loses its contents, and nothing else."""
    own = {"operatorRequests": {}, "proposedSteps": "x", "learnings": 7, "pending": True}
    assert problems(**own) == (
        "operatorRequests: is not a list",
        "proposedSteps: is not a list",
        "learnings: is not a list",
        "pending: is not a list",
    )


def test_decisions_of_an_agent_are_not_read() -> None:
    """A request that calls itself approved is a request like any other."""
    asked = {**REQUEST, "status": "approved", "decision": {"decision": "approve"}}
    assert read_said({"operatorRequests": [asked]}) == SaidItems(
        (SaidRequest("Crash", "high", "bug"),)
    )


def test_no_request_brings_a_step_of_its_own_in() -> None:
    """A person reads only the title, so only a proposed step has a step in its context."""
    asked = {**REQUEST, "context": {"step": {"prompt": "rm -rf"}, "file": "a"}}
    found = read_said({"operatorRequests": [asked]})
    assert found.requests[0].context == {"file": "a"}
    assert "context.step" in found.problems[0]


def test_an_answer_is_bounded() -> None:
    """Of too many items, the first are accepted; too many problems are counted."""
    many = [{**REQUEST, "title": str(n)} for n in range(s.REQUESTS_MAX + 50)]
    found = read_said({"operatorRequests": many, "learnings": [7] * 1000})
    assert len(found.requests) == s.REQUESTS_MAX
    assert found.problems[0] == "operatorRequests: only the first 100 of 150 are taken"
    assert len(found.problems) == s.PROBLEMS_MAX + 1
    assert found.problems[-1].startswith("32 more")


def test_texts_are_bounded() -> None:
    """Titles have one line; long texts are truncated, except tasks."""
    asked = {**REQUEST, "title": "a\n b" * 100, "description": "x" * 20_000}
    found = read_said({"operatorRequests": [asked], "learnings": ["x" * 20_000]})
    assert len(found.requests[0].title) == s.TITLE_CHARS_MAX
    assert "\n" not in found.requests[0].title
    assert len(found.requests[0].description or "") == s.TEXT_CHARS_MAX
    assert len(found.learnings[0].content) == s.TEXT_CHARS_MAX
    (problem,) = problems(proposedSteps=["x" * (s.PROMPT_CHARS_MAX + 1)])
    assert problem.startswith("proposedSteps[0]: is longer than")


def test_knows_the_journals_types() -> None:
    """The types of learnings are the journal's, which knows no sprint."""
    assert s.LEARNING_TYPES == parts.LEARNING_TYPES
    assert (s.STEP, s.IMPROVEMENT) == (decisions.STEP, decisions.IMPROVEMENT)


def test_only_an_object_at_the_end_says_anything() -> None:
    """Plain text, an object in its middle and repetitions of the prompt have no effect."""
    line = json.dumps({"operatorRequests": [REQUEST]})
    assert said_beside(f"Done.\n{line}") == read_said({"operatorRequests": [REQUEST]})
    assert said_beside(f"```json\n{line}\n```") is not None
    assert said_beside(f"{line}\nand more words") is None
    assert said_beside(f"Done.\n{line}", told=f"End with\n{line}\n") is None
    assert said_beside('{"status": "completed"}') is None
    assert said_beside('{"other": 1}') is None


def test_a_large_answer_is_read_in_bounds() -> None:
    """A megabyte of requests brings no more than a hundred of bounded length."""
    big = [{**REQUEST, "title": f"{n}", "description": "x" * 9_000} for n in range(150)]
    found = said_beside(json.dumps({"operatorRequests": big}))
    assert found is not None
    assert len(found.requests) == s.REQUESTS_MAX
