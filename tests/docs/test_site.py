"""The pages as a site: built without a warning, and each link of it leads somewhere."""

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
    """Reads where a page's links lead, and by which names it can be linked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of what an element links to, shows or is called."""
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        self.links += [given[name] for name in ("href", "src") if name in given]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make site` does; a warning fails it."""
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
    """Yield each link within the site that leads nowhere."""
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
    """Each page is in it, the folder's address leads to the first, and no link is dead."""
    made = {path.relative_to(site).with_suffix(".md") for path in site.rglob("*.html")}
    assert {page.relative_to(ROOT) for page in PAGES} - made == set()
    assert (site / "index.html").read_bytes() == (site / "README.html").read_bytes()
    assert list(dead(site)) == []


@pytest.mark.long
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    """No script, style, font or picture of another host: who reads it is told to nobody."""
    first = Page((site / "index.html").read_text(encoding="utf-8"))
    assert [link for link in first.links if urlsplit(link).netloc and ".js" in link] == []


@pytest.mark.long
def test_every_listed_page_stands_at_the_side(site: Path) -> None:
    """What the list of pages names is linked beside every page."""
    first = Page((site / "index.html").read_text(encoding="utf-8"))
    for name in ("how-to/go-back.html", "reference/cli.html", "tutorial/first-sprint.html"):
        assert f"docs/{name}" in first.links
