"""The demo: the main job, end to end."""

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.long
def test_demo_plays_to_the_end(folder: Path, done: Any) -> None:
    """The demo records, crashes, rebuilds the same bytes, rolls back and verifies."""
    out = done("demo", folder / "play").out
    assert "the same bytes" in out
    assert "edit-observed" in out
    assert "sound: " in out


def test_demo_needs_an_empty_folder(folder: Path, run: Any) -> None:
    """The demo never runs in a folder with existing files."""
    (folder / "mine").write_text("x")
    assert run("demo", folder).code == 1
    assert (folder / "mine").read_text() == "x"
