"""Files that are called like a journal and are none."""

from typing import Any

import pytest

from sprintlog.engine.journal.foreign import stranger


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"status": "executing", "indicator": "x", "elapsed_seconds": 1, "last_output": "",
          "timestamp": "2026-02-01 10:00:00"}, "the status file of a loop"),
        ({"status": "idle", "indicator": "x"}, "the status file of a loop"),
        ({"status": "idle", "tasks": []}, "a file of another tool, with status, tasks"),
        ([], "JSON, but no object"),
    ],
)  # fmt: skip
def test_says_what_a_file_is(data: Any, said: str) -> None:
    """Whoever finds another tool's file in the journal's place is told what it is."""
    assert said in str(stranger(data))


@pytest.mark.parametrize("data", [{}, {"version": "9"}, {"entries": []}, {"learnings": 1}])
def test_a_journal_is_no_stranger(data: Any) -> None:
    """What has a journal's fields is judged by them, and what is empty may become one."""
    assert stranger(data) is None
