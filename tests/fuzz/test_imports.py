"""Importers return no figure and no status that is not in their input."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sprintlog import extensions
from sprintlog.cli.importers import markdown, orchestrator, ralph_loop, task_lists
from sprintlog.cli.importers.aiwg_loop import LoopIteration
from sprintlog.cli.intake import foreign_files
from tests import lengths

from .imports import IMPORTERS, feed


@pytest.mark.parametrize("name", IMPORTERS)
def test_mutated_files(name: str) -> None:
    """No mutated file breaks an importer; its figures and statuses are in the file."""
    fed = feed(name, 2_000 if lengths.is_long else 200, seed=1)
    assert fed.problems == []
    assert fed.figures > fed.inputs / 4
    assert fed.understood * 20 > fed.inputs


def done(text: str) -> Iterator[foreign_files.Checkbox]:
    """Yield all boxes as ticked."""
    return (box._replace(done=True) for box in foreign_files.checkboxes(text))


def more(read: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results are larger by one."""
    return lambda *given, **named: (read(*given, **named) or 0) + 1


DEFECTS = {
    "aider": (markdown, "_count", more(markdown._count)),
    "aiwg": (LoopIteration, "took", more(LoopIteration.took)),
    "checklist": (extensions, "checkboxes", done),
    "gsd": (markdown, "_number", more(markdown._number)),
    "orchestrator": (orchestrator, "FAILED", "completed"),
    "prd": (task_lists, "PENDING", "completed"),
    "ralph-loop": (ralph_loop._Said, "number", more(ralph_loop._Said.number)),
}
"""Changes of importers, each of which invents a figure or a status."""


@pytest.mark.parametrize("name", DEFECTS)
def test_an_invented_figure_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An importer that counts one item too many, or invents completion, is detected."""
    monkeypatch.setattr(*DEFECTS[name])
    assert feed(name, 100, seed=1).problems
