"""Size and complexity by lizard, in a separate process with a time limit."""

import os
import sys
from pathlib import Path

import pytest

from sprintlog.engine.adapters.measurement import figures
from sprintlog.engine.adapters.measurement.figures import Measured
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError

from ..remains import alive_with


def measured(*paths: str, folder: Path, seconds: float = 60, mark: str = "") -> Measured:
    """Measure sources in a folder."""
    return figures.measure_sources(
        [Path(path) for path in paths],
        folder=folder,
        environment={"MARK": mark},
        timeout_seconds=seconds,
    )


def test_several_languages_are_measured(tmp_path: Path) -> None:
    """Only lines of code are counted; identical files are counted once, as by lizard."""
    (tmp_path / "a.py").write_text("# A comment.\n\ndef f(a):\n    return a or 1\n")
    (tmp_path / "b.js").write_text("function g() {\n  return 1\n}\n")
    (tmp_path / "copy.js").write_text("function g() {\n  return 1\n}\n")
    (tmp_path / "notes.txt").write_text("Nothing to measure.\n")
    found = measured(".", folder=tmp_path)
    assert found.metrics == {"file_count": 2, "loc_total": 5, "complexity_score": 1.5}
    assert found.origins[0].tool == "lizard"


def test_without_functions_there_is_no_complexity(tmp_path: Path) -> None:
    """A mean of nothing is missing, not zero."""
    (tmp_path / "a.py").write_text("A = 1\n")
    found = measured("a.py", folder=tmp_path)
    assert found.metrics == {"file_count": 1, "loc_total": 1}


def test_what_lizard_cannot_read_is_said(tmp_path: Path) -> None:
    """An unreadable file is counted and reported."""
    (tmp_path / "a.py").write_text("A = 1\n")
    (tmp_path / "b.py").symlink_to("nowhere")
    found = measured(".", folder=tmp_path)
    assert found.notes == (".: lizard could only partly read 1 of 2 files",)


def test_nothing_to_measure_is_refused(tmp_path: Path) -> None:
    """A missing path, or one without sources, is named."""
    (tmp_path / "plan.yaml").write_text("a: 1\n")
    for path in (".", "plan.yaml"):
        with pytest.raises(InvalidInputError, match="contains no source file"):
            measured(path, folder=tmp_path)
    with pytest.raises(NotFoundError, match=r"^nowhere: no such file or folder"):
        measured("nowhere", folder=tmp_path)


def test_a_source_that_never_ends_is_given_up(tmp_path: Path) -> None:
    """At its time limit lizard is ended, and its partial results are discarded."""
    os.mkfifo(tmp_path / "pipe.py")
    mark = f"measured-{tmp_path}"
    with pytest.raises(RefusedError, match=r"lizard did not finish within 1 s"):
        measured(".", folder=tmp_path, seconds=1, mark=mark)
    assert alive_with(mark) == []


def test_without_lizard_there_is_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the extra, the error states its name."""
    monkeypatch.setattr(figures, "_PYTHON", [sys.executable, "-I", "-S"])
    with pytest.raises(RefusedError, match="is not installed") as caught:
        measured(".", folder=tmp_path)
    assert str(caught.value.hint).endswith(" install 'lizard>=1.17.10'`")
