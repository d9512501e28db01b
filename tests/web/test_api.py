"""`/api/…` answers like the commands; the official parser reads `/metrics`."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from sprintlog.cli.web.app import PARAMETERS_MAX
from sprintlog.projections import questions
from sprintlog.projections.text.openmetrics import METRICS, openmetrics
from sprintlog.projections.views.answers import schemas
from sprintlog.projections.views.work import Status
from sprintlog.projections.workspace import Workspace

from ..cli.asked import ASKED
from ..cli.asked import night as night
from ..cli.conftest import Run
from .conftest import ORIGIN, TOKEN, MakeServer, make_app


def test_each_answer_is_that_of_its_command(
    night: Path, done: Run, server_of: MakeServer
) -> None:
    """The path of a command returns its JSON answer, by its schema."""
    assert {*ASKED} == {*questions.QUESTIONS}
    with TestClient(make_app(server_of(night)), base_url=ORIGIN) as client:
        client.get(f"/?token={TOKEN}")
        for command, (given, typed) in ASKED.items():
            answer = client.get(f"/api/{command.replace(' ', '/')}", params=given)
            if command == "gate show":
                # No phase has a gate: the command reports an error, but the API returns an
                # empty list.
                assert answer.json() == []
                continue
            as_json = [] if command == "schema" else ["--json"]
            printed = done(*command.split(), *typed, *as_json)
            expected: Any = printed.lines if command == "log" else printed.json
            assert answer.json() == expected, command
            if command not in ("log", "schema"):
                jsonschema.validate(answer.json(), schemas(command))


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/status?sprint=nobody", 404, "there is no sprint nobody"),
        ("/api/statuss", 404, "statuss"),
        ("/api/status?sprints=auth", 400, "sprints: is unknown; allowed: sprint, at"),
        ("/api/status?at=whenever", 400, "whenever"),
        ("/api/log?after=-1", 400, "after: invalid number '-1'"),
        ("/api/log?limit=1e3", 400, "limit: invalid number '1e3'"),
        ("/api/why", 400, "field: is required"),
        ("/api/why?field=no.such", 404, "no.such"),
        ("/api/show/event?position=99", 404, "there is no position 99"),
        ("/api/diff?from=start&file=passwd", 404, "there is no state file"),
        ("/api/status?at=start&at=best", 400, "pass each parameter only once"),
        ("/api/schema?answer=passwd", 404, "passwd"),
    ],
)
def test_wrong_questions_get_one_line(
    client: TestClient, path: str, status: int, said: str
) -> None:
    """An error is that of the command: its kind, the field, a hint; the status fits."""
    answer = client.get(path)
    assert answer.status_code == status
    assert said in answer.json()["message"]
    assert {"error", "message", "hint"} <= answer.json().keys()


def test_an_answer_is_bounded(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long log is returned in pages, whatever size is requested; so are parameters."""
    monkeypatch.setattr(questions, "EVENTS_MAX", 2)
    assert len(client.get("/api/log?limit=1000").json()) == 2
    assert [x["position"] for x in client.get("/api/log?after=2").json()] == [3]
    many = "&".join(f"a{n}=1" for n in range(PARAMETERS_MAX + 1))
    assert client.get(f"/api/status?{many}").status_code == 400


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the samples read by the official parser, by name and labels."""
    families: Any = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_official_parser_reads_the_metrics(night: Path, server_of: MakeServer) -> None:
    """`/metrics` is OpenMetrics; scores, requests and events are those of the sprint."""
    with TestClient(make_app(server_of(night)), base_url=ORIGIN) as client:
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        client.get(f"/?token={TOKEN}")
        position = client.get("/api/log?stream=").json()[-1]["position"]
    found = samples(answer.text)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    sprint = ("sprint", "auth")
    assert found["sprintlog_log_events_total", frozenset()] == position
    status = ("sprintlog_sprint_status", "in-progress")
    assert found["sprintlog_sprint_status", frozenset({sprint, status})] == 1
    assert (
        found["sprintlog_queue_requests", frozenset({sprint, ("status", "pending")})] == 1
    )
    assert found["sprintlog_iteration", frozenset({sprint})] == 1
    assert ("sprintlog_iteration_score", frozenset({sprint, ("which", "best")})) in found


def test_what_nobody_knows_has_no_sample(client: TestClient) -> None:
    """Before a run or a measurement there is no figure, and so no 0."""
    found = {name for name, _ in samples(client.get("/metrics").text)}
    assert "sprintlog_sprint_events_total" in found
    unknown = ("agent", "iteration", "budget", "sprint_running")
    assert not [x for x in found if x.removeprefix("sprintlog_").startswith(unknown)]


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "<b>", "\u202eabc", "é" * 60])
def test_any_name_of_a_sprint_survives(tmp_path: Path, name: str) -> None:
    """Quotes, backslashes and line breaks in a name can be parsed."""
    status = Status(
        sprint=name, version=3, status="what", stale=False, stopped=None, pointer=None,
        current=None, stats=None, last_activity="long ago", human_needed=[], queue={},
        phases=[],
    )  # fmt: skip
    found = samples(openmetrics(3, [status]))
    assert found["sprintlog_sprint_events_total", frozenset({("sprint", name)})] == 3
    assert not [x for x, _ in found if x in ("sprintlog_sprint_status", "last_activity")]


def test_metrics_are_named_once() -> None:
    """Each metric has one name and a one-sentence help text."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(metric.help.endswith(".") for metric in METRICS)


def test_json_is_the_answer_of_the_library(client: TestClient) -> None:
    """An answer has a content type, and is a single document."""
    answer = client.get("/api/sprint/list")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.content) == [
        {"sprint": "auth", "status": "in-progress", "version": 3}
    ]


def test_another_log_in_its_place_is_opened(log: Path, server_of: MakeServer) -> None:
    """A moved log is no longer used; a new log in its place is."""
    with TestClient(make_app(server_of(log)), base_url=ORIGIN) as client:
        client.get(f"/?token={TOKEN}")
        assert client.get("/api/status").json()["version"] == 3
        (log / ".sprintlog").rename(log / "away")
        Workspace.init(log, here=True).close()
        assert client.get("/api/sprint/list").json() == []
