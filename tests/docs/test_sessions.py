"""What the pages show a reader typing is what a reader gets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .forked import serving
from .sessions import ROOT, Answer, Session, answers, begin, differences, session_of

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    ROOT / "docs" / "reference" / "envelope.md",
    ROOT / "docs" / "reference" / "judging.md",
]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

Played = tuple[Session, list[Answer]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Played]]:
    """Play all sessions side by side: each waits for the disk most of the time."""
    sessions = {n: session_of(p) for n, p in zip(NAMES, PAGES, strict=True)}
    with serving() as commands:
        playing = {
            name: begin(session, tmp_path_factory.mktemp("session"), commands=commands)
            for name, session in sessions.items()
        }
        try:
            yield {name: (sessions[name], answers(one)) for name, one in playing.items()}
        finally:
            for one in playing.values():
                one.kill()
                one.wait()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_what_happens(played: dict[str, Played], name: str) -> None:
    """Every command of a page answers what the page shows below it."""
    session, given = played[name]
    assert session.commands
    assert differences(session, given) == []


def test_differences_are_noticed(tmp_path: Path) -> None:
    """A page that shows something else, or hides a failure, does not pass."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\ntwo\n$ false\n$ true\n```\n")
    session = session_of(page)
    wrong = differences(session, answers(begin(session, tmp_path)))
    assert [text.split("\n")[0] for text in wrong] == ["echo one", "false: exit code 1"]
