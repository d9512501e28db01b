"""Pages of long sprints: bounded in bytes, and in memory while they are open for hours."""

import asyncio
import tempfile
import tracemalloc
from pathlib import Path

from sprintlog.cli.web.followed_log import KEPT_MAX, Tail
from sprintlog.engine.sprint import events as f
from sprintlog.projections.page.document import page
from sprintlog.projections.page.live_pages import LivePages
from sprintlog.projections.views.events import EventLine
from sprintlog.projections.workspace import Workspace
from tests.benchmarks.logs import make_loop
from tests.benchmarks.samples import SPRINT
from tests.page.test_carried_on import append, busy
from tests.page.test_odd_logs import BEGIN_MS

from ..criterion import Verdict

EVENTS = 100_000
SIZE_MAX = 3_000_000
HOURS, EVENTS_A_SECOND, PAGES = 8, 10, 20
GROWS_BYTES_MAX = 64 * 1024
"""By how much the memory of a tail may differ after one hour and after eight."""
UPDATES, BETWEEN = 100, 25
UPDATE_BYTES_MAX = 64
"""What an event may leave in the memory of a live page: when it was, and some room."""


def long_page(data: Path, seed: int) -> Verdict:
    """Check that the page of a hundred thousand events is small enough to send."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        make_loop(Path(name), EVENTS)
        with Workspace.open(Path(name)) as workspace:
            said = page(workspace, SPRINT)
            version = workspace.sprint(SPRINT).version
    size = len(said.encode())
    problems = [f"{size:,} bytes"] if size > SIZE_MAX else []
    if "earlier ones" not in said or version < EVENTS:
        problems.append(f"of {version:,} events it does not list omissions")
    return Verdict(not problems, f"{version:,} events, {size:,} bytes", problems)


def live_for_hours(data: Path, seed: int) -> Verdict:
    """Check that a server with 20 open pages uses no more memory after hours."""
    held = asyncio.run(_hours())
    grown = held[-1] - held[0]
    problems = [f"{grown:,} bytes more after {HOURS} hours"] * (grown > GROWS_BYTES_MAX)
    updated = _updates()
    if updated > UPDATE_BYTES_MAX:
        problems.append(f"{updated:.0f} bytes an event stay in a page that is made again")
    said = (
        f"{HOURS * 3600 * EVENTS_A_SECOND:,} events to {PAGES} pages: {held[0]:,} bytes "
        f"after an hour, {held[-1]:,} after {HOURS}; {UPDATES} updates of a page leave "
        f"{updated:.0f} bytes an event"
    )
    return Verdict(not problems, said, problems)


async def _hours() -> list[int]:
    """Return the number of bytes in memory after each hour of a simulated tail."""

    async def nothing(after: int, limit: int) -> list[EventLine]:
        raise AssertionError("nobody was away")

    kept = Tail(0, nothing)
    seen = [0] * PAGES

    async def follow(number: int) -> None:
        async for one in kept.after(0):
            assert one.position == seen[number] + 1
            seen[number] = one.position

    pages = [asyncio.create_task(follow(number)) for number in range(PAGES)]
    await asyncio.sleep(0)
    held, position = list[int](), 0
    tracemalloc.start()
    for _ in range(HOURS):
        for _ in range(3600 * EVENTS_A_SECOND // 100):
            kept.take([_line(position + n) for n in range(1, 101)])
            position += 100
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        while min(seen) < position:
            await asyncio.sleep(0)
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert position > KEPT_MAX
    kept.close()
    await asyncio.gather(*pages)
    return held


def _line(position: int) -> EventLine:
    return EventLine(
        position=position, stream="sprint/auth", version=position, id=f"{position:036}",
        type="note-added", hash=f"{position:064x}", at="2026-01-15T09:00:00Z",
        actor="runtime", said=f"event {position} {'x' * 200}",
    )  # fmt: skip


def _updates() -> float:
    """Return how many bytes per event remain in memory after a page is generated again."""
    with (
        tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name,
        Workspace.init(Path(name), here=True) as workspace,
    ):
        append(workspace, [*busy(1_000)], BEGIN_MS)
        pages, at = LivePages({}), BEGIN_MS + 10_000_000
        held = list[int]()
        tracemalloc.start()
        for number in range(UPDATES):
            more = [f.NoteAdded(f"note {number} {n}") for n in range(BETWEEN)]
            append(workspace, list(more), at + 1_000 * number)
            pages.page(workspace, "odd")
            if number in (UPDATES // 2, UPDATES - 1):
                held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    return (held[1] - held[0]) / (BETWEEN * (UPDATES / 2 - 1))
