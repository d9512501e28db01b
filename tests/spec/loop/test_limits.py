"""The meaning of a run's end: a wait, a failure or the work's own error, by a table."""

import json
import re
import time
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sprintlog.engine.adapters.agents.output import OutputReader, read_answer, with_errors
from sprintlog.engine.sprint.answers.limit_table import FAILURE, KINDS, PERSON, SIGNS
from sprintlog.engine.sprint.answers.limits import Moment, complaint
from sprintlog.engine.sprint.answers.verdict import Verdict, judge, read_turn
from sprintlog.engine.sprint.state.words import WAITS_FOR

TABLE = tomllib.loads(
    (Path(__file__).parents[3] / "fixtures" / "limits.toml").read_text(encoding="utf-8")
)
CASES = TABLE["case"]
LOCAL = ZoneInfo(TABLE["local"])
NOW = datetime(2026, 10, 5, 20, 0, tzinfo=UTC)
MOMENT = Moment(NOW, ZoneInfo("Europe/Vienna"), ZoneInfo)
HOUR = int(NOW.timestamp()) + 3600
USAGE, OVERLOAD, NETWORK = WAITS_FOR


def claude(result: str = "", **fields: object) -> str:
    """Return the result of Claude Code."""
    given = {"type": "result", "subtype": "success", "is_error": True, "result": result}
    return json.dumps({**given, "session_id": "s", **fields})


def opencode(**data: object) -> str:
    """Return the error of opencode."""
    error = {"name": "APIError", "data": data}
    return json.dumps({"type": "error", "sessionID": "s", "error": error})


def of(
    output: str, exit_code: int = 1, errors: str = "", *, moment: Moment | None = MOMENT
) -> Verdict:
    """Return the result of a command that printed this."""
    answer = read_answer(output.encode())
    return judge(answer, errors=errors, exit_code=exit_code, moment=moment)


def waits(verdict: Verdict) -> tuple[str | None, str | None]:
    """Return the cause of the wait, and its end."""
    limit = verdict.limit
    return (None, None) if limit is None else (limit.waits_for, limit.until)


@pytest.mark.parametrize(
    ("words", "what", "until"),
    [
        ("You've hit your limit · resets 5am (Europe/Vienna)", USAGE, "06T03:00:00Z"),
        ("You've hit your session limit · resets 8pm", USAGE, "06T18:00:00Z"),
        ("You've hit your weekly limit · resets Mon 9am", USAGE, "12T07:00:00Z"),
        (f"Claude AI usage limit reached|{HOUR}", USAGE, "05T21:00:00Z"),
        ("5-hour limit reached ∙ resets 11pm", USAGE, "05T21:00:00Z"),
        ("You've hit your usage limit. Try again in 2h 13m.", USAGE, "05T22:13:00Z"),
        ("usage limit: try again at 11:05 PM.", USAGE, "05T21:05:00Z"),
        ("429 Too Many Requests, retry-after: 30", USAGE, "05T20:00:30Z"),
        ("You exceeded your current quota. Please retry in 34s.", USAGE, "05T20:00:34Z"),
        ("exceeded retry limit, last status: 429 Too Many Requests", USAGE, None),
        ("API Error: Rate limit reached", USAGE, None),
        ("RESOURCE_EXHAUSTED", USAGE, None),
        ("API Error: 500 Internal server error", OVERLOAD, None),
        ("API Error: 529 overloaded_error", OVERLOAD, None),
        ("API Error (503 Service Unavailable)", OVERLOAD, None),
        ("No capacity available for this model", OVERLOAD, None),
        ("API Error: Connection error.", NETWORK, None),
        ("getaddrinfo EAI_AGAIN api.example.com", NETWORK, None),
        ("stream disconnected before completion", NETWORK, None),
        ("TypeError: fetch failed", NETWORK, None),
        ("Request timed out.", NETWORK, None),
    ],
)
def test_every_wording_of_a_limit(words: str, what: str, until: str | None) -> None:
    """An agent's error about a limit is a wait, until its stated end."""
    wanted = (what, until and f"2026-10-{until}")
    assert waits(of(claude(words))) == wanted
    assert waits(of("", errors=f"some remark\n{words}\nbye")) == wanted
    codex = {"type": "turn.failed", "error": {"message": words}}
    assert waits(of(json.dumps(codex))) == wanted
    copilot = {"type": "session.error", "data": {"message": words}}
    assert waits(of(json.dumps(copilot))) == wanted


@pytest.mark.parametrize(
    ("output", "what", "until"),
    [
        (claude("refused", api_error_status=429), USAGE, None),
        (claude("refused", api_error_status=529), OVERLOAD, None),
        (claude("refused", api_error_status=502), OVERLOAD, None),
        (claude("refused", api_error_status=401), None, None),
        (claude("rate limit reached", api_error_status=400), None, None),
        (opencode(message="no", statusCode=429), USAGE, None),
        (opencode(message="insufficient_quota", statusCode=429), None, None),
    ],
)
def test_the_status_decides_before_words(
    output: str, what: str | None, until: str | None
) -> None:
    """A known HTTP status decides about the end, not the wording."""
    assert waits(of(output)) == (what, until)


def test_headers_say_until_when() -> None:
    """A header of an error states the length of the limit."""
    headers = {"Retry-After": "90", "date": "Mon, 05 Oct 2026 20:00:00 GMT"}
    found = of(opencode(message="no", statusCode=429, responseHeaders=headers))
    assert waits(found) == (USAGE, "2026-10-05T20:01:30Z")
    assert found.limit is not None
    assert found.limit.said_by == "Retry-After: 90"


def test_a_rejected_event_of_a_stream_says_until_when() -> None:
    """The field in the stream takes precedence over the error text after it."""
    info = {"status": "rejected", "resetsAt": HOUR, "rateLimitType": "five_hour"}
    event = {"type": "rate_limit_event", "rate_limit_info": info, "session_id": "s"}
    said = claude("You've hit your limit · resets 5am")
    found = of(f"{json.dumps(event)}\n{said}\n")
    assert waits(found) == (USAGE, "2026-10-05T21:00:00Z")
    assert found.limit is not None
    assert found.limit.said_by == f"resetsAt: {HOUR}"


def test_a_limit_that_comes_near_keeps_nobody_from_work() -> None:
    """A warning with other errors, and one before a success, is not a limit."""
    info = {"status": "allowed_warning", "resetsAt": HOUR}
    event = {"type": "rate_limit_event", "rate_limit_info": info, "session_id": "s"}
    failed = of(f"{json.dumps(event)}\n{claude('it broke')}\n")
    assert waits(failed) == (None, None)
    went_well = of(f"{json.dumps(event)}\n{claude('done', is_error=False)}\n", 0)
    assert went_well.status == "completed"


def test_the_agents_own_word_decides() -> None:
    """If Claude's transcript or stream names the error, this takes precedence."""
    content = [{"type": "text", "text": "something"}]
    message = {"role": "assistant", "content": content}
    line = {"type": "assistant", "session_id": "s", "message": message}
    for word, what in (
        ("rate_limit", USAGE),
        ("server_error", OVERLOAD),
        ("unknown", None),
    ):
        output = f"{json.dumps({**line, 'error': word})}\n{claude('something')}"
        assert waits(of(output))[0] == what


def test_the_error_of_gemini_is_on_standard_error() -> None:
    """The object is present, with the code, and the text with the end."""
    message = "You exceeded your current quota. Please retry in 34.07s."
    error = {"type": "ApiError", "message": message, "code": 429}
    errors = json.dumps({"session_id": "s", "error": error})
    answer, _ = with_errors(OutputReader().heard(), errors, exit_code=1)
    found = judge(answer, errors=errors, exit_code=1, moment=MOMENT)
    assert waits(found) == (USAGE, "2026-10-05T20:00:34.070Z")


@pytest.mark.parametrize(
    "words",
    [
        "I made the client wait when the rate limit is reached: retry-after is obeyed.",
        "Handled 429 Too Many Requests and 529 overloaded; resets at 5am are parsed.",
        "Your session limit resets the counter. You've hit your limit is shown then.",
        "The usage limit reached|1760000000 form is parsed, and tried again in 2h.",
        "Usage limits are documented.\nrate limit exceeded",
    ],
)
def test_prose_is_never_a_wait(words: str) -> None:
    """A successful answer about limits is work, whatever its wording."""
    for output in (words, claude(words, is_error=False)):
        found = of(output, 0)
        assert (found.status, found.limit) == ("completed", None)
        turn = judge(
            *(read_answer(output.encode()),),
            exit_code=0,
            moment=MOMENT,
            read=lambda text: read_turn(text, told=""),
        )
        assert (turn.status, turn.limit) == ("completed", None)


@pytest.mark.parametrize(
    "words",
    [
        f"Claude AI usage limit reached|{HOUR}",
        "You've hit your limit · resets 5am (Europe/Vienna)",
        "You've hit your session limit · resets 8pm\n",
        "5-hour limit reached ∙ resets 3pm",
    ],
)
def test_a_notice_alone_is_no_answer(words: str) -> None:
    """A program that prints only its notice and exits with 0 has done no work."""
    for output in (words, claude(words, is_error=False)):
        assert waits(of(output, 0))[0] == USAGE


@pytest.mark.parametrize("exit_code", [0, 1])
@pytest.mark.parametrize("status", ["failed", "blocked", "needs-human"])
def test_the_works_own_error_is_never_a_wait(status: str, exit_code: int) -> None:
    """An agent that reports a failure of the work was not blocked by a limit."""
    own = json.dumps({"status": status, "error": "the API says: rate limit exceeded"})
    assert of(own, exit_code).limit is None
    assert of(claude(own, is_error=False), 0).limit is None


def test_prose_of_a_command_that_failed_is_no_wait() -> None:
    """With another exit code, only lines printed by the program count, not the work's."""
    found = of("The tests fail: connection reset is not handled, nor is a rate limit.")
    assert (found.status, found.limit, found.category) == ("failed", None, "logic")
    assert waits(of("Working …\nAPI Error: Connection error.\n")) == (NETWORK, None)


def test_the_time_limit_of_a_run_is_a_failure() -> None:
    """A run that sprintlog ended is not a wait, whatever it printed before."""
    verdict = judge(
        read_answer(b"usage limit reached"), exit_code=-15, timed_out=True, moment=MOMENT
    )
    assert (verdict.category, verdict.limit) == ("timeout", None)


@pytest.mark.parametrize(
    ("output", "category"),
    [
        (claude(subtype="error_max_turns", is_error=False), "timeout"),
        (claude("Prompt is too long"), "logic"),
        (claude("", is_error=False), "network"),
        (claude("the compiler broke"), "logic"),
    ],
)
def test_failures_are_not_waited_for(output: str, category: str) -> None:
    """Permanent errors are failures, and the policy decides."""
    found = of(output, 0)
    assert (found.status, found.category, found.limit) == ("failed", category, None)


def test_without_a_time_of_its_own_a_wait_is_one_all_the_same() -> None:
    """The end of the limit is then unknown, but not its kind."""
    found = of(claude("You've hit your limit · resets 5am"), moment=None)
    assert waits(found) == (USAGE, None)


def test_the_table_names_what_it_waits_for() -> None:
    """Every row has a known kind, and a wait names its cause."""
    for sign in SIGNS:
        assert sign.kind in KINDS
        assert (sign.waits_for is None) == (sign.kind in (PERSON, FAILURE))
        assert sign.waits_for is None or sign.waits_for in WAITS_FOR
        assert sign.category in ("rate-limit", "network", "timeout", "logic")
        assert sign.waits_for is None or sign.category in ("rate-limit", "network")


def of_case(case: dict[str, Any]) -> Verdict:
    """Return the verdict on a run that prints the output of a case."""
    errors, moment = (
        case.get("errors", ""),
        Moment(datetime.fromisoformat(TABLE["now"]), LOCAL, ZoneInfo),
    )
    return of(case.get("output", "").lstrip(), case["status"], errors, moment=moment)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_case_of_the_fixture(case: dict[str, Any]) -> None:
    """An agent's wording has the meaning and the time stated in the fixture."""
    found, kind = of_case(case), case["kind"]
    assert waits(found) == (case.get("waits-for"), case.get("until"))
    status = {"completed": "completed", PERSON: "needs-human"}.get(kind, "failed")
    assert found.status == status
    if found.status == "needs-human":
        assert found.reason


def test_every_notice_has_a_case() -> None:
    """A row without a case in the fixture would be a guess."""
    said = [f"{x.get('output', '')}{x.get('errors', '')}" for x in CASES]
    for sign in SIGNS:
        if sign.notice:
            assert any(re.search(sign.notice, text, re.IGNORECASE) for text in said), sign
            assert sign.agents


@pytest.mark.parametrize(
    "piece", ["a", "a-", "spend limit ", "api error: 529 {", "it's a "]
)
def test_no_words_of_an_error_take_long(piece: str) -> None:
    """The patterns are linear: an agent's error may be as long as its output."""
    text = piece * (300_000 // len(piece))
    began = time.process_time()
    of(claude(f"{text} resets"))
    of(text, 0)
    assert time.process_time() - began < 10


def test_only_the_end_of_an_answer_is_a_complaint() -> None:
    """Only the last two lines count, if they start like a program's error."""
    answer = "error: old\n\nError: one\nAPI Error: 529\n"
    assert complaint("", answer) == "Error: one\nAPI Error: 529"
    assert complaint("", f"{answer}All is well.\n") == "API Error: 529"
