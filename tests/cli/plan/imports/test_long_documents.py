"""Sessions that are a single document of realistic length: tens of MiB."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.intake import transcript
from sprintlog.cli.intake.transcript import read_transcript
from sprintlog.engine.adapters.agents.output import DOCUMENT_BYTES_MAX, LINE_BYTES_MAX

from ...conftest import Run

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
DOCUMENTS = {
    "messages": FIXTURES / "transcripts" / "C1" / "session-2026-02-03T10-00-c1d.json",
    "requests": FIXTURES / "agents" / "copilot-chat-session.json",
}
"""A session of each agent that writes one document, by its list of entries."""
TIMES = 9
WORDS = "a word, and ten others in a long output of a tool\n" * 2**15


@pytest.fixture(params=DOCUMENTS)
def enlarged(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a session whose entries, repeated under new ids, have long texts."""
    document = json.loads(DOCUMENTS[request.param].read_text())
    entries = [
        {**entry, **{n: f"{entry[n]}-{at}" for n in ("id", "requestId") if n in entry}}
        for at in range(TIMES)
        for entry in document[request.param]
    ]
    document[request.param] = [{**entry, "more": WORDS} for entry in entries]
    path = tmp_path / "session.json"
    path.write_text(json.dumps(document, indent=2))
    return path


def peak(call: Callable[[], Any]) -> tuple[Any, int]:
    """Return the result of a call, and its maximum memory."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_document_is_read_entry_by_entry(
    request: pytest.FixtureRequest, enlarged: Path
) -> None:
    """Its figures include all entries, and it is never parsed as a whole."""
    name = request.node.callspec.params["enlarged"]
    small = read_transcript(DOCUMENTS[name])
    large, memory = peak(lambda: read_transcript(enlarged))
    assert LINE_BYTES_MAX < large.bytes < DOCUMENT_BYTES_MAX
    assert memory < 1.5 * large.bytes
    assert large.activity.agent == small.activity.agent
    assert large.activity.tool_calls == small.activity.tool_calls
    assert (large.answer.text, large.answer.error) == (small.answer.text, None)
    for figure in ("input_tokens", "output_tokens", "cache_read_tokens"):
        one = getattr(small.answer.usage, figure)
        assert getattr(large.answer.usage, figure) == (one and TIMES * one)


def test_a_long_document_is_recognised(folder: Path, run: Run, enlarged: Path) -> None:
    """`import` recognizes it by its beginning, and `iteration end` reads it as well."""
    run("init")
    result = run("import", enlarged)
    assert result.code == 0, result.err
    (ran,) = run("log", "--type", "agent-ran", "--json").lines
    assert ran["data"]["output_bytes"] == enlarged.stat().st_size
    assert ran["data"]["status"] == "completed"


def test_a_document_beyond_the_limit_is_refused(
    folder: Path, run: Run, enlarged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line states the limit, and nothing is recorded."""
    monkeypatch.setattr(transcript, "DOCUMENT_BYTES_MAX", 2**20)
    run("init")
    refused = run("import", "transcript", enlarged)
    assert refused.code == 1
    assert "one document of at most 1 MiB" in refused.err
    assert run("log", "--all", "--json").lines == []
