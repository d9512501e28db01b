"""How the site is built: `make site`, with Sphinx, furo and MyST.

The pages are the files of the repository as they are, so links lead on the site where they
lead there. It begins with the README; docs/README.md is the list that stands at the side.
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
    "misc.highlighting_failure",  # of what is typed beside what is answered
    "toc.not_included",  # decisions are reached from their own list
]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "sprintlog"
html_copy_source = False
html_show_copyright = False


def contents(text: str) -> str:
    """Return what stands at the side: each heading of a list of pages, with its links."""
    parts = []
    for part in re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]:
        heading, _, rest = part.partition("\n")
        pages = re.findall(r"^- \[[^\]]*\]\(([^)#]+\.md)", rest, re.MULTILINE)
        if pages:
            lines = [f"/{(Path('docs') / page).as_posix()}" for page in pages]
            lines = [line.replace("/docs/../", "/") for line in lines]
            head = ["```{toctree}", ":hidden:", f":caption: {heading}", ""]
            parts.append("\n".join([*head, *lines, "```"]))
    return "\n\n".join(parts)


def add_contents(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put the list of pages behind the first page's text."""
    if page == root_doc:
        listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
        source[0] += f"\n\n{contents(listed)}\n"


def begin_at_the_readme(app: Sphinx, failure: Exception | None) -> None:
    """Let the address of the folder lead to the first page."""
    if failure is None:
        shutil.copy(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Say to Sphinx what is done beside."""
    app.connect("source-read", add_contents)
    app.connect("build-finished", begin_at_the_readme)
