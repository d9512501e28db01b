"""The page of a night in a file, which its tests share."""

from pathlib import Path

import pytest

from .night import SPRINT, night


@pytest.fixture(scope="session")
def night_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the page of a night."""
    from sprintlog.projections.page.document import page

    folder = tmp_path_factory.mktemp("night")
    file = folder / "night.html"
    with night(folder) as workspace:
        file.write_text(page(workspace, SPRINT), encoding="utf-8")
    return file
