"""The most frequently seen screens equal the stored ones, character by character."""

import re
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from sprintlog.cli.screen.tables import columns_of

from .screens import EXPECTED, FORMS, SCREENS, make_log, new_folder, page


@pytest.fixture(scope="module")
def looked_at() -> Iterator[Path]:
    """Return a folder with the displayed log."""
    folder = new_folder()
    make_log(folder)
    yield folder
    rmtree(folder)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_the_stored_one(looked_at: Path, name: str) -> None:
    """On terminals of two widths, without colours and piped."""
    assert page(looked_at, name) == (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")


def test_every_stored_screen_is_one() -> None:
    """Every stored screen belongs to a tested command."""
    assert {path.stem for path in EXPECTED.iterdir()} == set(SCREENS)


FILES = ("report", "show-progress", "log-full")
"""Output that is exact: files, and `-v`."""


@pytest.mark.parametrize("name", sorted(SCREENS.keys() - {*FILES}))
def test_no_line_is_wider_than_its_terminal(name: str) -> None:
    """On a terminal no line is wrapped by the terminal itself."""
    text = (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")
    for part in re.split("^== ", text, flags=re.MULTILINE)[1:]:
        form, *lines = part.split("\n")
        if (columns := FORMS[form.partition(":")[0]].columns) is not None:
            shown = [re.sub("␛\\[[0-9]*m|^.*␛\\[K", "", line) for line in lines]
            assert [line for line in shown if columns_of(line) > columns] == []


@pytest.mark.parametrize("name", SCREENS)
def test_nothing_is_coloured_where_it_is_not_wanted(name: str) -> None:
    """With NO_COLOR or a pipe, the only control sequence clears a countdown line."""
    text = (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")
    for part in re.split("^== ", text, flags=re.MULTILINE)[1:]:
        if "NO_COLOR" in part.partition("\n")[0] or part.startswith("piped"):
            assert "␛" not in part.replace("␍␛[K", "")
