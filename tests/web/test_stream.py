"""The stream of events: each once, in order, even after a restart, without delays."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.web import app as web
from sprintlog.cli.web import followed_log
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.streams import history
from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.projections import resident_log
from sprintlog.projections.views.events import EventLine
from sprintlog.projections.workspace import Workspace

from .conftest import Listener, MakeServer, in_loop, make_server, serving


def note(folder: Path, *texts: str) -> int:
    """Append a note for each text from elsewhere; return the position of the last one."""
    with Workspace.open(folder) as workspace:
        for text in texts:
            workspace.handle(AddNote(text), sprint_id="auth")
        return workspace.log.head().position


def test_a_page_hears_of_what_was_and_of_what_comes(
    log: Path, server_of: MakeServer
) -> None:
    """The stream has existing events after a position, then each new one."""

    async def test() -> None:
        async with serving(server_of(log)) as app:
            page = Listener(app, after=1)
            await page.until_at(3)
            last = await asyncio.to_thread(note, log, "one", "two")
            await page.until_at(last)
            assert page.positions == [2, 3, 4, 5]
            assert [one.data["said"] for one in page.heard][-2:] == ["note-added"] * 2
            assert {one.data["stream"] for one in page.heard} == {"sprint/auth"}
            await page.leave()

    in_loop(test)


def test_a_page_that_names_no_position_hears_of_what_comes(
    log: Path, server_of: MakeServer
) -> None:
    """Without a position, no past events are sent."""

    async def test() -> None:
        async with serving(server_of(log)) as app:
            page = Listener(app)
            await page.until(lambda one: one.status == 200)
            await page.until_at(await asyncio.to_thread(note, log, "new"))
            assert page.positions == [4]
            await page.leave()

    in_loop(test)


def test_a_restart_loses_and_doubles_nothing(log: Path, server_of: MakeServer) -> None:
    """A page sends its last position, and another server continues there."""

    async def test() -> None:
        async with serving(server_of(log)) as app:
            page = Listener(app, after=0)
            await page.until_at(3)
        await page.ended()
        await asyncio.to_thread(note, log, *["while", "nobody", "served"])
        async with serving(server_of(log)) as app:
            again = Listener(app, after=0, seen=page.positions[-1])
            last = await asyncio.to_thread(note, log, "and now")
            await again.until_at(last)
            assert page.positions + again.positions == [*range(1, last + 1)]
            await again.leave()

    in_loop(test)


def test_open_pages_add_one_reader(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For 20 current pages, one follower reads as much as for one."""
    counts: dict[str, int] = {}

    def counted(name: str) -> None:
        counts[name] = counts.get(name, 0) + 1

    def follow(*given: Any, **named: Any) -> Iterator[Any]:
        counted("followers")
        for page in history.follow(*given, **named):
            counted("pages read")
            yield page

    def lines_after(*given: Any) -> Any:
        counted("caught up")
        return read(*given)

    def open_workspace() -> Workspace:
        counted("logs opened")
        return Workspace.open(log)

    monkeypatch.setattr(resident_log, "follow", follow)
    read = followed_log.lines_after
    monkeypatch.setattr(followed_log, "lines_after", lines_after)

    async def with_pages(number: int) -> dict[str, int]:
        counts.clear()
        async with serving(make_server(open_workspace, [])) as app:
            pages = [Listener(app) for _ in range(number)]
            for page in pages:
                await page.until(lambda one: one.status == 200)
            for text in ("one", "two", "three"):
                last = await asyncio.to_thread(note, log, text)
                for page in pages:
                    await page.until_at(last)
            for page in pages:
                await page.leave()
        return dict(counts)

    async def test() -> None:
        one = await with_pages(1)
        assert await with_pages(20) == one
        assert one == {"logs opened": 2, "followers": 1, "pages read": 3}

    in_loop(test)


def test_200_pages_hear_each_event_once(log: Path, server_of: MakeServer) -> None:
    """With 200 streams open every one gets every event, and all end with the server."""

    async def test() -> None:
        async with serving(server_of(log)) as app:
            pages = [Listener(app, after=3) for _ in range(200)]
            last = await asyncio.to_thread(note, log, "one", "two", "three")
            for page in pages:
                await page.until_at(last)
            assert {tuple(page.positions) for page in pages} == {(4, 5, 6)}
        for page in pages:
            await page.ended()

    in_loop(test)


def test_more_pages_than_are_served_come_again(
    log: Path, server_of: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stream too many is refused with a retry time, and the others continue."""
    monkeypatch.setattr(web, "STREAMS_MAX", 2)

    async def test() -> None:
        async with serving(server_of(log)) as app:
            pages = [Listener(app, after=0) for _ in range(2)]
            for page in pages:
                await page.until_at(3)
            third = Listener(app, after=0)
            await third.ended()
            assert third.status == 503
            await pages[0].leave()
            fourth = Listener(app, after=0)
            await fourth.until_at(3)
            for page in (pages[1], fourth):
                await page.leave()

    in_loop(test)


def test_pages_that_come_at_once_are_counted(
    log: Path, server_of: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a moment no more streams are opened than are served."""
    monkeypatch.setattr(web, "STREAMS_MAX", 2)

    async def test() -> None:
        async with serving(server_of(log)) as app:
            pages = [Listener(app, after=0) for _ in range(5)]
            for page in pages[2:]:
                await page.ended()
            assert [page.status for page in pages[2:]] == [503] * 3
            for page in pages[:2]:
                await page.until_at(3)
                await page.leave()

    in_loop(test)


def test_a_slow_page_is_let_go_and_holds_up_nobody(
    log: Path, server_of: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that stops reading is disconnected; the others get all events."""
    monkeypatch.setattr(web, "SEND_SECONDS_MAX", 0.2)

    async def test() -> None:
        async with serving(server_of(log)) as app:
            slow, quick = Listener(app, after=3), Listener(app, after=3)
            await slow.until(lambda one: one.status == 200)
            slow.reads.clear()
            last = await asyncio.to_thread(note, log, *map(str, range(20)))
            await quick.until_at(last)
            await slow.ended()
            assert quick.positions == [*range(4, last + 1)]
            assert slow.positions != quick.positions
            await quick.leave()
        await asyncio.gather(slow.task, return_exceptions=True)

    in_loop(test)


def test_a_page_of_another_log_begins_anew(log: Path, server_of: MakeServer) -> None:
    """A position beyond the log belongs to another log: the page is notified."""

    async def test() -> None:
        async with serving(server_of(log)) as app:
            page = Listener(app, seen=1000)
            last = await asyncio.to_thread(note, log, "new")
            await page.until_at(last)
            # The note may have been recorded before the page was loaded.
            first, *rest = (one.event for one in page.heard)
            assert (first, {*rest} <= {"message"}) == ("reset", True)
            await page.leave()

    in_loop(test)


def line(position: int) -> EventLine:
    """Return an event of a long night in a line."""
    return EventLine(
        position=position,
        stream="sprint/auth",
        version=position,
        id="0" * 36,
        type="note-added",
        hash="0" * 64,
        at="2026-01-15T09:00:00Z",
        actor="runtime",
        said="x" * 200,
    )


def test_a_night_of_events_keeps_only_the_newest() -> None:
    """After 8 hours with ten events per second, only the newest are in memory.

    A page that reads them continuously misses none of them.
    """

    async def nothing(after: int, limit: int) -> list[EventLine]:
        raise AssertionError("nobody was away")

    async def test() -> None:
        kept = followed_log.Tail(0, nothing)
        night, seen = 8 * 3600 * 10, 0

        async def page() -> None:
            nonlocal seen
            async for one in kept.after(0):
                assert one.position == seen + 1
                seen = one.position

        reading = asyncio.create_task(page())
        await asyncio.sleep(0)
        for first in range(1, night + 1, 100):
            kept.take([line(position) for position in range(first, first + 100)])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert len(kept._kept) <= followed_log.KEPT_MAX
        while seen < night:
            await asyncio.sleep(0)
        kept.close()
        await reading

    in_loop(test)


def test_who_falls_behind_is_to_come_again(log: Path) -> None:
    """A client that had caught up and missed events is disconnected, without a read."""

    async def nothing(after: int, limit: int) -> list[EventLine]:
        raise AssertionError("it would read the log for somebody slow")

    async def test() -> None:
        kept = followed_log.Tail(0, nothing)
        reading = kept.after(0)
        first = asyncio.ensure_future(anext(reading))
        await asyncio.sleep(0)
        kept.take([line(1)])
        assert (await first).position == 1
        kept.take([line(position) for position in range(2, followed_log.KEPT_MAX + 10)])
        with pytest.raises(followed_log.FellBehindError):
            await anext(reading)

    in_loop(test)


def test_a_log_that_cannot_be_read_is_said_and_tried_again(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A problem with the log makes the server unhealthy until it is readable again."""
    monkeypatch.setattr(resident_log, "AGAIN_SECONDS", 0.05)
    said: list[str] = []
    trouble = [SprintlogError("the log is held by others")]

    def open_workspace() -> Workspace:
        if said or not opened:
            opened.append(1)
            return Workspace.open(log)
        raise trouble[0]

    opened: list[int] = []

    async def test() -> None:
        server = make_server(open_workspace, said)
        async with serving(server) as app:
            page = Listener(app, after=3)
            await page.until(lambda one: one.status == 200)
            await page.until_at(await asyncio.to_thread(note, log, "back"))
            assert said == ["the log is held by others"]
            assert server.logs[""].tail.problem is None
            await page.leave()

    in_loop(test)
