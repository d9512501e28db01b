"""State files with many writers and an editor: no false edits, and none lost."""

from pathlib import Path

import pytest

from .. import planted
from .drifting import ATOMIC, drift, edit_while_refreshed


def test_nobody_sees_an_edit_that_nobody_made(tmp_path: Path) -> None:
    """Eight processes that append and refresh never mistake each other for an editor."""
    counts = drift(tmp_path / "log", writers=8, seconds=2, seed=1, how=[])
    assert counts.problems == []
    assert counts.refreshes > 0


def test_edit_by_rename_is_kept_and_recorded(tmp_path: Path) -> None:
    """Whenever the file is replaced by hand, its bytes are saved and recorded once."""
    counts = drift(tmp_path / "log", writers=8, seconds=1, seed=2, how=[ATOMIC])
    assert counts.problems == []
    assert counts.edits[ATOMIC] > 0


def test_edit_of_an_open_file_is_kept(tmp_path: Path) -> None:
    """An editor that had the file open and saves after it was replaced loses nothing."""
    assert edit_while_refreshed(tmp_path / "log") == []


def test_refreshing_without_the_lock_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test detects files that are compared and written without the lock."""
    planted.refresh_unlocked(monkeypatch)
    # Requires two simultaneous writers, which may take a while on a busy machine.
    assert any(
        drift(tmp_path / f"log-{seed}", writers=8, seconds=1, seed=seed, how=[]).problems
        for seed in range(3, 23)
    )


def test_digests_not_kept_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test detects writers that mistake their own files for edited ones."""
    planted.know_nothing(monkeypatch)
    assert any(
        "nobody edited" in problem
        for seed in range(4, 24)
        for problem in drift(
            tmp_path / f"log-{seed}", writers=4, seconds=0.5, seed=seed, how=[]
        ).problems
    )
