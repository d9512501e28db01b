"""The pages stay within their limits and are reachable; every relative link resolves."""

import re
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from sprintlog.cli.help.help import SECTIONS, section_screen, whole_screen
from sprintlog.cli.main import cli

from .idioms import search
from .pages import PAGES
from .sessions import ROOT

DOCS = ROOT / "docs"
README_LINES_MAX, README_COLUMNS_MAX, README_WORDS_MAX = 110, 100, 650
README_FIRST_LINE = "An append-only event log for coding-agent loops"
DECISION_LINES_MAX = 50

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """Return the targets of a page's relative links, except in code."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [link for link in _LINK.findall(text) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def is_broken(page: Path, link: str) -> bool:
    """Return whether a link of a page is broken."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


def test_no_link_is_broken() -> None:
    """Every relative link points to an existing file and, if given, an existing heading."""
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in links(page)
        if is_broken(page, link)
    ]
    assert broken == []


def test_every_page_can_be_found() -> None:
    """Every page of `docs/` is reached from its index, by one link or several."""
    seen: set[Path] = set()
    waiting = [DOCS / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        waiting += [
            (page.parent / link.partition("#")[0]).resolve() for link in links(page)
        ]
    others = ("template.md", "SKILL.md", "GEMINI.md")
    missing = {page for page in DOCS.rglob("*.md") if page.name not in others} - seen
    assert missing == set()


def test_the_readme_is_short() -> None:
    """The README has at most 110 lines of 100 columns and 650 words outside code."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= README_LINES_MAX
    assert [line for line in lines if len(line) > README_COLUMNS_MAX] == []
    assert len(_FENCE.sub("", text).split()) <= README_WORDS_MAX


def test_the_readme_states_the_category_first() -> None:
    """The first sentence of the README names the kind of tool."""
    title, first = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[:2]
    assert title == "# sprintlog"
    assert first.startswith(README_FIRST_LINE)


@pytest.mark.parametrize("page", ["README.md", "docs/README.md"])
def test_no_installation_from_an_index_is_promised(page: str) -> None:
    """The README installs from a checkout: there is no package on an index."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.search(r"(?:install|uvx|pipx run) '?sprintlog", text) is None


def idioms_in(lines: Iterable[str]) -> list[str]:
    """Return the lines that contain an idiom, each with its replacement."""
    return [f"{line}: write {one.write}" for line in lines for one, _ in search(line)]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_the_first_pages_have_no_idioms(page: str) -> None:
    """The pages that a newcomer reads first contain no idioms of the denylist."""
    text = _FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    assert idioms_in(text.splitlines()) == []


def test_the_first_screen_has_no_idioms() -> None:
    """`sprintlog -h`, the topics and `help --all` contain no idioms of the denylist."""
    root = click.Context(cli, info_name="sprintlog")
    topics = [line for section in SECTIONS for line in section_screen(section)]
    first = cli.get_help(root).splitlines()
    assert idioms_in([*first, *topics, *whole_screen(root)]) == []


@pytest.mark.parametrize(
    "page", sorted((DOCS / "adr").glob("[0-9]*.md")), ids=lambda page: page.stem
)
def test_a_decision_is_one_page(page: Path) -> None:
    """A decision record has all parts and fits on one screen."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[:3] == ["Context", "Decision", "Consequences"]
    assert "\nStatus: " in text
    assert len(text.splitlines()) <= DECISION_LINES_MAX


def test_how_to_pages_say_so() -> None:
    """The titles of how-to pages start with "How to"."""
    titles = [page.read_text().split("\n")[0] for page in (DOCS / "how-to").glob("*.md")]
    assert [title for title in titles if not title.startswith("# How to ")] == []
