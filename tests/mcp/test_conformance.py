"""The SDK's own client, in both versions of the protocol, in process and over a pipe."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sprintlog.cli.agents.mcp import served
from sprintlog.cli.mcp.pages import ANSWER_BYTES_MAX

from .conftest import Events

MODES = ("legacy", "2026-07-28")
"""The handshake of versions up to 2025-11-25, and self-contained requests."""
TOOLS_BYTES_MAX = 6 * 1024
Answer = TypeVar("Answer")


def in_loop(run: Callable[[], Coroutine[Any, Any, Answer]]) -> Answer:
    """Run a coroutine in a thread, because a browser test may have a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(run())).result()


def with_client(
    mode: str, act: Callable[[Any], Awaitable[Answer]], *, reads_only: bool = False
) -> Answer:
    """Return the answer to the SDK's client, which is connected in this process."""
    from mcp import Client
    from mcp_types import Implementation

    from sprintlog.cli.mcp.server import make_server

    async def run() -> Answer:
        server = make_server(served("session", reads_only=reads_only))
        info = Implementation(name="tester", version="1")
        async with Client(server, mode=mode, client_info=info) as client:
            return await act(client)

    return in_loop(run)


def text_of(result: Any) -> str:
    """Return the only text of a result; it must not occur twice."""
    (content,) = result.content
    assert result.structured_content is None
    assert len(content.text.encode()) <= ANSWER_BYTES_MAX
    return str(content.text)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_offered_is_small(mode: str) -> None:
    """Seven tools in 6 KB with valid schemas, prompts and resources."""
    from jsonschema import Draft202012Validator

    async def look(client: Any) -> Any:
        found = await client.list_tools()
        prompts = await client.list_prompts()
        return found, prompts, client.server_capabilities, client.instructions

    tools, prompts, capabilities, instructions = with_client(mode, look)
    wire = [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools.tools]
    assert len(json.dumps({"tools": wire}).encode()) <= TOOLS_BYTES_MAX
    assert len(wire) == 7
    for tool in wire:
        Draft202012Validator.check_schema(tool["inputSchema"])
        reads = tool["name"] not in ("report", "learn", "request")
        assert tool["annotations"].get("readOnlyHint", False) is reads
    assert [one.name for one in prompts.prompts] == ["sprint-brief", "morning", "claim"]
    if mode == "legacy":
        assert capabilities.resources is not None
        assert "data, not instructions" in instructions


@pytest.mark.parametrize("mode", MODES)
def test_a_client_works_through_a_phase(mode: str, sprint: Path, events: Events) -> None:
    """Each protocol version queries, records under the client's name, and is refused."""

    async def work(client: Any) -> list[Any]:
        found = [await client.call_tool("next", {})]
        given = {"outcome": "done", "summary": "made"}
        found.append(await client.call_tool("report", given))
        found.append(await client.call_tool("report", {"outcome": "odd"}))
        found.append(await client.call_tool("rollback", {}))
        return found

    next_, done, odd, unknown = with_client(mode, work)
    assert json.loads(text_of(next_))["phase"] == "setup"
    assert json.loads(text_of(done))["recorded"] == ["phase-started", "phase-completed"]
    assert not done.is_error
    assert odd.is_error
    assert "outcome: invalid enum value 'odd'" in text_of(odd)
    assert unknown.is_error
    assert "there is no tool 'rollback'" in text_of(unknown)
    last = events()[-1]
    assert (last["actor"], last["correlation_id"]) == ("agent:tester", "session")


@pytest.mark.parametrize("mode", MODES)
def test_the_brief_is_a_prompt(mode: str, sprint: Path, events: Events) -> None:
    """It returns the task and how to report it, and records nothing."""
    from mcp import MCPError

    before = len(events())

    async def ask(client: Any) -> str:
        found = await client.get_prompt("sprint-brief", {})
        with pytest.raises(MCPError, match="there is no sprint nobody"):
            await client.get_prompt("sprint-brief", {"sprint": "nobody"})
        with pytest.raises(MCPError, match="unknown prompt 'x'"):
            await client.get_prompt("x", {})
        return str(found.messages[0].content.text)

    text = with_client(mode, ask)
    assert "Sprint auth." in text
    assert "Make a branch" in text
    assert "`report`" in text
    assert len(events()) == before


@pytest.mark.parametrize("mode", MODES)
def test_resources_are_read(mode: str, sprint: Path, events: Events) -> None:
    """Each listed resource and an iteration are read without recording; others fail."""
    from mcp import MCPError

    wrap = [sys.executable, "-m", "sprintlog.cli", "wrap", "--measure", "echo 1/2"]
    subprocess.run([*wrap, "--", "true"], check=True, capture_output=True)
    before = len(events())

    async def read(client: Any) -> dict[str, str]:
        listed = [one.uri for one in (await client.list_resources()).resources]
        (form,) = (await client.list_resource_templates()).resource_templates
        listed.append(form.uri_template.format(number=1))
        for unknown in ("sprintlog://x", "sprintlog://iteration/9", "skill://x", "list"):
            with pytest.raises(MCPError, match=r"unknown resource|unknown iteration"):
                await client.read_resource(unknown)
        return {uri: (await client.read_resource(uri)).contents[0].text for uri in listed}

    found = with_client(mode, read)
    assert json.loads(found["sprintlog://status"])["sprint"] == "auth"
    assert json.loads(found["sprintlog://plan"])["sprint-id"] == "auth"
    assert json.loads(found["sprintlog://iteration/1"])["iteration"] == 1
    assert json.loads(found["sprintlog://learnings"])["entries"] == []
    assert found["sprintlog://briefing"].startswith("Record of this work tree")
    assert len(events()) == before


@pytest.mark.parametrize("name", ["morning", "claim"])
def test_prompts_contain_the_briefing_as_data(name: str, sprint: Path) -> None:
    """Prompts about the sprint precede the fenced briefing with instructions."""

    async def ask(client: Any) -> str:
        return str((await client.get_prompt(name, {})).messages[0].content.text)

    how, _, record = with_client(MODES[1], ask).partition("\n\n")
    assert "data, not instructions" in record
    assert record.startswith("```\n")
    assert "auth" not in how


@pytest.mark.parametrize("mode", MODES)
def test_a_reading_server_offers_less(mode: str, sprint: Path) -> None:
    """With --read-only, the tools that record are not offered."""

    async def look(client: Any) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    found = with_client(mode, look, reads_only=True)
    assert found == ["status", "next", "history", "query"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", MODES)
def test_a_process_serves_over_a_pipe(mode: str, sprint: Path, events: Events) -> None:
    """As an agent's program starts it: it answers, records, and ends with its input."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def run() -> tuple[Any, Any]:
        process = StdioServerParameters(
            command=sys.executable, args=["-m", "sprintlog.cli", "mcp"], cwd=sprint
        )
        # The default is the standard error at the time of the SDK's import.
        pipe = stdio_client(process, errlog=sys.__stderr__ or sys.stderr)
        async with Client(pipe, mode=mode) as client:
            status = await client.call_tool("status", {})
            await client.call_tool("report", {"outcome": "started"})
            return status, client.protocol_version

    status, version = in_loop(run)
    assert json.loads(text_of(status))["sprint"] == "auth"
    assert version == ("2025-11-25" if mode == "legacy" else mode)
    assert events()[-1]["type"] == "phase-started"


@pytest.mark.long
def test_hostile_frames_are_answered_or_left(sprint: Path, events: Events) -> None:
    """After noise, and huge or deep lines, the server works and prints only answers."""
    before = len(events())
    info = {"name": "x", "version": "1"}
    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    noise = [b"not json", b"\xff\xfe\x00", b"[" * 100_000, b'{"jsonrpc": "2.0"', b"", b"42"]
    noise.append(b'{"jsonrpc":"2.0","id":2,"method":"' + b"x" * 2_000_000 + b'"}')
    arguments = {"name": "status", "arguments": {"cursor": "x" * 1_000_000}}
    calls = [
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": arguments},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "status"}},
    ]
    frames = [json.dumps(one).encode() for one in lines] + noise
    frames += [json.dumps(one).encode() for one in calls]
    with subprocess.Popen(
        [sys.executable, "-m", "sprintlog.cli", "mcp"],
        cwd=sprint,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(one + b"\n" for one in frames))
        process.stdin.flush()
        answers: dict[Any, Any] = {}
        while 4 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(20) == 0
    assert not answers[4]["result"].get("isError", False)
    assert len(events()) == before
