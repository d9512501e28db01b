"""Commands shown on the pages print the shown output."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from ..forked import serving
from ..sessions import ROOT, Answer, Session, answers, begin, differences, session_of

AFTER_ANOTHER = "the-morning-after.md"
"""It begins where another page ends: `test_overnight.py` plays both."""
ELSEWHERE = {
    "replicate-a-log.md": "tests/docs/examples/test_litestream.py",
    "give-an-agent-mcp-tools.md": "tests/mcp",
    "share-a-log-on-postgresql.md": "tests/postgres",
    **dict.fromkeys(
        (
            "add-a-store.md",
            "add-a-projection.md",
            "add-an-event-type.md",
            "add-an-agent.md",
            "add-a-report-format.md",
            "add-a-notifier.md",
            "add-an-importer.md",
        ),
        "tests/extensions/test_pages.py",
    ),
}
"""Pages whose commands need a server or a browser, and what tries them."""
PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for page in (ROOT / "docs" / "tutorial").glob("*.md")
        if page.name != AFTER_ANOTHER
    ),
    *sorted(
        page
        for page in (ROOT / "docs" / "how-to").glob("*.md")
        if page.name not in ELSEWHERE
    ),
    ROOT / "docs" / "reference" / "envelope.md",
    ROOT / "docs" / "reference" / "judging.md",
]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

AT_ONCE = 4
"""So many sessions are played side by side: each waits for the disk most of the time."""

Played = tuple[Session, list[Answer]]


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Played]]:
    """Play the sessions of all selected tests before the first of these tests runs.

    A session running during a test would be reported as a leak of that test.
    """
    items = {item.name for item in request.session.items}
    pages = {n: p for n, p in zip(NAMES, PAGES, strict=True) if any(n in i for i in items)}
    sessions = {name: session_of(page) for name, page in pages.items()}
    folders = {name: tmp_path_factory.mktemp("session") for name in sessions}
    with serving() as commands, ThreadPoolExecutor(AT_ONCE) as pool:

        def play(name: str) -> list[Answer]:
            return answers(begin(sessions[name], folders[name], commands=commands))

        playing = {name: pool.submit(play, name) for name in sessions}
        try:
            wait(playing.values())
            yield lambda name: (sessions[name], playing[name].result())
        finally:
            pool.shutdown(cancel_futures=True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_what_happens(played: Callable[[str], Played], name: str) -> None:
    """Every command on a page produces the output shown below it."""
    session, given = played(name)
    assert session.commands
    assert differences(session, given) == []


def test_differences_are_noticed(tmp_path: Path) -> None:
    """A page that shows something else, or hides a failure, is detected."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\ntwo\n$ false\n$ true\n```\n")
    session = session_of(page)
    wrong = differences(session, answers(begin(session, tmp_path)))
    assert [text.split("\n")[0] for text in wrong] == ["echo one", "false: exit code 1"]
