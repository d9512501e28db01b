"""The live page records only requests from its own forms, like the commands."""

import asyncio
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from sprintlog.cli.web import app as web
from sprintlog.cli.web.actions import ACTIONS
from sprintlog.cli.web.guard import form_token

from ..cli.conftest import Run
from ..copies import copy_tree
from .conftest import (
    FORM,
    HOST,
    KEY,
    ORIGIN,
    TOKEN,
    Listener,
    MakeServer,
    agree,
    in_loop,
    serving,
    version_in,
    writing,
)

WHY = {"reasoning": "people cannot log in"}
SAME: dict[str, tuple[dict[str, str], list[str]]] = {
    "sprint pause": ({"reason": "lunch"}, ["sprint", "pause", "--reason", "lunch"]),
    "note": ({"text": "use v2", "now": "yes"}, ["note", "use v2", "--to-agent", "--now"]),
    "rollback": (
        {"to": "version:1", "reason": "went bad"},
        ["rollback", "version:1", "--plan", "--reason", "went bad"],
    ),
    "queue approve": (
        {"request": "req-1", **WHY},
        ["queue", "approve", "req-1", "--reasoning", WHY["reasoning"]],
    ),
    "queue reject": (
        {"request": "req-1", **WHY},
        ["queue", "reject", "req-1", "--reasoning", WHY["reasoning"]],
    ),
    "queue defer": (
        {"request": "req-1", "until": "end-of-phase", **WHY},
        [
            *("queue", "defer", "req-1", "--until", "end-of-phase"),
            *("--reasoning", WHY["reasoning"]),
        ],
    ),
    "queue backlog": (
        {"request": "req-1", **WHY},
        ["queue", "backlog", "req-1", "--reasoning", WHY["reasoning"]],
    ),
    "sprint resume": (
        {"by": "ana", "why": "the key is here", "done": "put it there", "retry": "yes"},
        [
            *("sprint", "resume", "--by", "ana", "--why", "the key is here"),
            *("--done", "put it there", "--retry"),
        ],
    ),
}
"""Text typed into a form, and the command with the same effect."""


def recorded(done: Run) -> list[Any]:
    """Return the records: types, actors, data; without ids and times."""
    lines = done("log", "--all", "--json").lines
    for one in lines:
        one["data"].pop("at", None)
    return [(x["type"], x["actor"], x["data"], x["stream"]) for x in lines]


@pytest.mark.parametrize("command", ACTIONS)
def test_a_form_records_what_the_command_does(
    log: Path,
    tmp_path_factory: pytest.TempPathFactory,
    done: Run,
    server_of: MakeServer,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """The events and rules are the same, and PROGRESS.yaml is updated."""
    monkeypatch.chdir(log)
    if command == "sprint resume":
        done("sprint", "needs-human", "--reason", "which key?")
    beside = tmp_path_factory.mktemp("typed") / "log"
    copy_tree(log, beside)
    given, typed = SAME[command]
    with writing(server_of(log, writes=True)) as writer:
        answer = agree(writer, command, given)
        assert (answer.status_code, answer.headers["location"]) == (303, "sprint?id=auth")
    by_form = recorded(done)
    assert done("verify").code == 0
    monkeypatch.chdir(beside)
    done(*typed, "--actor", "operator:web")
    assert by_form == recorded(done)
    assert len(by_form) > 3


def test_nothing_is_recorded_before_it_is_agreed_to(writer: TestClient) -> None:
    """The first form only previews the events and the expected version."""
    given = {**FORM, "request": "req-1", **WHY}
    page = writer.post("/act?do=queue+approve", data=given)
    assert "request-decided req-1" in page.text
    assert "phase-injected" in page.text
    assert version_in(page.text) == "3"
    assert writer.get("/api/status").json()["version"] == 3


def test_where_somebody_was_first_it_is_decided_anew(writer: TestClient) -> None:
    """A preview is recorded only while the sprint is unchanged."""
    asked = writer.post("/act?do=sprint+pause", data=FORM)
    assert agree(writer, "queue reject", {"request": "req-1", **WHY}).status_code == 303
    late = {**FORM, "version": version_in(asked.text)}
    answer = writer.post("/act?do=sprint+pause", data=late)
    assert answer.status_code == 409
    assert "at version 4, expected 3" in answer.text
    assert writer.get("/api/status").json()["status"] == "in-progress"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://evil.example:8642"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_records_nothing(
    writer: TestClient, headers: dict[str, str]
) -> None:
    """A form is accepted only from this server's pages, even with the right cookie."""
    given = {**FORM, "version": "3"}
    answer = writer.post("/act?do=sprint+pause", data=given, headers=headers)
    assert answer.status_code == 403
    assert writer.get("/api/status").json()["version"] == 3


def test_a_request_that_names_no_page_records_nothing(writer: TestClient) -> None:
    """A request without an origin is not from a form of this server."""
    del writer.headers["Origin"]
    given = {**FORM, "version": "3"}
    assert writer.post("/act?do=sprint+pause", data=given).status_code == 403
    assert writer.get("/api/status").json()["version"] == 3


@pytest.mark.parametrize("wrong", ["", "x", form_token("another"), TOKEN])
def test_a_form_without_its_token_records_nothing(writer: TestClient, wrong: str) -> None:
    """Cookie and origin are not enough: only this server's forms contain the token."""
    given = {**FORM, "form": wrong, "version": "3"}
    assert writer.post("/act?do=sprint+pause", data=given).status_code == 403
    assert writer.get("/api/status").json()["version"] == 3


def test_what_is_no_form_records_nothing(writer: TestClient) -> None:
    """Other content types, large forms and malformed fields are refused in one line."""
    url = "/act?do=sprint+pause"
    fields = {**FORM, "version": "3"}
    assert writer.post(url, json=fields).status_code == 415
    assert writer.post(url, data={**fields, "reason": "x" * 70_000}).status_code == 413
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for broken in (b"form=%ff", b"\xff=1", b"&".join(b"a%d=1" % n for n in range(99))):
        assert writer.post(url, content=broken, headers=form).status_code == 400
    assert writer.get("/api/status").json()["version"] == 3


def test_who_sends_slowly_is_not_waited_for(
    log: Path, server_of: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incomplete form is refused after a time; others are answered."""
    monkeypatch.setattr(web, "FORM_SECONDS_MAX", 0.05)
    headers = {**KEY, "Host": HOST, "Origin": ORIGIN}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    scope = {
        "type": "http", "method": "POST", "path": "/act",
        "query_string": b"do=sprint+pause",
        "headers": [(x.lower().encode(), y.encode()) for x, y in headers.items()],
    }  # fmt: skip
    said: list[Any] = []
    parts = iter([{"type": "http.request", "body": b"form=", "more_body": True}])

    async def receive() -> Any:
        if (part := next(parts, None)) is None:
            await asyncio.sleep(60)
        return part

    async def send(message: Any) -> None:
        said.append(message)

    async def test() -> None:
        async with serving(server_of(log, writes=True)) as app:
            slow = asyncio.create_task(app(scope, receive, send))
            page = Listener(app, after=0)
            await page.until_at(3)
            await asyncio.wait_for(slow, 20)
            await page.leave()

    in_loop(test)
    assert said[0]["status"] == 408


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        ("queue approve", {"request": "req-1"}, "reasoning: is required"),
        (
            "queue approve",
            {"request": "req-1", "reasoning": "  "},
            "reasoning: is required",
        ),
        ("queue approve", {"request": "no", **WHY}, "no request no"),
        (
            "queue defer",
            {"request": "req-1", **WHY, "until": "never"},
            "until: must be one of",
        ),
        ("sprint pause", {"reason": "x" * 5000}, "reason: has 5000 characters"),
        ("sprint pause", {"actor": "agent:x"}, "actor: is not a field in this form"),
        ("sprint pause", {"sprint": "nobody"}, "there is no sprint nobody"),
        ("sprint pause", {"version": "x"}, "version: invalid number 'x'"),
        ("rollback", {"to": "iter:9"}, "iteration 9"),
        ("rollback", {"to": "<b>"}, "&lt;b&gt;"),
        ("sprint resume", {"why": "so"}, "resume"),
        ("phase skip", {}, "there is no action"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_recorded(
    writer: TestClient, command: str, given: dict[str, str], said: str
) -> None:
    """An invalid form results in a page that names the field or the rule."""
    answer = writer.post("/act", params={"do": command}, data={**FORM, **given})
    assert 400 <= answer.status_code < 500
    assert said in answer.text or said in unescape(answer.text)
    assert writer.get("/api/status").json()["version"] == 3


def test_a_secret_in_a_form_is_masked(writer: TestClient) -> None:
    """Text typed into a form is masked as on the command line."""
    secret = "ghp_" + "a1B2" * 9
    agree(writer, "sprint pause", {"reason": f"the key is {secret}"})
    assert secret not in writer.get("/api/log").text
    assert writer.get("/api/status").json()["status"] == "paused"


def test_what_can_be_decided_is_on_the_page(writer: TestClient, client: TestClient) -> None:
    """A writable page has forms for the possible actions; a read-only one has none."""
    page = writer.get("/sprint?id=auth").text
    offered = {unescape(x) for x in re.findall(r'action="act\?do=([^"]+)"', page)}
    assert {name.replace("+", " ") for name in offered} == set(ACTIONS) - {"sprint resume"}
    assert "/act" not in client.get("/sprint?id=auth").text


def test_nothing_is_recorded_where_that_is_off(
    writer: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPRINTLOG_OFF holds for the page as for commands."""
    monkeypatch.setenv("SPRINTLOG_OFF", "1")
    answer = agree(writer, "sprint pause", {})
    assert answer.status_code == 422
    assert "SPRINTLOG_OFF" in answer.text
    assert writer.get("/api/status").json()["version"] == 3
