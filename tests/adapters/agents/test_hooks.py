"""Agents' hooks: each format, the stored part of a call, and duplicate reports."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.adapters.hooks.hook_calls import HookPlace
from sprintlog.engine.adapters.hooks.hook_input import HookHeard, OddHookError, hear_hook
from sprintlog.engine.log.codec import encode
from sprintlog.engine.sessions.events import SessionEnded, SessionStarted, ToolCalled
from sprintlog.engine.sessions.names import key_of

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
RECORDED = [
    *sorted((FIXTURES / "hooks").glob("*.jsonl")),
    FIXTURES / "agents" / "opencode-plugin.jsonl",
]
PLACE = HookPlace("/w/shop", "/w")
each = pytest.mark.parametrize("file", RECORDED, ids=lambda path: str(path.stem))

CLAUDE_CALLS = [
    "Write ok a.txt created +1 -0",
    "Bash ok",
    "Bash failed 3",
    "Edit ok a.txt changed +1 -1",
]
COPILOT_CALLS = ["create ok a.txt created +1 -0", "bash failed 3", "edit ok a.txt changed"]
CALLS = {
    "claude-2.1.197": [*CLAUDE_CALLS, "Bash ok by", "Agent ok", "Bash failed 1"],
    "claude-2.1.330": [*CLAUDE_CALLS, "Agent ok", "Bash failed 1", "Bash ok by"],
    "claude-2.1.197-api-error": [],
    "claude-2.1.197-blocked-stop": ["Bash ok"],
    "claude-2.1.197-http": [
        "Write ok ~/shop-two/a.txt created +1 -0",
        "Bash ok",
        "Edit ok ~/shop-two/a.txt changed +1 -1",
        "Bash ok by",
    ],
    "claude-2.1.197-killed": ["Bash ok"],
    "claude-as-copilot-1.0.102": [
        "Write ok a.txt created +1 -0",
        "Bash failed 3",
        "Edit ok a.txt changed",
    ],
    "codex-0.169.0": ["Bash unknown", "Bash unknown"],
    "copilot-1.0.102": COPILOT_CALLS,
    "gemini-0.61.0": [
        "write_file ok a.txt created +1 -0",
        "run_shell_command failed 3",
        "replace ok a.txt changed +1 -1",
    ],
    "opencode-plugin": [
        "write ok a.txt created +1 -0",
        "bash failed 3",
        "edit ok a.txt changed +1 -1",
    ],
}
"""The calls reported by the hooks of each recorded run."""


def lines_of(file: Path) -> list[bytes]:
    """Return the input of the hooks of a run."""
    return file.read_bytes().splitlines()


def agent_of(file: Path) -> str:
    """Return the agent that called the hooks."""
    return file.stem.partition("-")[0]


def heard_in(file: Path) -> list[HookHeard]:
    """Return the events reported by the hooks of a run."""
    return [hear_hook(agent_of(file), line, PLACE) for line in lines_of(file)]


def hook(**fields: Any) -> bytes:
    """Return the input of a hook of Claude Code after a command."""
    given = {
        "session_id": "s-1",
        "cwd": "/w/shop",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "true"},
        "tool_use_id": "toolu_1",
        **fields,
    }
    return json.dumps(given).encode()


def call_of(content: bytes, agent: str = "claude") -> ToolCalled:
    """Return the call that a hook reports."""
    event = hear_hook(agent, content, PLACE).event
    assert isinstance(event, ToolCalled)
    return event


def said(call: ToolCalled) -> str:
    """Return a short description of a call."""
    words = [call.tool, {True: "ok", False: "failed", None: "unknown"}[call.ok]]
    if call.exit_code is not None:
        words.append(str(call.exit_code))
    for one in call.files:
        words += filter(None, [one.path, one.change])
        words += [] if one.added is None else [f"+{one.added}", f"-{one.removed}"]
    return " ".join([*words, *(["by"] if call.subagent else [])])


@each
def test_every_recorded_hook_is_understood(file: Path) -> None:
    """Each hook of a recorded run belongs to the session, and its calls are unchanged."""
    told = {heard.key: heard for heard in heard_in(file) if heard.event}
    calls = [h.event for h in told.values() if isinstance(h.event, ToolCalled)]
    assert [said(call) for call in calls] == CALLS[file.stem]
    assert len({heard.stream for heard in told.values()}) == 1


@each
def test_the_same_event_has_the_same_key_in_any_order(file: Path) -> None:
    """Duplicate reports, in any order, produce the same events under the same keys."""
    heard = heard_in(file)
    shuffled = [*heard, *heard]
    Random(7).shuffle(shuffled)
    once = {h.key: h.event for h in heard if h.event}
    assert {h.key: h.event for h in shuffled if h.event} == once
    assert len({encode(event) for event in once.values()}) <= len(once)


@each
def test_nothing_that_files_hold_is_kept(file: Path) -> None:
    """No event contains written or printed text; prompts and answers are recorded."""
    written = b"".join(encode(h.event) for h in heard_in(file) if h.event)
    for words in (b"hello", b"from-subagent\\n", b"On branch"):
        assert words not in written


@pytest.mark.parametrize(
    ("stem", "transcript"),
    [("claude-2.1.197", None), ("codex-0.169.0", "codex-rollout.jsonl")],
)
def test_a_transcript_gives_calls_the_same_keys(stem: str, transcript: str | None) -> None:
    """A call has the same key in a hook as in the stream or the transcript."""
    name = transcript or "claude-2.1.197-transcript.jsonl"
    hearing = OutputReader()
    hearing.feed((FIXTURES / "agents" / name).read_bytes())
    ids = {call.key for call in hearing.heard()[1].calls}
    for heard in heard_in(FIXTURES / "hooks" / f"{stem}.jsonl"):
        if isinstance(heard.event, ToolCalled) and not heard.event.subagent:
            assert heard.event.call in ids
            assert heard.key == key_of(heard.stream, "tool-called", heard.event.call)


def test_whose_hook_it_is_is_told_by_its_fields() -> None:
    """An agent that runs another agent's hooks is recognized by their input."""
    as_claude = FIXTURES / "hooks" / "claude-as-copilot-1.0.102.jsonl"
    assert {h.stream.split("-")[0] for h in heard_in(as_claude)} == {"session/copilot"}
    codex = lines_of(FIXTURES / "hooks" / "codex-0.169.0.jsonl")[1]
    assert hear_hook("claude", codex).stream.startswith("session/codex-")


def test_secrets_in_commands_are_masked_before_they_are_cut() -> None:
    """A secret at the end of a truncated command leaves no part of it."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    command = "x" * 500 + f" {secret[:40]}"
    found = call_of(hook(tool_input={"command": command})).command or ""
    assert len(found) <= 512
    assert "ghp_a1" not in found


def test_a_patch_is_told_by_its_lines_alone() -> None:
    """Lines that Codex adds to files are counted, but not stored as a command."""
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+one\n+two\n*** Update File: old.py\n"
        "@@\n-a\n+b\n+c\n*** Delete File: gone.py\n*** End Patch"
    )
    call = call_of(hook(tool_name="apply_patch", tool_input={"command": patch}), "codex")
    told = "new.py created +2 -0 old.py changed +2 -1 gone.py deleted"
    assert said(call) == f"apply_patch unknown {told}"
    assert call.command is None


def test_a_command_cannot_say_how_it_ended_itself() -> None:
    """Text about exit codes in a command's output is not an exit code of the agent."""
    fake = hook(tool_response="Exit code: 0\n", turn_id="t", model="m")
    assert call_of(fake, "codex").ok is None
    gave = {"llmContent": "Output: Exit Code: 0\nExit Code: 0\nExit Code: 3\nPGID: 4"}
    told = hook(tool_name="run_shell_command", tool_response=gave)
    assert call_of(told, "gemini").exit_code == 3


def test_a_resumed_session_starts_and_ends_again() -> None:
    """A resumed start and an end without a turn are distinguished by earlier events."""
    start = hook(hook_event_name="SessionStart", source="resume")
    heard = hear_hook("claude", start)
    assert isinstance(heard.event, SessionStarted)
    assert heard.counts == "prompt-given"
    end = hear_hook("claude", hook(hook_event_name="SessionEnd", reason="other"))
    assert isinstance(end.event, SessionEnded)
    assert end.counts == "session-started"


ODD = [
    ("claude", b""),
    ("claude", b"not JSON"),
    ("claude", hook()[:-9]),
    ("claude", b"[1, 2]"),
    ("claude", b'{"session_id": 4, "hook_event_name": "Stop"}'),
    ("claude", hook(hook_event_name="NextYearsEvent")),
    ("claude", hook(session_id="")),
    ("gizmo", hook()),
    ("claude", b"[" * 100_000),
]
"""Input that no hook of an agent receives."""


@pytest.mark.parametrize(("agent", "content"), ODD)
def test_odd_input_is_an_error_with_a_reason(agent: str, content: bytes) -> None:
    """Invalid input results in a reason, and causes no other failure."""
    with pytest.raises(OddHookError, match=r"."):
        hear_hook(agent, content)


@pytest.mark.parametrize("seed", range(40))
def test_any_values_in_known_fields_do_no_harm(seed: int) -> None:
    """Any values in a hook's fields result in an event or a reason."""
    chance = Random(seed)
    values: list[Any] = [None, 1, -1, 2**80, 1.5, True, "", "\ud800", "x" * 9000, [], {}]
    values += [{"filePath": 3, "structuredPatch": [{"lines": [1, "+x"]}]}, ["a", {"b": 1}]]
    for line in lines_of(RECORDED[seed % len(RECORDED)]):
        message = json.loads(line)
        for name in list(message):
            if chance.random() < 0.4:
                message[name] = chance.choice(values)
        try:
            heard = hear_hook("claude", json.dumps(message).encode(), PLACE)
        except OddHookError:
            continue
        if heard.event is not None:
            assert len(encode(heard.event)) < 200_000


def test_odd_sessions_get_plain_names() -> None:
    """A session id with unusual characters also results in a valid stream name."""
    for name in ("../../etc", "a b", "x" * 500, "\x1b[31m", "ünï"):
        stream = hear_hook("claude", hook(session_id=name)).stream
        assert stream.isascii()
        assert stream.isprintable()
        assert len(stream) < 120
        assert "/" not in stream.removeprefix("session/")
