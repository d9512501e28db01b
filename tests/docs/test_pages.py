"""The pages hang together: short where they must be, and no link leads nowhere."""

import re
from pathlib import Path

import pytest

from .pages import PAGES
from .sessions import ROOT

DOCS = ROOT / "docs"
README_LINES_MAX = 150
DECISION_LINES_MAX = 70

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """Return where a page's relative links lead, code left out."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [link for link in _LINK.findall(text) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def is_broken(page: Path, link: str) -> bool:
    """Tell whether a link of a page leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


def test_no_link_is_broken() -> None:
    """Every relative link leads to a file that is there, and to a heading it has."""
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
    missing = {page for page in DOCS.rglob("*.md") if page.name != "template.md"} - seen
    assert missing == set()


def test_the_readme_is_short() -> None:
    """Nobody reads a longer one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= README_LINES_MAX


@pytest.mark.parametrize(
    "page", sorted((DOCS / "adr").glob("[0-9]*.md")), ids=lambda page: page.stem
)
def test_a_decision_is_one_page(page: Path) -> None:
    """A decision has its parts and fits on a screen or two."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[:3] == ["Context", "Decision", "Consequences"]
    assert "\nStatus: " in text
    assert len(text.splitlines()) <= DECISION_LINES_MAX


def test_how_to_pages_say_so() -> None:
    """The title of a how-to page begins with these words."""
    titles = [page.read_text().split("\n")[0] for page in (DOCS / "how-to").glob("*.md")]
    assert [title for title in titles if not title.startswith("# How to ")] == []
