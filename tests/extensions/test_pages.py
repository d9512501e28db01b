"""The how-to pages about extensions show the code of the example package."""

import re

import pytest

from .conftest import PACKAGES

DOCS = PACKAGES.parents[1] / "docs" / "how-to"
SHOWN = {
    "add-an-event-type.md": "events.py",
    "add-a-projection.md": "deployments.py",
    "add-an-importer.md": "board.py",
    "add-an-agent.md": "agent.py",
    "add-a-report-format.md": "checks.py",
    "add-a-notifier.md": "notify.py",
}
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_POINT = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("page", "module"), SHOWN.items())
def test_a_page_shows_what_is_tried(page: str, module: str) -> None:
    """The code on the page is the code that the tests install and run."""
    text = (DOCS / page).read_text(encoding="utf-8")
    code = (PACKAGES / "acme" / "acme_sprintlog" / module).read_text(encoding="utf-8")
    assert code in _BLOCK.findall(text)


@pytest.mark.parametrize("page", [*SHOWN, "add-a-store.md"])
def test_a_page_names_the_entry_point(page: str) -> None:
    """The lines that name it are those of the example's pyproject.toml."""
    text = (DOCS / page).read_text(encoding="utf-8")
    named = (PACKAGES / "acme" / "pyproject.toml").read_text(encoding="utf-8")
    (block,) = _POINT.findall(text)
    entry = block[block.index("[project.entry-points") :]
    assert entry in named
