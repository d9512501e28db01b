"""Text, errors and figures of the agents' output are read, and none is invented."""

import fnmatch
import json
import re
from pathlib import Path

import pytest
from msgspec import structs

from sprintlog.engine.adapters.agents.output import (
    ANSWER_BYTES_MAX,
    LINE_BYTES_MAX,
    OutputReader,
    read_answer,
    with_errors,
)
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint.answers.verdict import Answer

FIXTURES = Path(__file__).parents[3] / "fixtures" / "agents"
WORDS = "All done. RALPH_COMPLETE"
CLAUDE = Usage(
    input_tokens=1200,
    output_tokens=400,
    cache_read_tokens=10_000,
    cache_creation_tokens=300,
    cost_usd=0.0163,
)
CLAUDE_ALL = Usage(
    input_tokens=1200,
    output_tokens=400,
    cache_read_tokens=10_000,
    cache_creation_tokens=300,
    cost_usd=0.0163,
    turns=8,
    duration_ms=3649,
)
ANTIGRAVITY = Usage(
    input_tokens=1200, output_tokens=200, cache_read_tokens=2800, turns=1, duration_ms=4200
)
DROID = Usage(
    input_tokens=1200,
    output_tokens=200,
    cache_read_tokens=2800,
    cache_creation_tokens=300,
    turns=4,
    duration_ms=4200,
)
CURSOR = structs.replace(DROID, turns=None)
FINISHED = {
    "antigravity-result.json": ANTIGRAVITY,
    "antigravity-stream.jsonl": ANTIGRAVITY,
    "claude-2.1.197-result.json": Usage(
        input_tokens=1080,
        output_tokens=360,
        cache_read_tokens=9000,
        cache_creation_tokens=270,
        cost_usd=0.0205875,
        turns=7,
        duration_ms=969,
    ),
    # The last of two results; the number of turns of the first is unknown.
    "claude-2.1.330-result.json": CLAUDE,
    "claude-2.1.330-stream.jsonl": CLAUDE_ALL,
    "claude-2.1.330-array.json": CLAUDE_ALL,
    "codex-exec.jsonl": Usage(
        input_tokens=1000,
        output_tokens=250,
        cache_read_tokens=4000,
        cache_creation_tokens=0,
    ),
    "codex-reconnected.jsonl": Usage(
        input_tokens=1000,
        output_tokens=250,
        cache_read_tokens=4000,
        cache_creation_tokens=0,
    ),
    "gemini-result.json": Usage(
        input_tokens=1200, output_tokens=200, cache_read_tokens=2800
    ),
    "gemini-stream.jsonl": Usage(
        input_tokens=1200, output_tokens=200, cache_read_tokens=2800, duration_ms=2300
    ),
    "copilot-run.jsonl": Usage(duration_ms=921),
    "cursor-result.json": CURSOR,
    "cursor-stream.jsonl": CURSOR,
    "droid-result.json": DROID,
    "droid-stream.jsonl": DROID,
    "opencode-run.jsonl": Usage(
        input_tokens=480,
        output_tokens=160,
        cache_read_tokens=4000,
        cache_creation_tokens=120,
        cost_usd=0.00549,
    ),
    "pi-run.jsonl": Usage(
        input_tokens=360,
        output_tokens=120,
        cache_read_tokens=3000,
        cache_creation_tokens=90,
        cost_usd=0.004,
    ),
}
FAILED = {
    "antigravity-failed.jsonl": (
        "API error: RESOURCE_EXHAUSTED (code 429): the quota is used up."
    ),
    "claude-api-error.jsonl": "API Error: 529 overloaded",
    "claude-refused-stream.jsonl": (
        "API Error: Request rejected (429) \u00b7 Refused by the play (429)"
    ),
    "codex-failed.jsonl": "the usage limit was reached",
    "copilot-chat-failed.json": "the quota is used up",
    "copilot-failed.jsonl": "the quota is used up",
    "cursor-failed.jsonl": "the quota is used up",
    "droid-failed.jsonl": "429 the quota is used up",
    "gemini-error.json": "no key was given",
    "gemini-failed-stream.jsonl": "too many turns",
    "opencode-failed.jsonl": "connection refused",
    "pi-aborted.jsonl": "Request was aborted.",
    "pi-failed.jsonl": (
        '429 {"type":"error","error":{"type":"rate_limit_error",'
        '"message":"the quota is used up"}}'
    ),
}
RECONNECTS = "Reconnecting... 1/5"
STREAMS = [name for name in FINISHED if name.endswith(".jsonl")]


def content(name: str) -> bytes:
    """Return the output of an agent."""
    return (FIXTURES / name).read_bytes()


def test_an_interrupted_run() -> None:
    """Ctrl-C is the reason of its end; other messages are for the program's authors."""
    answer = read_answer(content("claude-interrupted-stream.jsonl"))
    assert answer.error == "error_during_execution: aborted_streaming"
    assert answer.usage == Usage(
        input_tokens=120,
        output_tokens=40,
        cache_read_tokens=1000,
        cache_creation_tokens=0,
        cost_usd=0.0021000000000000003,
        turns=3,
        duration_ms=3173,
    )


def test_errors_on_the_other_stream() -> None:
    """If an agent fails without output, its errors identify the agent and the cause."""
    errors = content("gemini-refused-errors.txt").decode()
    hearing = OutputReader()
    answer, activity = with_errors(hearing.heard(), errors, exit_code=144)
    assert "Refused by the play (400)" in (answer.error or "")
    assert activity.agent == "gemini"
    assert activity.sessions == ["11111111-0000-4000-8000-000000000001"]
    assert (activity.lines, activity.unknown) == (0, 0)


def test_errors_that_count_for_nothing() -> None:
    """Errors do not change a success, and a reason in the output takes precedence."""
    errors = content("gemini-error.json").decode()
    for name, exit_code in (("claude-2.1.330-result.json", 0), ("codex-failed.jsonl", 1)):
        hearing = OutputReader()
        hearing.feed(content(name))
        heard = hearing.heard()
        assert with_errors(heard, errors, exit_code=exit_code) == heard
    words = OutputReader()
    words.feed(b"It went well.\n")
    heard = words.heard()
    assert with_errors(heard, errors, exit_code=0) == heard
    assert with_errors(heard, "no object\n", exit_code=1) == heard


def turned(found: object) -> object:
    """Return JSON with the keys of every object in reverse order."""
    if isinstance(found, dict):
        return {key: turned(found[key]) for key in reversed(found)}
    return [turned(one) for one in found] if isinstance(found, list) else found


@pytest.mark.parametrize("name", FINISHED)
def test_finished_runs(name: str) -> None:
    """The final text and figures of each agent and format; missing ones stay missing."""
    assert read_answer(content(name)) == Answer(WORDS, usage=FINISHED[name])


@pytest.mark.parametrize("name", ["cursor-failed.jsonl", "droid-failed.jsonl"])
def test_zeros_are_no_figures(name: str) -> None:
    """An agent that fails before it knows its tokens states zeros, which are unknown."""
    usage = read_answer(content(name)).usage or Usage()
    assert usage == Usage(duration_ms=usage.duration_ms)


@pytest.mark.parametrize("name", FAILED)
def test_failed_runs(name: str) -> None:
    """Each agent reports its failure, and the reason, in a different way."""
    assert read_answer(content(name)).error == FAILED[name]


@pytest.mark.parametrize("name", FINISHED)
def test_the_order_of_keys_means_nothing(name: str) -> None:
    """Objects are recognized by their contents, at any place."""
    text = content(name).decode()
    if name.endswith(".jsonl"):
        lines = [json.dumps(turned(json.loads(line))) for line in text.splitlines()]
    else:
        lines = [json.dumps(turned(json.loads(text)))]
    assert read_answer("\n".join(lines).encode()) == read_answer(content(name))


@pytest.mark.parametrize("name", FINISHED)
def test_output_comes_in_pieces(name: str) -> None:
    """The meaning of output does not depend on how it is divided."""
    whole, expected = content(name), read_answer(content(name))
    for size in (1, 7, 1000):
        hearing = OutputReader()
        for begin in range(0, len(whole), size):
            hearing.feed(whole[begin : begin + size])
        assert hearing.answer() == expected


@pytest.mark.parametrize("name", FINISHED)
def test_words_of_a_script_around_it(name: str) -> None:
    """A script may print text before and after; its lines are only counted."""
    noisy = b"begins\nat work\n" + content(name) + b"done\n"
    answer = read_answer(noisy)
    assert (answer.text, answer.usage) == (WORDS, FINISHED[name])


@pytest.mark.parametrize("name", STREAMS)
def test_unknown_lines_are_counted(name: str) -> None:
    """Additional content from later agent versions is ignored."""
    lines = content(name).splitlines()
    news = [b'{"type":"news.of-tomorrow","of":{"later":1}}', b'{"half', b"\xff\x00", b"[1]"]
    answer = read_answer(b"\n".join([lines[0], *news, *lines[1:]]))
    expected = read_answer(content(name))
    assert (answer.text, answer.usage) == (expected.text, expected.usage)
    assert answer.unknown == 4


@pytest.mark.parametrize("name", [*FINISHED, *FAILED])
def test_output_that_is_cut_anywhere(name: str) -> None:
    """Truncation never produces an error, or a figure larger than the complete one."""
    whole = content(name)
    expected = read_answer(whole)
    for end in range(0, len(whole.rstrip()), 13):
        answer = read_answer(whole[:end])
        assert answer.error in (None, expected.error, *FAILED.values(), RECONNECTS)
        if answer.usage is not None:
            assert expected.usage is not None
            for field in Usage.__struct_fields__:
                part, all_ = getattr(answer.usage, field), getattr(expected.usage, field)
                assert part is None or all_ is None or part <= all_


def test_a_half_written_last_line_takes_nothing_away() -> None:
    """Earlier text counts; output tokens that are not stated remain absent."""
    answer = read_answer(content("claude-cut-stream.jsonl"))
    assert (answer.text, answer.is_cut) == (WORDS, True)
    assert answer.usage == Usage(
        input_tokens=1080, cache_read_tokens=9000, cache_creation_tokens=270
    )


@pytest.mark.parametrize("name", ["claude-killed-stream.jsonl", "gemini-result.json"])
def test_an_end_in_the_middle_is_no_end(name: str) -> None:
    """A stream that ends during work, or a document without its end, is incomplete."""
    assert read_answer(content(name)[:-9]).is_cut


def test_a_subagents_words_are_not_the_agents() -> None:
    """A subagent's text counts towards the tokens, but is not the agent's answer."""
    lines = content("claude-2.1.330-stream.jsonl").splitlines()
    said_by_sub = [i for i, line in enumerate(lines) if b"I looked. RALPH_COMPLETE" in line]
    answer = read_answer(b"\n".join(lines[: said_by_sub[0] + 1]))
    assert (answer.text, answer.is_cut) == ("Running.", True)


@pytest.mark.parametrize(
    ("name", "mark"), [("codex-exec.jsonl", b'_id":"1'), ("opencode-run.jsonl", b'"id":"p')]
)
def test_two_runs_in_one_output(name: str, mark: bytes) -> None:
    """A script that runs its agent twice spends twice; a repeated result counts once."""
    once = content(name)
    usage, both = (
        read_answer(once).usage,
        read_answer(once + once.replace(mark, mark + b"2")).usage,
    )
    assert usage is not None
    assert both is not None
    assert both.output_tokens == 2 * (usage.output_tokens or 0)
    assert read_answer(once * 2).usage == usage


@pytest.mark.parametrize(
    "text",
    [
        "made it\n",
        "a\nb\nc",
        '{"no": "answer of ours"}',
        "[1, 2]",
        "{ not JSON at all }",
        '{"type": "result", "status": "completed"}',
        'so:\n\n{"type":"result","result":"x"}\n\nis printed\nin that case',
        "\ufeffwords",
    ],
)
def test_everything_else_is_words(text: str) -> None:
    """Unknown messages are the agent's complete text."""
    assert read_answer(text.encode()) == Answer(text)


def test_what_was_told_is_not_its_own() -> None:
    """A line or document that only repeats the prompt is not a result."""
    for name in ("claude-2.1.197-result.json", "gemini-result.json"):
        told = content(name).decode()
        assert read_answer(told.encode(), told=f"Say:\n{told}") == Answer(told)


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"result","result":"x","usage":{"input_tokens":%s}}',
        '{"type":"turn.completed","usage":{"input_tokens":%s,"cached_input_tokens":%s}}',
        '{"response":"x","session_id":"s","stats":{"models":{"m":{"tokens":{"input":%s}}}}}',
        '{"type":"step_finish","sessionID":"s","part":{"tokens":{"input":%s},"cost":%s}}',
        '{"type":"result","total_cost_usd":%s,"modelUsage":{"m":{"inputTokens":%s}}}',
    ],
)
@pytest.mark.parametrize(
    "value", ["-1", "1.5", "true", '"7"', "null", "[]", "{}", "1e999", "9" * 40, "NaN"]
)
def test_a_figure_that_is_none_is_absent(line: str, value: str) -> None:
    """Only valid counts are used, and no invalid one becomes zero."""
    usage = read_answer(line.replace("%s", value).encode()).usage
    assert usage is None or (usage.input_tokens is None and usage.cost_usd != 0)


def test_texts_can_be_written_again() -> None:
    """Half a surrogate pair becomes a character that can be encoded."""
    answer = read_answer(b'{"type":"result","result":"so \\ud83d"}')
    assert answer.text.encode() == "so \ufffd".encode()


def test_a_long_stream_keeps_its_figures() -> None:
    """Steps long before the end are counted, although only the end is stored."""
    steps = content("opencode-run.jsonl").splitlines(keepends=True)
    noise = (
        b'{"type":"tool_use","sessionID":"ses_1","part":{"x":"' + b"y" * 10**6 + b'"}}\n'
    )
    hearing = OutputReader()
    for line in steps:
        hearing.feed(line)
        for _ in range(2 * ANSWER_BYTES_MAX // 10**6 // 4):
            hearing.feed(noise)
    assert hearing.answer().usage == FINISHED["opencode-run.jsonl"]


def test_a_line_without_end_is_passed_over() -> None:
    """Text longer than any message is not stored completely."""
    hearing = OutputReader()
    for _ in range(3 * LINE_BYTES_MAX // 10**6):
        hearing.feed(b'{"x":"' + b"y" * 10**6)
    hearing.feed(b"\n" + content("codex-exec.jsonl"))
    answer = hearing.answer()
    assert (answer.text, answer.unknown) == (WORDS, 1)


def test_every_fixture_has_a_source() -> None:
    """`SOURCES.md` states the origin of each file's format."""
    patterns = re.findall(r"`([^`\s]+\*)`", (FIXTURES / "SOURCES.md").read_text("utf-8"))
    files = {path.name for path in FIXTURES.iterdir()} - {"SOURCES.md"}
    found = {pattern: fnmatch.filter(files, pattern) for pattern in patterns}
    assert all(found.values()), found
    assert {name for names in found.values() for name in names} == files
