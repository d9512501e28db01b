"""An agent's activity in each output format: calls, changed files, models, sessions."""

import json
import re
from typing import NamedTuple

import pytest

from sprintlog.engine.adapters.agents.items import (
    INTERRUPTED,
    Called,
    FileChanged,
    Returned,
)
from sprintlog.engine.adapters.agents.outcome import (
    CALLS_MAX,
    Activity,
    ActivityCollector,
    ToolCall,
)
from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint.answers.verdict import Answer

from .test_decoding import WORDS, content

PARTS = ["requests", 0, "response"]
Change = tuple[str, str | None, int | None, int | None]


class Did(NamedTuple):
    """Details of a run: its agent, models, answers with their cost, calls."""

    agent: str
    version: str | None
    models: list[str]
    model_calls: int
    calls: list[str]
    files: list[Change]


FILES: list[Change] = [("a.txt", "created", 1, 0), ("a.txt", "changed", 1, 1)]
CLAUDE_CALLS = ["Write ok", "Bash ok", "Bash failed 3", "Edit ok", "Agent ok"]
CHAT = Did(
    "copilot-chat",
    None,
    ["claude-sonnet-4.5"],
    2,
    [
        "copilot_readFile unknown",
        "copilot_createFile unknown",
        "run_in_terminal failed 3",
        "run_in_terminal ok 0",
        "copilot_fetchWebPage failed",
    ],
    [],
)
PI = Did("pi", None, ["claude-sonnet-4-5"], 3, ["write ok", "bash failed 3", "edit ok"], [])
DID = {
    "claude-2.1.197-stream.jsonl": Did(
        "claude",
        "2.1.197",
        ["claude-opus-4-8"],
        8,
        [*CLAUDE_CALLS, "Bash ok by", "Bash failed 1"],
        FILES,
    ),
    "claude-2.1.197-transcript.jsonl": Did(
        "claude", "2.1.197", ["claude-opus-4-8"], 7, [*CLAUDE_CALLS, "Bash failed 1"], FILES
    ),
    "claude-2.1.197-killed-transcript.jsonl": Did(
        "claude", "2.1.197", ["claude-opus-4-8"], 2, ["Bash ok", "Bash unknown"], []
    ),
    "claude-2.1.330-transcript.jsonl": Did(
        "claude", "2.1.330", ["claude-opus-5-5"], 8, [*CLAUDE_CALLS, "Bash failed 1"], FILES
    ),
    "codex-exec-file-changes.jsonl": Did(
        "codex",
        None,
        [],
        0,
        ["file_change ok", "file_change ok"],
        [("b.txt", "created", None, None), ("b.txt", "changed", None, None)],
    ),
    "codex-rollout.jsonl": Did(
        "codex",
        "0.169.0",
        ["gpt-5-codex"],
        5,
        [
            "exec_command ok 0",
            "exec_command failed 3",
            "apply_patch failed",
            "apply_patch failed",
        ],
        [],
    ),
    "codex-rollout-file-changes.jsonl": Did(
        "codex",
        "0.169.0",
        ["gpt-5-codex"],
        3,
        ["exec_command ok 0", "exec_command ok 0"],
        [("b.txt", "created", 1, 0), ("b.txt", "changed", 1, 1)],
    ),
    "gemini-session.jsonl": Did(
        "gemini",
        None,
        ["gemini-2.5-flash"],
        4,
        ["write_file ok", "run_shell_command failed 3", "replace ok"],
        FILES,
    ),
    "copilot-run.jsonl": Did(
        "copilot", None, ["some-model"], 0, ["create ok", "bash failed 3"], []
    ),
    "copilot-events.jsonl": Did(
        "copilot",
        "1.0.102",
        ["claude-sonnet-4.5"],
        4,
        ["create ok", "bash failed 3", "edit ok"],
        FILES,
    ),
    "opencode-plugin.jsonl": Did(
        "opencode",
        "1.18.33",
        ["claude-sonnet-4-5"],
        4,
        ["write ok", "bash failed 3", "edit ok"],
        [("a.txt", "created", None, None), ("a.txt", "changed", 1, 1)],
    ),
}
DID |= {
    "copilot-chat-session.json": CHAT,
    "copilot-chat-session.jsonl": CHAT._replace(model_calls=3),
    "cursor-stream.jsonl": Did(
        "cursor",
        None,
        ["Claude 4.5 Sonnet"],
        0,
        ["edit ok", "shell failed 3", "shell ok 0", "delete failed"],
        [("a.txt", None, 1, 0)],
    ),
    "droid-stream.jsonl": Did(
        "droid",
        None,
        ["claude-opus-4-8"],
        0,
        ["Create ok", "Execute failed 3", "Execute ok 0"],
        [],
    ),
    "pi-run.jsonl": PI,
    "pi-session.jsonl": PI,
}
TRANSCRIPTS = {
    "claude-2.1.197-transcript.jsonl": (840, 280, 7000, 210),
    "claude-2.1.330-transcript.jsonl": (960, 320, 8000, 240),
    "codex-rollout.jsonl": (1000, 250, 4000, 0),
    "codex-rollout-file-changes.jsonl": (600, 150, 2400, 0),
    "gemini-session.jsonl": (1200, 200, 2800, None),
    "copilot-events.jsonl": (480, 160, 4000, 120),
    "opencode-plugin.jsonl": (480, 160, 4000, 120),
    "copilot-chat-session.json": (None, 200, None, None),
    # A request that was edited and sent again used 5 tokens.
    "copilot-chat-session.jsonl": (None, 205, None, None),
    "pi-session.jsonl": (360, 120, 3000, 90),
}
CALL_IDS = re.compile(
    rb'"(?:tool_use_id|toolCallId|callID|call_id)": ?"([^"]+)"'
    rb'|"type":"(?:tool_use|toolCall|tool_call)","id":"([^"]+)"'
    rb'|"toolCalls":\[\{"id":"([^"]+)"'
)


def heard(*printed: bytes) -> tuple[Answer, Activity]:
    """Return the items read from bytes that arrive in pieces."""
    hearing = OutputReader()
    for chunk in printed:
        hearing.feed(chunk)
    return hearing.heard()


def said(call: ToolCall) -> str:
    """Return a short description of a call."""
    how = {True: "ok", False: "failed", None: "unknown"}[call.ok]
    code = "" if call.exit_code is None else f" {call.exit_code}"
    return f"{call.tool} {how}{code}{' by' if call.by else ''}"


@pytest.mark.parametrize("name", DID)
def test_what_was_done(name: str) -> None:
    """Every output format of every agent reports the called tools and their results."""
    expected = DID[name]
    _, activity = heard(content(name))
    assert activity.agent == expected.agent
    assert activity.versions == [expected.version] * bool(expected.version)
    assert activity.models == expected.models or not expected.models
    calls = [one for one in activity.counted if one.duration_ms is None]
    assert len(calls) == expected.model_calls
    assert [said(call) for call in activity.calls] == expected.calls
    files = [
        (one.path.rpartition("/")[2], one.kind, one.added, one.removed)
        for call in activity.calls
        for one in call.changes
    ]
    assert files == expected.files or not expected.files
    assert activity.tool_calls == len(expected.calls)
    assert len(activity.sessions) == 1
    assert activity.unknown == 0


@pytest.mark.parametrize("name", DID)
def test_as_many_calls_as_ids(name: str) -> None:
    """The number of calls equals the number of distinct call ids in the bytes."""
    _, activity = heard(content(name))
    found = {next(filter(None, ids)) for ids in CALL_IDS.findall(content(name))}
    assert activity.tool_calls == len(found) or activity.agent == "codex"
    if activity.agent == "codex":
        began = {
            item["item"]["id"]
            for item in map(json.loads, content(name).splitlines())
            if item["type"] == "item.started"
        }
        assert activity.tool_calls == len(began or found)


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_transcripts(name: str) -> None:
    """A transcript contains the final text and the tokens; each answer is counted once."""
    answer, _ = heard(content(name))
    usage = answer.usage or Usage()
    assert (answer.text, answer.error, answer.is_cut) == (WORDS, None, False)
    assert TRANSCRIPTS[name] == (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_creation_tokens,
    )


def test_a_transcript_with_its_subagents() -> None:
    """The main file and the subagent's file add up to the figures of the result."""
    main = content("claude-2.1.197-transcript.jsonl")
    answer, activity = heard(main, content("claude-2.1.197-subagent.jsonl"))
    result, _ = heard(content("claude-2.1.197-result.json"))
    assert answer.usage is not None
    assert result.usage is not None
    assert answer.usage.input_tokens == result.usage.input_tokens == 1080
    assert answer.usage.cache_read_tokens == result.usage.cache_read_tokens == 9000
    assert answer.text == result.text
    assert [call.by for call in activity.calls if call.by] == ["a183116703d0765ad"]


def test_a_killed_agent_leaves_what_it_spent() -> None:
    """After SIGKILL, the transcript states the tokens, and that the work was cut short."""
    answer, _ = heard(content("claude-2.1.197-killed-transcript.jsonl"))
    assert answer.is_cut
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (240, 80)


def test_what_codex_tells_its_notify_command() -> None:
    """The argument of Codex's `notify` contains session, prompt and final text."""
    first = content("codex-notify.jsonl").splitlines()[0]
    answer, activity = heard(first)
    bare, _ = heard(json.loads(first)[0].encode())
    assert answer == bare == Answer(WORDS)
    assert activity.prompts == 1
    assert activity.sessions == ["01a202a4-138f-7220-8923-21d355f17f8e"]


def test_a_chat_that_is_edited() -> None:
    """A replaced part counts once, and parts after the end do not undo the end."""
    lines = [
        {"kind": 0, "v": {"requests": [{"response": []}], "responderUsername": "C"}},
        *({"kind": 2, "k": PARTS, "v": [{"value": x}], "i": 0} for x in ("All ", "All do")),
        {"kind": 2, "k": PARTS, "v": [{"value": "ne."}]},
        {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1}},
        {"kind": 2, "k": PARTS, "v": [{"value": "All done."}], "i": 0},
        {"kind": 1, "k": ["requests", 0, "vote"], "v": 1},
    ]
    answer, _ = heard("\n".join(map(json.dumps, lines)).encode())
    assert answer == Answer("All done.")
    lines[4] = {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 2}}
    answer, _ = heard("\n".join(map(json.dumps, lines)).encode())
    assert answer.error == INTERRUPTED


def test_cursor() -> None:
    """Cursor's calls have a separate format within messages like those of Claude Code."""
    done = {"success": {"exitCode": 2, "executionTime": 40}}
    shell = {"shellToolCall": {"args": {"command": "make"}, "result": done}}
    edit = {"editToolCall": {"args": {"path": "a.py"}, "result": {"success": {}}}}
    lines = [
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m"},
        _cursor_call("started", "1", {"shellToolCall": {"args": {"command": "make"}}}),
        _cursor_call("completed", "1", shell),
        _cursor_call("completed", "2", edit),
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "duration_ms": 9,
            "result": "done",
            "session_id": "s",
        },
    ]
    answer, activity = heard("\n".join(map(json.dumps, lines)).encode())
    assert (activity.agent, activity.models) == ("cursor", ["m"])
    assert [said(call) for call in activity.calls] == ["shell failed 2", "edit ok"]
    assert activity.calls[0].duration_ms == 40
    assert [one.path for one in activity.calls[1].changes] == ["a.py"]
    assert answer.text == "done"


def _cursor_call(subtype: str, call_id: str, call: object) -> dict[str, object]:
    return {
        "type": "tool_call",
        "subtype": subtype,
        "call_id": call_id,
        "tool_call": call,
        "session_id": "s",
    }


def test_calls_that_are_only_counted() -> None:
    """Gemini's result states the number of called tools; Claude's does not."""
    _, gemini = heard(content("gemini-result.json"))
    counted = json.loads(content("gemini-result.json"))["stats"]["tools"]["totalCalls"]
    assert (gemini.tool_calls, gemini.tells_calls) == (counted, True)
    _, claude = heard(content("claude-2.1.330-result.json"))
    assert not claude.tells_calls


def test_a_model_has_one_name() -> None:
    """The context size is not part of a model's name, and an error's author is ignored."""
    for name in ("claude-2.1.197-stream.jsonl", "claude-refused-stream.jsonl"):
        _, activity = heard(content(name))
        assert activity.models == ["claude-opus-4-8"]


def test_plain_words_did_nothing() -> None:
    """A command with plain text output reports no tool and no session."""
    _, activity = heard(b"tests pass\nall good\n")
    assert activity == Activity(lines=2)


def test_a_nonzero_exit_code_is_a_failure() -> None:
    """A call with a nonzero exit code failed, even if the agent reports success."""
    for name in ("copilot-events.jsonl", "gemini-session.jsonl", "opencode-plugin.jsonl"):
        _, activity = heard(content(name))
        assert [call.ok for call in activity.calls] == [True, False, True]


def test_durations_by_the_clock_of_the_messages() -> None:
    """If no duration is stated, it is the time from the call to its result."""
    _, stated = heard(content("opencode-plugin.jsonl"))
    assert [call.duration_ms for call in stated.calls] == [25, 301, 70]
    _, timed = heard(content("claude-2.1.197-transcript.jsonl"))
    assert all(call.duration_ms is not None for call in timed.calls)


def test_only_the_latest_calls_are_told_one_by_one() -> None:
    """The number of stored calls is limited, but all calls are counted."""
    watching = ActivityCollector()
    for number in range(CALLS_MAX + 5):
        watching.take(Called(f"c{number}", "Bash"))
        watching.take(Returned(f"c{number}", ok=True))
        watching.take(FileChanged(f"c{number}", "a.txt"))
    activity = watching.activity(agent="claude", lines=1, unknown=0)
    assert activity.tool_calls == CALLS_MAX + 5
    assert len(activity.calls) == CALLS_MAX
    assert activity.calls[0].key == "c5"
