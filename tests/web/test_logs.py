"""Several logs on one server: their names, pages, actions and failures."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sprintlog.cli.context import open_workspace
from sprintlog.cli.places import log_names
from sprintlog.cli.web import followed_log
from sprintlog.commands import EndRun, StartIteration, Verdict
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.phases.lifecycle import AddNote, StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections import resident_log
from sprintlog.projections.workspace import Workspace

from ..page.browsers import NewContext, violations
from ..postgres.conftest import newest as newest
from ..postgres.server import Server as PostgresServer
from .conftest import (
    FORM,
    ORIGIN,
    Listener,
    Server,
    in_loop,
    listening,
    make_log,
    make_server,
    serving,
    version_in,
    writing,
)
from .test_live import enter, shows
from .test_pages import NAME, acting
from .test_serve import serving as process


def server_of_logs(*logs: object, writes: bool = False) -> Server:
    """Return a server of logs, which are given as to `--log`."""
    opens = {x: partial(open_workspace, y) for x, y in log_names(map(str, logs)).items()}
    return make_server(opens, [], writes=writes)


@contextmanager
def visiting(*logs: object) -> Iterator[TestClient]:
    """Provide an admitted browser before a server of logs that records."""
    with writing(server_of_logs(*logs, writes=True)) as client:
        yield client


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return the folders of two logs, each of which has a sprint `auth`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "api", tmp_path / "web"
    for folder in made:
        folder.mkdir()
        make_log(folder)
    return made


def note(folder: Path, text: str) -> None:
    """Append a note from elsewhere."""
    with Workspace.open(folder) as workspace:
        workspace.handle(AddNote(text), sprint_id="auth")


def test_sprints_of_the_same_name_have_their_own_pages(two: tuple[Path, Path]) -> None:
    """The overview links to each log's sprint, and an address without a log is refused."""
    note(two[1], "only in web")
    with visiting(*two) as client:
        page = client.get("/").text
        for name, is_there in (("api", False), ("web", True)):
            there = f"log/{name}/sprint?id=auth"
            assert f'href="{there}"' in page
            assert client.get(f"/{there}").status_code == 200
            said = client.get(f"/log/{name}/api/log", params={"sprint": "auth"}).text
            assert ("note-added" in said) is is_there
        assert f"{two[0]}, 3 events" in page
        assert "/log/api/, /log/web/" in client.get("/sprint?id=auth").text
        assert client.get("/log/other/sprint?id=auth").status_code == 404
        found = client.get("/?q=set").text
        assert [found.count(f"log/{x}/sprint?id=auth#plan") for x in ("api", "web")] == [
            1,
            1,
        ]


def test_an_action_goes_to_its_log(two: tuple[Path, Path]) -> None:
    """A form on a page of one log records there, leads back, and leaves the others."""
    with visiting(*two) as client:
        asked = client.post("/log/web/act?do=sprint+pause", data=FORM)
        given = {**FORM, "version": version_in(asked.text)}
        there = "/log/web/act?do=sprint+pause"
        done = client.post(there, data=given, follow_redirects=False)
        assert str(done.url.join(done.headers["location"])) == (
            f"{ORIGIN}/log/web/sprint?id=auth"
        )
    for folder, status in zip(two, ("in-progress", "paused"), strict=True):
        with Workspace.open(folder) as workspace:
            assert workspace.sprint("auth").plan.status == status


def test_one_line_replaces_a_log_that_cannot_be_read(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing, damaged, removed and silent logs have a line each; the others are shown."""
    monkeypatch.setattr(followed_log, "ANSWER_SECONDS", 0.3)
    damaged, gone = two[0].with_name("damaged"), two[0].with_name("gone")
    for folder in (damaged, gone):
        shutil.copytree(two[1], folder)
    (damaged / ".sprintlog" / "log.db").write_bytes(b"not a database" * 500)
    with visiting(two[0], damaged, gone, two[1], "/no/such") as client:
        assert "log/gone/sprint?id=auth" in client.get("/").text
        shutil.rmtree(gone)
        page = client.get("/").text
        assert page.count('role="alert"') == 3
        assert "there is no log in /no/such" in page
        assert f"there is no log in {gone}" in page
        assert page.count("sprint?id=auth") == 2
        assert client.get("/healthz").status_code == 200
        make_log(gone)
        assert "log/gone/sprint?id=auth" in client.get("/").text


def test_a_log_that_does_not_answer_delays_no_other(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time limit, a log whose reader is busy has a line on the overview."""
    monkeypatch.setattr(followed_log, "ANSWER_SECONDS", 0.2)

    async def test() -> None:
        server = server_of_logs(*two)
        async with serving(server):
            busy = asyncio.Event()
            reader = asyncio.get_running_loop()
            wait = asyncio.run_coroutine_threadsafe
            asked = asyncio.ensure_future(
                server.logs["api"].ask(lambda w: wait(busy.wait(), reader).result())
            )
            await asyncio.sleep(0)
            parts = [await x.part("", name) for name, x in server.logs.items()]
            assert "it does not answer" in parts[0]
            assert "log/web/sprint?id=auth" in parts[1]
            busy.set()
            await asked

    in_loop(test)


def test_the_overview_hears_of_every_log(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stream names the log of each event, and of a log that becomes readable."""
    monkeypatch.setattr(resident_log, "AGAIN_SECONDS", 0.05)

    async def test() -> None:
        late = two[0].with_name("late")
        server = server_of_logs(*two, late)
        async with serving(server) as app:
            page = Listener(app, after=server.news.position)
            for folder in two:
                await asyncio.to_thread(note, folder, "new")
            await asyncio.to_thread(late.mkdir)
            await asyncio.to_thread(make_log, late)
            await page.until(
                lambda one: {"api", "web", "late"} <= {x.data["log"] for x in one.heard}
            )
            said = [x.data["event"] for x in page.heard if x.data["event"]]
            assert "note-added" in {x["said"] for x in said}
            await page.leave()
            again = Listener(app, seen=1)
            await again.until(lambda one: bool(one.heard))
            assert again.heard[0].event == "reset"
            await again.leave()

    in_loop(test)


def test_pages_of_several_logs_are_live(
    two: tuple[Path, Path], new_context: NewContext
) -> None:
    """In a browser, the overview and a page of a log update, and link to each other."""
    with listening(server_of_logs(*two, "/no/such")) as port:
        page = new_context(viewport={"width": 1000, "height": 600}).new_page()
        failed = enter(page, port, "/")
        assert violations(page, "light", 1000) == []
        note(two[1], "new")
        page.wait_for_selector("#log-web >> text=web, 4 events")
        assert "there is no log in /no/such" in page.inner_text("#log-such [role=alert]")
        page.click("#log-web td a")
        page.wait_for_selector("#live.good")
        note(two[1], "newer")
        shows(page, 5)
        page.click("nav >> text=all sprints")
        page.wait_for_selector("#log-web >> text=web, 5 events")
    assert failed == []


def test_several_logs_have_their_own_token(two: tuple[Path, Path]) -> None:
    """The address of one log gives no access to others; the token survives a restart."""
    given = [x for folder in two for x in ("--log", str(folder))]
    tokens = []
    for _ in range(2):
        with process(two[0], *given, "--port", "0") as served:
            tokens.append(served.token)
    kept = two[0].with_name("state") / "sprintlog" / "serve" / "serve.token"
    assert [f"{x}\n" for x in tokens] == [kept.read_text()] * 2
    assert kept.stat().st_mode & 0o777 == 0o600
    assert not (two[0] / ".sprintlog" / "serve.token").exists()


def test_names_of_logs_are_stable_and_plain(tmp_path: Path) -> None:
    """A name depends on no order, never contains markup, and equal ones get a digest."""
    one, other, odd = (
        tmp_path / "a/x",
        tmp_path / "b/x",
        tmp_path / f"{NAME}\udcff".replace("/", ""),
    )
    names = log_names([f"{one}/.sprintlog/log.db", str(other), str(odd), f"{one}/"])
    assert names == log_names(map(str, (odd, other, one))) | names
    assert sorted(names.values()) == sorted(map(str, (one, other, odd)))
    assert all(x.replace("-", "").replace(".", "").isalnum() for x in names)
    assert [*log_names(["/", "/..", "postgresql://u@h/db?log=auth"])] == ["log", "auth"]
    with pytest.raises(InvalidInputError, match="password"):
        log_names(["postgresql://u:secret@h/db?log=auth"])


def test_markup_in_the_path_of_a_log_is_text(tmp_path: Path) -> None:
    """Hostile paths are shown as text on the overview, readable or not."""
    odd = [tmp_path / f"{x}{NAME}".replace("/", "") for x in ("read", "missing")]
    odd[0].mkdir()
    make_log(odd[0])
    with visiting(*odd) as client:
        page = client.get("/").text
    assert (acting(page).found, acting(page).scripts) == ([], 1)
    assert page.count("&lt;script&gt;alert(1)") == 2


def test_a_log_on_a_server_is_one_of_several(
    two: tuple[Path, Path], newest: PostgresServer
) -> None:
    """A log given by its address is shown beside a folder's; its folder is not joined."""
    url = newest.new_url()
    elsewhere = two[0].with_name("elsewhere")
    with Workspace.init(elsewhere, address=url, here=True) as workspace:
        create = CreateSprint(plan={"phases": [{"id": "a", "prompt": "Do"}]})
        for command in (create, StartSprint()):
            workspace.handle(command, sprint_id="auth")
    with visiting(two[0], url) as client:
        page = client.get("/").text
        (name,) = log_names([url])
        assert client.get(f"/log/{name}/sprint?id=auth").status_code == 200
        assert page.count("/sprint?id=auth") == 2
        assert "2 events" in page


def test_results_of_several_logs_are_compared(two: tuple[Path, Path]) -> None:
    """The page of `list --by` names groups and verdict as text, and logs left out."""
    model = "<script>alert(1)</script>"
    with Workspace.open(two[0]) as workspace:
        ran = AgentRan("", "completed", 0, iteration=1, models=(model,))
        for command in (StartIteration(), EndRun(ran, Verdict("completed"))):
            workspace.handle(command, sprint_id="auth")
    with visiting(*two, "/no/such") as client:
        page = client.get("/results?by=model").text
        assert "without such: there is no log in /no/such" in page
        assert "too few to compare: &lt;script&gt;alert(1)" in page
        assert (acting(page).found, acting(page).scripts) == ([], 0)
        assert client.get("/log/api/results?by=agent").status_code == 200
        assert client.get("/results?by=x'y").status_code == 400
