"""The official reader of each `export` format can read it; output is reproducible."""

import base64
import csv
import io
import json
import sys
import tracemalloc
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint.events import NoteAdded
from sprintlog.projections.exports.formats import write_events
from sprintlog.projections.exports.span import (
    AGENT,
    CACHE_CREATION_TOKENS,
    CACHE_READ_TOKENS,
    EVALUATION,
    EVALUATION_LABEL,
    EVENTS_MAX,
    INPUT_TOKENS,
    OPERATION,
    OUTPUT_TOKENS,
    TOOL,
    WORKFLOW,
)
from sprintlog.projections.exports.spans import TYPES
from sprintlog.projections.history.exported_events import survey
from sprintlog.projections.workspace import Workspace
from tests import needs

from ..cli.conftest import Run
from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import run as run
from .told import AUTH, PROMPT, SECRET, told_log

EXPECTED = Path(__file__).resolve().parents[2] / "fixtures" / "expected" / "exports"
STORED = {"cloudevents": "jsonl", "otlp-json": "jsonl", "csv": "csv"}
EVENTS = 24
EXPORT = [sys.executable, "-m", "sprintlog.cli", "store", "export", "--format"]


def exported(folder: Path, format_: str, **given: Any) -> bytes:
    """Return the prepared log in a format."""
    parts: list[bytes] = []
    with told_log(folder) as workspace:
        write_events(workspace.log, format_, parts.append, **given)
    return b"".join(parts)


@pytest.mark.parametrize("format_", STORED)
def test_every_export_is_the_stored_one(tmp_path: Path, format_: str) -> None:
    """The same log always results in the same bytes."""
    stored = EXPECTED / f"told.{format_}.{STORED[format_]}"
    assert exported(tmp_path, format_) == stored.read_bytes()


def test_figures_are_the_stored_ones(folder: Path, done: Run) -> None:
    """Figures are those of the log's end, whenever they are exported."""
    told_log(folder).close()
    stored = (EXPECTED / "told.openmetrics.txt").read_text()
    assert done("store export", "--format", "openmetrics").out == stored
    read = text_string_to_metric_families(stored)  # type: ignore[no-untyped-call]
    families = {one.name: one for one in read}
    (position,) = families["sprintlog_log_events"].samples
    assert position.value == EVENTS


def test_what_is_exported_is_sound(folder: Path, done: Run) -> None:
    """The tests' log is valid, as if written by commands."""
    told_log(folder).close()
    done("rebuild")
    assert done("verify").out.startswith("sound: ")


def test_cloudevents_are_read(tmp_path: Path) -> None:
    """The official library reads every line; discarded and erased events are marked."""
    formats = needs.package("cloudevents.core.formats.json", "cloudevents")
    events = needs.package("cloudevents.core.v1.event", "cloudevents")
    lines = exported(tmp_path, "cloudevents").splitlines()
    read = [formats.JSONFormat().read(events.CloudEvent, line) for line in lines]
    marks = Counter(
        name
        for one in read
        for name in ("rolledback", "erased")
        if one.get_attributes().get(name) is True
    )
    assert marks == {"rolledback": 5, "erased": 2}
    ids = {(one.get_source(), one.get_id()) for one in read}
    assert len(ids) == len(read) == EVENTS
    order = [one.get_extension("sequence") for one in read]
    assert order == sorted(order)
    hashes = [one.get_extension("eventhash") for one in read]
    assert [one.get_extension("prevhash") for one in read] == ["0" * 64, *hashes[:-1]]


def traces(content: bytes) -> Any:
    """Return OTLP messages parsed by the official library, joined into one."""
    messages = needs.package(
        "opentelemetry.proto.trace.v1.trace_pb2", "opentelemetry-proto"
    )
    json_format = needs.package("google.protobuf.json_format", "opentelemetry-proto")
    found = messages.TracesData()
    for text in content.splitlines():
        line = json.loads(text)
        for one in line["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            # OTLP encodes ids in hexadecimal, unlike the Base64 of Protobuf's JSON format.
            for name in one.keys() & {"traceId", "spanId", "parentSpanId"}:
                one[name] = base64.b64encode(bytes.fromhex(one[name])).decode()
        found.MergeFrom(json_format.ParseDict(line, messages.TracesData()))
    return [
        span
        for resource in found.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def said_by(span: Any) -> dict[str, Any]:
    """Return the attributes of a span or its event."""
    return {
        one.key: getattr(one.value, one.value.WhichOneof("value"))
        for one in span.attributes
    }


def test_spans_stand_below_one_another(tmp_path: Path) -> None:
    """A sprint has iterations, these runs and gates, a run the calls of its tools."""
    found = traces(exported(tmp_path, "otlp-json"))
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found)

    def above(span: Any) -> list[str]:
        parent = by_id.get(span.parent_span_id)
        assert parent is not None or not span.parent_span_id
        return [span.name, *(above(parent) if parent is not None else [])]

    assert sorted(map(above, found)) == [
        ["execute_tool Bash", "invoke_agent claude", "iteration 1", "invoke_workflow auth"],
        ["execute_tool Edit", "invoke_agent claude", "iteration 1", "invoke_workflow auth"],
        ["execute_tool Read", "invoke_agent claude"],
        ["execute_tool shell", "invoke_agent codex", "iteration 2", "invoke_workflow auth"],
        ["gate build", "iteration 1", "invoke_workflow auth"],
        ["gate build", "iteration 2", "invoke_workflow auth"],
        ["invoke_agent claude"],
        ["invoke_agent claude", "iteration 1", "invoke_workflow auth"],
        ["invoke_agent codex", "iteration 2", "invoke_workflow auth"],
        ["invoke_agent codex", "iteration 2", "invoke_workflow auth"],
        ["invoke_workflow auth"],
        ["invoke_workflow other"],
        ["iteration 1", "invoke_workflow auth"],
        ["iteration 2", "invoke_workflow auth"],
    ]
    assert {len(one.trace_id) for one in found} == {16}
    for span in found:
        if parent := by_id.get(span.parent_span_id):
            assert parent.trace_id == span.trace_id
        assert span.start_time_unix_nano <= span.end_time_unix_nano


def test_gates_are_evaluations(tmp_path: Path) -> None:
    """Each gate check has its result as an event, and a failed check is an error."""
    found = traces(exported(tmp_path, "otlp-json"))
    results = [
        (said_by(event)[EVALUATION_LABEL], span.status.code)
        for span in found
        for event in span.events
        if event.name == EVALUATION
    ]
    assert results == [("fail", 2), ("pass", 0)]


def test_what_is_over_is_told_apart(tmp_path: Path) -> None:
    """Open, discarded and erased are marked on the spans."""
    found = traces(exported(tmp_path, "otlp-json"))
    marked = {
        mark: sorted(one.name for one in found if f"sprintlog.{mark}" in said_by(one))
        for mark in ("open", "rolled_back", "erased")
    }
    assert marked == {
        "open": [
            *("invoke_agent claude", "invoke_workflow auth"),
            *("invoke_workflow other", "iteration 2"),
        ],
        "rolled_back": ["gate build", "iteration 1"],
        "erased": ["execute_tool Edit"],
    }


def test_the_sums_are_those_of_status(folder: Path, done: Run) -> None:
    """The sums of tokens, cost, time and runs over all spans equal those of `status`."""
    told_log(folder).close()
    out = done("store export", "--format", "otlp-json", "--sprint", "auth").out
    runs = [
        said
        for span in traces(out.encode())
        if (said := said_by(span)).get(OPERATION) == AGENT
    ]
    spent = done("status", "--sprint", "auth", "--json").json["spent"]

    def total(name: str) -> int:
        return sum(one.get(name, 0) for one in runs)

    assert total("sprintlog.usage.new_input_tokens") == spent["input_tokens"]
    assert total(OUTPUT_TOKENS) == spent["output_tokens"]
    assert total(CACHE_READ_TOKENS) == spent["cache_read_tokens"]
    assert total(CACHE_CREATION_TOKENS) == spent["cache_creation_tokens"]
    cached = spent["cache_read_tokens"] + spent["cache_creation_tokens"]
    assert total(INPUT_TOKENS) == spent["input_tokens"] + cached
    assert total("sprintlog.duration_ms") == spent["duration_ms"]
    cost = sum(Decimal(repr(one.get("sprintlog.cost_usd", 0))) for one in runs)
    assert cost == Decimal(repr(spent["cost_usd"]))
    assert len([x for x in runs if "sprintlog.is_rest" not in x]) == spent["runs"]


def test_one_sprint_alone(tmp_path: Path) -> None:
    """With a stream only its trace is sent, with the tool calls of its agents."""
    found = traces(exported(tmp_path, "otlp-json", stream=AUTH))
    assert len({one.trace_id for one in found}) == 1
    kinds = Counter(said_by(one).get(OPERATION) for one in found)
    assert kinds == {None: 4, AGENT: 3, TOOL: 3, WORKFLOW: 1}


def test_a_span_has_a_bounded_number_of_events(tmp_path: Path) -> None:
    """Data beyond the limits of a span is counted, not stored."""
    with told_log(tmp_path) as workspace:
        add_notes(workspace, 2 * EVENTS_MAX)
        parts: list[bytes] = []
        write_events(workspace.log, "otlp-json", parts.append)
    (span,) = [x for x in traces(b"".join(parts)) if x.name == "iteration 2"]
    assert len(span.events) == EVENTS_MAX
    assert span.dropped_events_count == 2 * EVENTS_MAX + 2 - EVENTS_MAX


def test_the_table_says_what_query_says(folder: Path, done: Run) -> None:
    """An event's iteration, phase and rollback are the same as in `v_events`."""
    told_log(folder).close()
    rows = list(csv.DictReader(io.StringIO(done("store export", "--format", "csv").out)))
    names = ("position", "sprint", "iteration", "in_force", "phase", "hash")
    asked = done("query", f"SELECT {', '.join(names)} FROM v_events", "--csv").out
    known = list(csv.DictReader(io.StringIO(asked)))
    assert [{name: row[name] for name in names} for row in rows] == known


@pytest.mark.parametrize("format_", ["cloudevents", "otlp-json", "csv"])
def test_words_stay_here(tmp_path: Path, format_: str) -> None:
    """Prompts, output and reasons are sent only on request; a secret never is."""
    words = (PROMPT, "It does not work", "Begin again", "2 failed", "staging")
    plain = exported(tmp_path / "one", format_).decode()
    assert not [word for word in (*words, SECRET, "[erased]") if word in plain]
    whole = exported(tmp_path / "two", format_, with_content=True).decode()
    assert not [word for word in words if word not in whole]
    assert SECRET not in whole
    assert "[masked: " in whole


def add_notes(workspace: Workspace, number: int) -> None:
    """Append notes, many at a time."""
    one = new_event(NoteAdded("n" * 40), at="2026-04-03T09:00:00Z", actor="runtime")
    for _ in range(number // 256):
        workspace.log.append(AUTH, [one] * 256, expect=Expect.ANY)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("format_", ["cloudevents", "otlp-json", "csv"])
def test_memory_does_not_grow_with_the_log(tmp_path: Path, format_: str) -> None:
    """A log four times as long requires far less than four times the memory."""

    def peak(workspace: Workspace) -> int:
        tracemalloc.start()
        write_events(workspace.log, format_, len)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    with told_log(tmp_path) as workspace:
        add_notes(workspace, 768)
        peak(workspace)
        short = peak(workspace)
        add_notes(workspace, 2304)
        assert peak(workspace) < 2 * short


def test_a_damaged_log_is_no_export(folder: Path, run: Run, done: Run) -> None:
    """Nothing is exported from a log with an invalid chain."""
    told_log(folder).close()
    damage(folder)
    result = run("store export", "--format", "cloudevents", "--out", "x.jsonl")
    assert (result.code, result.out) == (4, "")
    assert not (folder / "x.jsonl").exists()


def damage(folder: Path) -> None:
    """Change a recorded actor directly in the database."""
    import sqlite3
    from contextlib import closing

    from sprintlog.engine.log.stores.sqlite.schema import EVENTS as STATEMENTS
    from sprintlog.engine.service.place.location import find

    with closing(sqlite3.connect(find(folder).database)) as connection, connection:
        connection.execute("DROP TRIGGER events_never_change")
        connection.execute("UPDATE events SET actor = 'x' WHERE position = 20")
        text = next(sql for sql in STATEMENTS if "events_never_change" in sql)
        connection.execute(text)


def test_a_file_and_its_answer(folder: Path, done: Run) -> None:
    """--out writes a new private file, and --json prints its size."""
    told_log(folder).close()
    answer = done(
        "store export", "--format", "csv", "--out", "x.csv", "--sprint", "other", "--json"
    ).json
    assert (answer["events"], answer["position"]) == (1, EVENTS)
    assert (folder / "x.csv").stat().st_mode & 0o777 == 0o600
    assert len((folder / "x.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize("format_", ["log", "openmetrics"])
def test_content_where_there_is_no_choice(folder: Path, run: Run, format_: str) -> None:
    """`--with-content` is refused if it would have no effect."""
    result = run("store export", "--format", format_, "--with-content")
    assert result.code == 2
    assert "omit --with-content" in result.err


if __name__ == "__main__":
    import os
    import subprocess
    import tempfile

    EXPECTED.mkdir(exist_ok=True)
    for name, suffix in STORED.items():
        content = exported(Path(tempfile.mkdtemp()), name)
        (EXPECTED / f"told.{name}.{suffix}").write_bytes(content)
    place = Path(tempfile.mkdtemp())
    told_log(place).close()
    figures = [*EXPORT, "openmetrics"]
    said = subprocess.run(
        figures, cwd=place, env=os.environ, capture_output=True, check=True
    )
    (EXPECTED / "told.openmetrics.txt").write_bytes(said.stdout)


def test_a_rollback_is_no_run(tmp_path: Path) -> None:
    """While a log is surveyed, only events of the requested types are passed on."""
    seen: list[str] = []
    with told_log(tmp_path) as workspace:
        found = survey(workspace.log, types=TYPES, look=lambda one: seen.append(one.type))
    assert {*seen} <= {*TYPES}
    assert found.paths
