"""Stored streams: read by the current code, byte for byte, permanently.

A fixture is never edited. A changed event adds a stream with the next number.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import EVENTS, SprintCompiled
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state.effective_history import effective_ranges
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.state_files.sprint_file import render

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
STREAMS = sorted((FIXTURES / "streams").glob("*.jsonl"))


def lines(stream: Path) -> list[dict[str, Any]]:
    """Return the stored events of a stream."""
    return [json.loads(line) for line in stream.read_text().splitlines()]


def recorded_of(line: dict[str, Any]) -> RecordedEvent:
    """Return a stored line as the log would return it."""
    return RecordedEvent(
        position=line["version"],
        stream="sprint/fixture",
        version=line["version"],
        id="",
        type=line["type"],
        schema_version=line["schema_version"],
        at=line["at"],
        recorded_at=line["at"],
        actor="runtime",
        correlation_id="",
        causation_id="",
        key=None,
        key_digest=None,
        remaining=0,
        observed=False,
        salt=b"",
        payload=line["payload"].encode(),
        payload_digest=b"",
        hash=b"",
    )


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_every_payload_reads_and_writes_the_same(stream: Path) -> None:
    """A stored payload in today's shape encodes to the same bytes again."""
    for line in lines(stream):
        recorded = recorded_of(line)
        event = CODEC.decode(recorded)
        if recorded.schema_version < event.schema_version:
            line = {**line, "schema_version": event.schema_version}
            recorded = recorded_of({**line, "payload": encode(event).decode()})
            assert CODEC.decode(recorded) == event
        assert encode(event) == recorded.payload, line


def state_file(stream: Path) -> bytes:
    """Return PROGRESS.yaml of a stored stream."""
    recorded_events = [recorded_of(line) for line in lines(stream)]
    rollbacks = [
        (event.version, json.loads(event.payload or b"")["to"])
        for event in recorded_events
        if event.type == "rolled-back"
    ]
    events = [(event.version, event.at, CODEC.decode(event)) for event in recorded_events]
    sprint = fold(
        Sprint("fixture"), events, effective_ranges(rollbacks, len(recorded_events))
    )
    return render(sprint)


def expected_file(stream: Path) -> Path:
    """Return the path of a stored stream's PROGRESS.yaml."""
    return FIXTURES / "expected" / f"{stream.stem}.PROGRESS.yaml"


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_every_stream_gives_its_state_file(stream: Path) -> None:
    """The PROGRESS.yaml of a stored stream equals the stored file, byte for byte.

    `python -m tests.golden.test_streams` writes the file of a new stream.
    """
    expected = expected_file(stream)
    assert expected.exists(), "run `python -m tests.golden.test_streams`, and read the file"
    assert state_file(stream) == expected.read_bytes()


def test_every_shape_is_stored_somewhere() -> None:
    """Each shape that a wire tag ever had is in at least one stored stream."""
    stored = {
        (line["type"], line["schema_version"])
        for stream in STREAMS
        for line in lines(stream)
    }
    wanted = {
        (event.type, version)
        for event in EVENTS
        for version in range(1, event.schema_version + 1)
    }
    assert stored <= wanted
    missing = ", ".join(f"{tag} shape {version}" for tag, version in wanted - stored)
    assert not missing, f"add a stream to fixtures/streams that has {missing}"


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.stem)
def test_every_plan_reads_with_its_sources(stream: Path) -> None:
    """The single source of the first shape is read as the only source, without a digest."""
    for line in lines(stream):
        if line["type"] != SprintCompiled.type:
            continue
        payload = json.loads(line["payload"])
        stored = payload.get("sources", [{"path": payload.get("source")}])
        if "sources" not in payload and "source" not in payload:
            stored = []
        event = CODEC.decode(recorded_of(line))
        assert isinstance(event, SprintCompiled)
        assert to_builtins(list(event.sources)) == stored


if __name__ == "__main__":
    for new in STREAMS:
        if not expected_file(new).exists():
            expected_file(new).write_bytes(state_file(new))
