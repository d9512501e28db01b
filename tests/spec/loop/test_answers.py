"""The meaning of an agent's run: only a clear success counts as one."""

import json
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.output import read_answer
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.runs import EndRun
from sprintlog.engine.sprint.answers.verdict import (
    SUMMARY_CHARS_MAX,
    Answer,
    categorise,
    judge,
)
from sprintlog.engine.sprint.events import AgentRan, PhaseStarted, Usage

from ..conftest import Scenario, simple


def answer(**fields: object) -> str:
    """Return the result JSON of an agent's command line."""
    return json.dumps({"type": "result", "subtype": "success", "is_error": False, **fields})


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        ("made the branch\n", "made the branch"),
        ("two\n\nparagraphs", "two\n\nparagraphs"),
        (answer(result="made it"), "made it"),
        ('{"type":"system"}\n' + answer(result="made it") + "\n", "made it"),
        ('{"status": "completed", "summary": "made it"}', "made it"),
        ('words before\n{"status": "success", "summary": "made it"}', "made it"),
        (
            'words\n```json\n{\n"status": "completed",\n"summary": "made it"\n}\n```',
            "made it",
        ),
        (answer(result='{"status": "completed", "summary": "inner"}'), "inner"),
        ('{"status": "completed"}', None),
        ('{"no": "answer of ours"}', '{"no": "answer of ours"}'),
    ],
)
def test_success(output: str, summary: str | None) -> None:
    """Exit code 0 with text, or a status of success, is a success with a summary."""
    verdict = judge(read_answer(output.encode()), exit_code=0)
    assert (verdict.status, verdict.summary) == ("completed", summary)


@pytest.mark.parametrize(
    ("output", "category", "error"),
    [
        ("", "validation", "without saying anything"),
        (" \n\t", "validation", "without saying anything"),
        (answer(), "network", "without saying anything"),
        ('{"status": "done-ish"}', "validation", "'done-ish' is unknown"),
        ('{"status": null}', "validation", "'' is unknown"),
        ('{"status": "failed", "error": "no compiler"}', "logic", "no compiler"),
        ('{"status": "failed"}', "logic", "gave no reason"),
        (answer(is_error=True, result="429 too many"), "rate-limit", "429"),
        (answer(subtype="error_max_turns"), "timeout", "error_max_turns"),
    ],
)
def test_exit_zero_is_not_enough(output: str, category: str, error: str) -> None:
    """A stated failure is one; silence or an unknown status is an unknown outcome."""
    verdict = judge(read_answer(output.encode()), exit_code=0)
    status = "unknown" if category == "validation" else "failed"
    assert (verdict.status, verdict.category) == (status, category)
    assert error in (verdict.error or "")


@pytest.mark.parametrize(
    ("exit_code", "errors", "category", "error"),
    [
        (1, "", "logic", "exit code 1"),
        (2, "a\nrate limit exceeded\nbye", "rate-limit", "exit code 2: bye"),
        (-9, "", "logic", "ended by signal 9"),
        (None, "", "validation", "ended in an unknown way"),
    ],
)
def test_exit_codes(exit_code: int | None, errors: str, category: str, error: str) -> None:
    """A nonzero exit code is a failure; without one, the outcome is unknown."""
    verdict = judge(Answer("all is well"), errors=errors, exit_code=exit_code)
    status = "unknown" if exit_code is None else "failed"
    assert (verdict.status, verdict.category) == (status, category)
    assert (verdict.error or "").startswith(error)


@pytest.mark.parametrize(
    ("answer", "exit_code", "status", "error"),
    [
        (Answer("half", is_cut=True), 0, "unknown", "ends before its end of turn"),
        (Answer("x", error="cancelled", is_stopped=True), 1, "stopped", "the user"),
        (Answer("half", is_cut=True), -2, "stopped", "the user"),
        (Answer("words of a command"), 130, "stopped", "the user"),
        (Answer("words of a command"), -15, "failed", "ended by signal 15"),
    ],
)
def test_what_is_neither_success_nor_failure(
    answer: Answer, exit_code: int, status: str, error: str
) -> None:
    """Without the agent's end of turn it is unknown, and a user's stop is not a failure."""
    verdict = judge(answer, exit_code=exit_code)
    assert verdict.status == status
    assert error in (verdict.error or "")


def test_time_limit() -> None:
    """A run that was ended at its limit failed with category timeout."""
    verdict = judge(Answer("done"), exit_code=-15, timed_out=True)
    assert (verdict.status, verdict.category) == ("failed", "timeout")


@pytest.mark.parametrize(
    ("answer", "exit_code", "category", "error"),
    [
        (Answer("", error="529 overloaded"), 0, "rate-limit", "529 overloaded"),
        (Answer("done", error="no key"), 1, "logic", "no key"),
        (Answer("half", is_cut=True), -9, "logic", "ended by signal 9: half"),
    ],
)
def test_what_an_agent_says_of_its_end(
    answer: Answer, exit_code: int, category: str, error: str
) -> None:
    """An agent that states a failure, or ends with a failure's exit code, has failed."""
    verdict = judge(answer, exit_code=exit_code)
    assert (verdict.status, verdict.category) == ("failed", category)
    assert error in (verdict.error or "")


@pytest.mark.parametrize(
    ("exit_code", "timed_out"), [(0, False), (1, False), (-15, True), (None, False)]
)
def test_what_it_cost_counts_however_it_ended(
    exit_code: int | None, timed_out: bool
) -> None:
    """The figures of a run that failed or reached its limit are recorded."""
    answer = Answer("x", usage=Usage(input_tokens=5))
    verdict = judge(answer, exit_code=exit_code, timed_out=timed_out)
    assert verdict.usage == Usage(input_tokens=5)


@pytest.mark.parametrize(
    "output",
    [
        '{"status": "needs-human", "human-needed": {"reason": "a key", "details": "d"}}',
        '{"status": "needs-human", "humanNeeded": {"reason": "a key", "details": "d"}}',
        '{"status": "blocked", "reason": "a key", "details": "d"}',
    ],
)
def test_needs_human(output: str) -> None:
    """An agent may request a person, with reason and details."""
    verdict = judge(read_answer(output.encode()), exit_code=0)
    assert (verdict.status, verdict.reason, verdict.details) == (
        "needs-human",
        "a key",
        "d",
    )
    assert verdict.error is None


def test_a_need_keeps_its_error_beside_the_reason(running: Any) -> None:
    """The error and the reason why a person is needed are separate fields."""
    said = '{"status": "needs-human", "error": "401", "reason": "a key"}'
    verdict = judge(read_answer(said.encode()), exit_code=0)
    assert (verdict.error, verdict.reason) == ("401", "a key")
    scenario: Scenario = running(simple("a"), PhaseStarted("a"))
    ran = AgentRan("a", verdict.status)
    scenario.do(EndRun(ran=ran, verdict=verdict), at=scenario.now)
    leaf = scenario.node("a")
    assert (leaf["error"], leaf["human-needed"]) == ("401", {"reason": "a key"})
    told = next_action(scenario.sprint, now=scenario.now)
    assert (told.why, told.error) == ("a key", "401")


@pytest.mark.parametrize(
    ("error", "category"),
    [
        ("HTTP 429 Too Many Requests", "rate-limit"),
        ("API Error: overloaded_error", "rate-limit"),
        ("read ECONNRESET", "network"),
        ("502 Bad Gateway", "network"),
        ("request timed out", "network"),
        ("the tests timed out", "timeout"),
        ("assertion failed in network_test.py", "logic"),
        ("line 4290: no", "logic"),
    ],
)
def test_categories(error: str, category: str) -> None:
    """The category is derived from documented signs in the error, otherwise it is logic."""
    assert categorise(error) == category


def test_usage() -> None:
    """Tokens, cost, turns and duration are taken as stated; missing ones stay missing."""
    tokens = {"input_tokens": 12, "output_tokens": 0, "cache_read_input_tokens": "many"}
    said = answer(result="x", usage=tokens, total_cost_usd=0.25, num_turns=3)
    assert judge(read_answer(said.encode()), exit_code=0).usage == Usage(
        input_tokens=12, output_tokens=0, cost_usd=0.25, turns=3
    )
    assert judge(read_answer(b"x"), exit_code=0).usage is None


def test_long_summary_is_cut() -> None:
    """A summary is limited in length and marked if it is truncated."""
    summary = judge(Answer("x" * 5_000), exit_code=0).summary or ""
    assert len(summary) == SUMMARY_CHARS_MAX
    assert summary.endswith("x…")
