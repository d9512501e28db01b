"""The server's pages: their content, which recorded text cannot control."""

import re
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sprintlog.commands import (
    AddNote,
    CreateSprint,
    EndIteration,
    EndRun,
    MeasureIteration,
    StartIteration,
    StartSprint,
    Verdict,
)
from sprintlog.engine.judging.events import Usage
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sessions.events import PromptGiven
from sprintlog.engine.sprint.events import AgentRan, Place
from sprintlog.engine.sprint.queue.requests import QueueRequests, SubmittedRequest
from sprintlog.projections.facts.sprint_facts import SprintFacts
from sprintlog.projections.page import document as whole
from sprintlog.projections.page import live_pages as pages
from sprintlog.projections.page.document import sources
from sprintlog.projections.page.live_pages import LivePages
from sprintlog.projections.views.events import event_line
from sprintlog.projections.workspace import Workspace
from sprintlog.questions import search_sprints

from ..page.night import night
from .conftest import ORIGIN, TOKEN, MakeServer, make_app

NAME = "<script>alert(1)\"'><img src=x onerror=alert(1)>&quot;"
"""What an id may be: it has no character that cannot be printed."""
HOSTILE = f"{NAME}\u202e\x1b[2J"


LOCAL = r"(/(?!/)|#|\?|\.$|(log/[\w.-]+/)?(sprint|compare|act|results)\b|data:,$)"
"""Matches addresses on the same server."""


class Acting(HTMLParser):
    """Collects what acts in a page: scripts, handlers, frames, addresses elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at an element."""
        given = {name: value or "" for name, value in attrs}
        acting = [name for name in given if name.startswith("on") or name == "style"]
        self.found += [f"{tag} {name}" for name in acting]
        if tag in ("iframe", "object", "embed", "img", "base", "audio", "video"):
            self.found.append(tag)
        for name in ("href", "src", "action", "formaction", "xlink:href"):
            value = given.get(name, "")
            if value and not re.match(LOCAL, value):
                self.found.append(f"{tag} {name}={value}")
        self.scripts += tag == "script"


def acting(page: str) -> Acting:
    """Return what acts in a page."""
    found = Acting()
    found.feed(page)
    return found


@pytest.fixture
def hostile(tmp_path: Path, server_of: MakeServer) -> Iterator[TestClient]:
    """Return a browser admitted to a log in which every text is hostile."""
    phases = [{"id": NAME, "prompt": HOSTILE}, {"id": "b", "prompt": "</script>"}]
    create = CreateSprint(plan={"phases": phases}, place=Place("PROGRESS.yaml"))
    asked = SubmittedRequest(HOSTILE, "high", "bug", request=NAME)
    with Workspace.init(tmp_path, here=True) as workspace:
        ran = AgentRan(NAME, "failed", 1, output=HOSTILE, error=HOSTILE, iteration=1)
        work = (StartIteration(phase=NAME), EndRun(ran, Verdict("failed", error=HOSTILE)))
        told = (QueueRequests((asked,)), AddNote(HOSTILE))
        for command in (create, StartSprint(), *work, *told):
            workspace.handle(command, sprint_id=NAME, actor=f"agent:{NAME}")
    app = make_app(server_of(tmp_path, writes=True))
    with TestClient(app, base_url=ORIGIN, headers={"Origin": ORIGIN}) as client:
        client.get(f"/?token={TOKEN}")
        yield client


def test_markup_in_names_is_text(hostile: TestClient) -> None:
    """Ids, prompts, titles, actors and notes with markup are shown, and do nothing."""
    for path, name, value, scripts in (
        *(("/", "q", "", 1), ("/", "q", "script alert", 1), ("/sprint", "id", NAME, 2)),
    ):
        answer = hostile.get(path, params={name: value})
        assert answer.status_code == 200
        found = acting(answer.text)
        assert (path, found.found, found.scripts) == (path, [], scripts)
        assert "\u202e" not in answer.text
        assert "&lt;script&gt;alert(1)" in answer.text


def test_markup_in_the_view_of_an_iteration_is_text(hostile: TestClient) -> None:
    """The view, which the page's script inserts, contains no active element."""
    path = "/iteration"
    answer = hostile.get(path, params={"id": NAME, "n": "1"})
    assert answer.status_code == 200
    assert (acting(answer.text).found, acting(answer.text).scripts) == ([], 0)
    assert "&lt;script&gt;alert(1)" in answer.text
    for number, status in (("7", 404), ("x", 400), ("", 400)):
        asked = hostile.get(path, params={"id": NAME, "n": number})
        assert asked.status_code == status


def test_markup_in_a_comparison_is_text(hostile: TestClient) -> None:
    """Ids and prompts of compared sprints are shown as text; both must exist."""
    answer = hostile.get("/compare", params={"id": NAME, "with": NAME})
    assert answer.status_code == 200
    assert (acting(answer.text).found, acting(answer.text).scripts) == ([], 0)
    assert "&lt;script&gt;alert(1)" in answer.text
    assert "\u202e" not in answer.text
    assert hostile.get("/compare", params={"id": NAME, "with": "x"}).status_code == 404
    assert hostile.get("/compare", params={"id": NAME, "x": "y"}).status_code == 400
    # The form of the overview sends the ids unchanged.
    assert hostile.get("/").text.count(f'value="{escape(NAME)}"') == 2


def test_two_sprints_are_side_by_side(log: Path) -> None:
    """Figures have their difference, and link to the sprint or its best iteration."""
    with Workspace.open(log) as workspace:
        plan = {"phases": [{"id": "one", "prompt": "Do it"}]}
        workspace.handle(CreateSprint(plan, Place("sub/PROGRESS.yaml")), sprint_id="new")
        workspace.handle(StartSprint(), sprint_id="new")
        for name, tests, cost in (("auth", 40, 0.5), ("new", 43, None)):
            usage = None if cost is None else Usage(1_000, 200, cost_usd=cost)
            ran = AgentRan("", "completed", 0, duration_ms=5, usage=usage, iteration=1)
            found = MeasureIteration({"test_count": tests, "tests_passed": tests})
            for command in (StartIteration(), EndRun(ran, Verdict("completed")), found):
                workspace.handle(command, sprint_id=name)
        page = LivePages.comparison(workspace, {"id": "auth", "with": "new"})
    (tests_,) = re.findall("<tr><th[^>]*>its test count</th>(.*?)</tr>", page)
    link = '<td><a href="sprint?id={}#i1">{}</a></td>'
    assert tests_ == f"{link.format('auth', 40)}{link.format('new', 43)}<td>+3</td>"
    (cost_,) = re.findall("<tr><th[^>]*>cost</th>(.*?)</tr>", page)
    # The difference of an unknown cost is unknown.
    assert ("$0.50" in cost_, cost_[-9:]) == (True, "<td></td>")
    assert page.count("not saved") == 2


def test_views_are_those_of_the_newest_version(log: Path) -> None:
    """A view is made again after an event, also without a page of its sprint."""
    made = LivePages({})
    with Workspace.open(log) as workspace:
        workspace.handle(StartIteration(), sprint_id="auth")
        made.page(workspace, "auth")
        before = made.iteration(workspace, "auth", 1)
        assert made.iteration(workspace, "auth", 1) == before
        ran = AgentRan("", "failed", 1, output="never seen before", iteration=1)
        workspace.handle(EndRun(ran, Verdict("failed", error="no")), sprint_id="auth")
        assert "never seen before" in made.iteration(workspace, "auth", 1)
        assert made.iteration(workspace, "auth", 1) == LivePages({}).iteration(
            workspace, "auth", 1
        )


def test_markup_in_addresses_is_text(hostile: TestClient) -> None:
    """Names in an address are shown as text, also in an error."""
    for path in ("/sprint", "/api/status", "/act"):
        name = {"/sprint": "id", "/act": "do"}.get(path, "sprint")
        answer = hostile.request(
            "POST" if path == "/act" else "GET", path, params={name: f"x{HOSTILE}"}
        )
        assert answer.status_code in (404, 415)
        if answer.headers["content-type"].startswith("text/html"):
            assert acting(answer.text).found == []
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_form_carries_names_as_they_are(hostile: TestClient) -> None:
    """A request whose id has quotes and markup can be decided."""
    page = hostile.get("/sprint", params={"id": NAME}).text
    fields = FormFields()
    fields.feed(page)
    (form,) = [one for one in fields.forms if one["action"].endswith("queue+reject")]
    assert form["request"] == NAME
    given = {name: form[name] for name in ("sprint", "form", "request")}
    given["reasoning"] = HOSTILE
    shown = FormFields()
    shown.feed(hostile.post(form["action"], data=given).text)
    (again,) = shown.forms
    action = again.pop("action")
    assert hostile.post(action, data=again).status_code == 200
    (request,) = hostile.get("/api/queue/list").json()
    assert (request["id"], request["status"]) == (NAME, "rejected")


class FormFields(HTMLParser):
    """Collects the forms of a page with the content of their hidden fields."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at an element."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append({"action": given["action"]})
        if tag == "input" and given.get("type") == "hidden":
            self.forms[-1][given["name"]] = given["value"]


def test_all_sprints_and_work_trees_are_on_one_page(
    log: Path, server_of: MakeServer
) -> None:
    """The overview links to each sprint, and names its work tree if there are several."""
    with Workspace.open(log) as workspace:
        for name, place in (
            ("other", Place("sub/PROGRESS.yaml")),
            ("linked", Place("PROGRESS.yaml", worktree="feature")),
        ):
            plan = {"phases": [{"id": "one", "prompt": "Do it"}]}
            workspace.handle(CreateSprint(plan, place), sprint_id=name)
    with TestClient(make_app(server_of(log)), base_url=ORIGIN) as client:
        client.get(f"/?token={TOKEN}")
        page = client.get("/").text
    linked = page.index("sprint?id=linked")
    assert page.index("sprint?id=auth") < linked < page.index("sprint?id=other")
    assert "work tree feature" in page[linked:].split("</tr>")[0]
    assert "at setup" in page


@pytest.mark.parametrize(
    ("query", "kind", "part", "words"),
    [
        ("odd CARTS", "prompt", "#plan", "Try <mark>odd</mark> amounts"),
        ("provider answers", "answer", "#i8", "the <mark>provider</mark>&#x27;s"),
        ("cart_2", "file", "#i2", "shop/<mark>cart</mark>_<mark>2</mark>.py"),
        ("floats", "learning", "#learnings", "; <mark>floats</mark> lose"),
    ],
)
def test_a_search_links_to_iterations(
    tmp_path: Path, query: str, kind: str, part: str, words: str
) -> None:
    """Prompts, answers, files and learnings are found, with links to their iterations."""
    with night(tmp_path) as workspace:
        page = LivePages.part(workspace, query)
        assert "0 results" in LivePages.part(workspace, "nowhere")
    assert 'data-label="best score">0.97<' in page
    first = page.split('id="found"')[1].split("</li>")[0]
    assert f"<small>{kind}</small>" in first
    assert f'href="sprint?id=checkout{part}"' in first
    assert words in first


def test_a_search_finds_no_session_outside_iterations(log: Path) -> None:
    """A prompt is found if it was given in an iteration with the same correlation id."""

    def given(work: str, *minutes: int) -> None:
        events = [
            new_event(
                PromptGiven(text=f"Where is minute\n{n}"), at=f"2026-01-15T10:{n}:00Z",
                actor="agent:claude", correlation_id=work,
            )
            for n in minutes
        ]  # fmt: skip
        workspace.log.append(f"session/{work}", events, expect=Expect.NONE)

    with Workspace.open(log) as workspace:
        for minute in (10, 30):
            for at, command in ((minute, StartIteration()), (minute + 5, EndIteration())):
                workspace.handle(
                    command, sprint_id="auth", at=f"2026-01-15T10:{at}:00Z",
                    correlation_id="claude-1",
                )  # fmt: skip
        given("claude-1", 12, 20, 32)
        given("claude-2", 13)
        found = search_sprints(workspace, "minute", 10)
    assert {pieces[-1]: numbers for _, _, numbers, pieces in found} == {
        " 12": [1],
        " 32": [2],
    }


def test_the_page_of_a_sprint_may_run_its_own_script_alone(client: TestClient) -> None:
    """The policy contains the digests of the page's style and script."""
    answer = client.get("/sprint?id=auth")
    allowed = answer.headers["content-security-policy"]
    assert all(source in allowed for source in sources())
    assert "http-equiv" not in answer.text
    assert all(source not in client.get("/").headers["content-security-policy"]
               for source in sources())  # fmt: skip


def test_a_log_without_sprints_has_a_page(tmp_path: Path, server_of: MakeServer) -> None:
    """An empty log is not an error: there is an overview, figures, and a stream."""
    Workspace.init(tmp_path, here=True).close()
    with TestClient(make_app(server_of(tmp_path)), base_url=ORIGIN) as client:
        client.get(f"/?token={TOKEN}")
        assert "no sprint in this log yet" in client.get("/").text
        assert client.get("/sprint").status_code == 404
        assert client.get("/metrics").text.endswith("# EOF\n")
        assert client.get("/api/sprint/list").json() == []


def test_an_event_of_a_newer_version_is_in_the_stream(log: Path) -> None:
    """An unknown event is shown by its type, and blocks nothing."""
    new = NewEvent(
        type="from-the-future",
        schema_version=1,
        at="2026-01-15T09:00:00Z",
        actor="runtime",
        payload=b"{}",
    )
    with Workspace.open(log) as workspace:
        workspace.log.append("sprint/auth", [new], expect=Expect.ANY)
        (recorded,) = workspace.log.read(after=3)
    assert event_line(recorded).said == "from-the-future"


def test_many_who_look_at_a_page_wait_for_it_once(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page is generated once per event, and again after a while because of clocks."""
    made: list[str] = []
    document, now = whole.document, [0.0]

    def counted(facts: SprintFacts, served: whole.Served, *, is_whole: bool) -> str:
        made.append("page")
        return document(facts, served, is_whole=is_whole)

    monkeypatch.setattr(whole, "document", counted)
    kept = pages.LivePages({}, clock=lambda: now[0])
    with Workspace.open(log) as workspace:
        assert len({kept.page(workspace, "auth") for _ in range(20)}) == 1
        assert len(made) == 1
        workspace.handle(AddNote("new"), sprint_id="auth")
        assert "as of version 4," in kept.page(workspace, None)
        assert kept.page(workspace, "auth") == kept.page(workspace, None)
        assert len(made) == 2
        now[0] += pages.FRESH_SECONDS
        kept.page(workspace, "auth")
        assert len(made) == 3
