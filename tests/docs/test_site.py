"""The site builds without warnings, has no broken links, and has search and navigation."""

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from .pages import PAGES
from .sessions import ROOT


class Page(HTMLParser):
    """Collects the links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the anchors and the targets of an element."""
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        self.links += [given[name] for name in ("href", "src") if name in given]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make site` does, with warnings as errors."""
    out = tmp_path_factory.mktemp("site")
    command = (
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        "docs",
        ".",
    )
    made = subprocess.run((*command, out), cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return out


def dead(site: Path) -> Iterator[str]:
    """Yield each broken link within the site."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            names = pages[target].names if target in pages else set()
            if not target.exists() or (parts.fragment and parts.fragment not in names):
                yield f"{path.relative_to(site)}: {link}"


@pytest.mark.long
def test_the_site_is_whole(site: Path) -> None:
    """It has every page, its index is the README, and no link is broken."""
    made = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")}
    assert {page.relative_to(ROOT) for page in PAGES} - made == set()
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()
    assert list(dead(site)) == []


@pytest.mark.long
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    """No script is loaded from another host."""
    first = Page((site / "index.html").read_text(encoding="utf-8"))
    assert [link for link in first.links if urlsplit(link).netloc and ".js" in link] == []


@pytest.mark.long
def test_the_site_has_navigation_and_search(site: Path) -> None:
    """Every page links the listed pages in its sidebar, and has a search field."""
    text = (site / "docs" / "explanation" / "rollbacks.html").read_text(encoding="utf-8")
    links = Page(text).links
    for name in ("concepts", "state-files", "durability"):
        assert f"{name}.html" in links
    assert "../reference/rules/iterations.html" in links
    assert "../how-to/roll-back.html" in links
    assert 'class="sidebar-search-container"' in text
    assert (site / "searchindex.js").is_file()
