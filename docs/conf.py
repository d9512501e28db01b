"""Configuration of the site: `make site` builds it with Sphinx, furo and MyST.

The pages are the unmodified files of the repository, so relative links work in both. The
first page is the README; the list of docs/README.md becomes the navigation tree.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parent.parent

project = "sprintlog"
author = "The sprintlog authors"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md"]
suppress_warnings = [
    "misc.highlighting_failure",  # sessions mix commands and output
    "toc.not_included",  # decisions are listed on their own page
]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "sprintlog"
html_copy_source = False
html_show_copyright = False


def contents(text: str) -> str:
    """Return the navigation tree: the headings of a list of pages, with their links."""
    parts = []
    for part in re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]:
        heading, _, rest = part.partition("\n")
        listed = re.findall(r"^- .*(?:\n  .*)*", rest, re.MULTILINE)
        pages = re.findall(r"\]\(([^):#]+\.md)\)", "\n".join(listed))
        if pages:
            lines = [f"/{(Path('docs') / page).as_posix()}" for page in pages]
            lines = [line.replace("/docs/../", "/") for line in lines]
            head = ["```{toctree}", ":hidden:", f":caption: {heading}", ""]
            parts.append("\n".join([*head, *lines, "```"]))
    return "\n\n".join(parts)


def add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Append the navigation tree to the first page."""
    if page == root_doc:
        listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
        source[0] += f"\n\n{contents(listed)}\n"


def copy_first_page(app: Sphinx, failure: Exception | None) -> None:
    """Make the README the page that a server returns for the folder."""
    if failure is None:
        shutil.copy(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Register the two functions above."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", copy_first_page)
