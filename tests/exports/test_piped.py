"""`export | official reader`: the real command, with erased and discarded events."""

import json
import os
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.workspace import Workspace
from tests import needs

from ..cli.conftest import Run
from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import run as run
from .told import SECRET, told_log

EXPORT = [sys.executable, "-m", "sprintlog.cli", "store", "export", "--format"]
SECONDS_MAX = 300
WORDS = "Words that nobody is to read again"
READERS = {
    "cloudevents": """
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
events = [JSONFormat().read(CloudEvent, line) for line in sys.stdin.buffer]
said = [
    (one.get_extension("eventhash"), one.get_extension("rolledback") is not True,
     one.get_extension("erased") is True)
    for one in events
]
""",
    "csv": """
import csv
rows = csv.DictReader(sys.stdin)
said = [(one["hash"], one["in_force"] == "1", one["erased"] == "1") for one in rows]
""",
    "otlp-json": """
from google.protobuf.json_format import Parse
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
said = []
for line in sys.stdin:
    for resource in Parse(line, TracesData()).resource_spans:
        for span in (x for scope in resource.scope_spans for x in scope.spans):
            known = {x.key: x.value for x in span.attributes}
            cost = known.get("sprintlog.cost_usd")
            marks = [[f"sprintlog.{x}" in known for x in ("rolled_back", "erased")]]
            marks += [
                [f"sprintlog.{x}" in {y.key for y in e.attributes}
                 for x in ("rolled_back", "erased")]
                for e in span.events if not e.name.startswith("gen_ai.")
            ]
            said.append((span.name, marks, cost and repr(cost.double_value)))
""",
    "openmetrics": """
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
said = [
    (one.name, one.labels, one.value)
    for family in text_fd_to_metric_families(sys.stdin)
    for one in family.samples
]
""",
}
"""Programs that read standard input with the official library of a format."""
LIBRARIES = {
    "cloudevents": "cloudevents",
    "csv": "csv",
    "otlp-json": "opentelemetry.proto",
    "openmetrics": "prometheus_client",
}


@pytest.fixture
def log(folder: Path, done: Run) -> Path:
    """Return a folder whose log has a rollback and an erasure made by commands."""
    told_log(folder).close()
    done("rebuild")
    done("note", "--sprint", "auth", WORDS)
    done("rollback", "start", "--sprint", "auth", "--reason", "all of it again")
    done("redact", "--text", WORDS, "--reason", "not for us", "--yes")
    return folder


def piped(log: Path, format_: str, *words: str) -> Any:
    """Return the official reader's result for the real command's output."""
    needs.package(LIBRARIES[format_], LIBRARIES[format_].partition(".")[0])
    command = [*EXPORT, format_, *words]
    program = f"import json, sys\n{READERS[format_]}\nprint(json.dumps(said))"
    with subprocess.Popen(
        command, cwd=log, stdout=subprocess.PIPE, env=os.environ
    ) as export:
        read = subprocess.run(
            [sys.executable, "-c", program],
            stdin=export.stdout,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert export.wait(SECONDS_MAX) == 0
    assert read.returncode == 0, read.stderr
    return json.loads(read.stdout)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("format_", ["cloudevents", "csv"])
def test_every_event_is_read(log: Path, done: Run, format_: str) -> None:
    """Every event is present once, in order, marked as effective or erased."""
    asked = done("query", "SELECT hash, in_force FROM v_events", "--json").out
    with Workspace.open(log) as workspace:
        erased = {e.hash.hex() for e in workspace.log.read() if e.salt is None}
    known = [
        [row["hash"], bool(row["in_force"]), row["hash"] in erased]
        for row in map(json.loads, asked.splitlines())
    ]
    assert piped(log, format_) == known
    assert Counter(tuple(marks) for _, *marks in known) == {
        (True, False): 14,
        (False, False): 10,
        (True, True): 3,
    }


def test_spans_are_read(log: Path, done: Run) -> None:
    """Discarded work was paid for and is included; erased text is marked and absent."""
    said = piped(log, "otlp-json", "--sprint", "auth")
    marks = Counter(tuple(one) for _, found, _ in said for one in found)
    assert marks[False, True] == 3
    assert marks[True, False] == 10
    spent = done("status", "--sprint", "auth", "--json").json["spent"]
    paid = sum(Decimal(cost) for _, _, cost in said if cost)
    assert paid == Decimal(repr(spent["cost_usd"])) == Decimal("0.33")


def test_figures_are_read(log: Path, done: Run) -> None:
    """The cost and tokens equal those of `status`, whatever was undone."""
    said = piped(log, "openmetrics", "--sprint", "auth")
    spent = done("status", "--sprint", "auth", "--json").json["spent"]
    (cost,) = [x for name, _, x in said if name == "sprintlog_agent_cost_dollars_total"]
    assert cost == spent["cost_usd"]
    tokens = [x for name, _, x in said if name == "sprintlog_agent_tokens_total"]
    assert sum(tokens) == sum(spent[name] for name in spent if name.endswith("_tokens"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("format_", READERS)
def test_what_was_erased_is_in_no_pipe(log: Path, format_: str) -> None:
    """Even with all content requested, erased text and secrets are absent."""
    words = [] if format_ == "openmetrics" else ["--with-content"]
    command = [*EXPORT, format_, *words]
    whole = subprocess.run(
        command, cwd=log, capture_output=True, timeout=SECONDS_MAX, check=True
    ).stdout
    assert whole
    assert not [x for x in (WORDS, "Try again", SECRET) if x.encode() in whole]
