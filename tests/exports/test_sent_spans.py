"""`store export --otlp-endpoint`: finished spans are sent, below their parents."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.sessions.events import SessionEnded
from sprintlog.engine.sprint.events import (
    IterationEnded,
    RunEnded,
    RunStarted,
    SprintCompleted,
)

from ..cli.conftest import Run
from ..cli.conftest import done as done
from ..cli.conftest import folder as folder
from ..cli.conftest import run as run
from .receiver import Receiver, append
from .receiver import log as log
from .receiver import pauses as pauses
from .receiver import receiver as receiver
from .told import ALONE


def test_spans_that_an_endpoint_did_not_keep(
    log: Path, receiver: Receiver, run: Run
) -> None:
    """Data that an endpoint reports as omitted is reported, and not sent again."""
    receiver.status = 200
    said = {"rejectedSpans": "3", "errorMessage": "too old\x1b[2J"}
    receiver.body = json.dumps({"partialSuccess": said}).encode()
    result = run("store export", "--otlp-endpoint", receiver.url, "--json")
    assert result.code == 0
    assert result.json["spans_left_out"] == 3
    assert "warning: 3 spans rejected by the endpoint: too old" in result.err
    assert "\x1b" not in result.err
    assert receiver.asked == 1


def spans(receiver: Receiver) -> list[dict[str, Any]]:
    """Return the spans that a server received, and clear them."""
    found = [
        span
        for _, _, body in receiver.taken
        for span in json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]
    receiver.taken.clear()
    return found


def test_spans_once_they_are_over(
    log: Path, receiver: Receiver, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Running work is not sent; work that has ended is sent below the ids sent earlier."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20x")
    endpoint = receiver.url.partition("/hook")[0]
    done("store export", "--otlp-endpoint", endpoint)
    (path, headers, _), *_ = receiver.taken
    assert path == "/v1/traces"
    assert (headers["Content-Type"], headers["api-key"]) == ("application/json", "s x")
    first = spans(receiver)
    names = [span["name"] for span in first]
    assert "iteration 1" in names
    assert not {"iteration 2", "invoke_workflow auth"} & {*names}
    append(log, IterationEnded(2), SprintCompleted())
    done("store export", "--otlp-endpoint", endpoint)
    later = {span["name"]: span for span in spans(receiver)}
    assert [*later] == ["iteration 2", "invoke_workflow auth"]
    below = {span["parentSpanId"] for span in first if span["name"] != "execute_tool Read"}
    assert later["iteration 2"]["spanId"] in below
    assert later["invoke_workflow auth"]["spanId"] in below
    assert not [x for x in later["iteration 2"]["attributes"] if "open" in x["key"]]


def test_a_run_that_goes_on_is_waited_for(log: Path, receiver: Receiver, done: Run) -> None:
    """A tool call is sent only once the run that made it is known."""
    done("store export", "--otlp-endpoint", receiver.url)
    receiver.taken.clear()
    started = RunStarted("r", "2026-04-03T09:00:00Z", "here", 1, "x", "y")
    append(log, started, IterationEnded(2))
    assert "0 messages" in done("store export", "--otlp-endpoint", receiver.url).out
    append(log, RunEnded("r", "done"))
    done("store export", "--otlp-endpoint", receiver.url)
    assert [span["name"] for span in spans(receiver)] == ["iteration 2"]


def test_a_session_without_a_sprint_is_sent_once_it_ended(
    log: Path, receiver: Receiver, done: Run
) -> None:
    """A session that worked for no sprint gets a separate span as soon as it ends."""
    endpoint = receiver.url.partition("/hook")[0]
    done("store export", "--otlp-endpoint", endpoint)
    first = {span["name"]: span for span in spans(receiver)}
    append(log, SessionEnded("done"), stream=ALONE)
    done("store export", "--otlp-endpoint", endpoint)
    (later,) = spans(receiver)
    assert later["spanId"] == first["execute_tool Read"]["parentSpanId"]
    assert not [x for x in later["attributes"] if "open" in x["key"]]
