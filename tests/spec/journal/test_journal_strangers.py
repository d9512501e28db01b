"""Files with a journal's name but other contents."""

from typing import Any

import pytest

from sprintlog.engine.journal.foreign import stranger


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"status": "executing", "indicator": "x", "elapsed_seconds": 1, "last_output": "",
          "timestamp": "2026-02-01 10:00:00"}, "the status file of a running loop"),
        ({"status": "idle", "indicator": "x"}, "the status file of a running loop"),
        ({"status": "idle", "tasks": []}, "with the keys status, tasks"),
        ([], "JSON, but not an object"),
    ],
)  # fmt: skip
def test_says_what_a_file_is(data: Any, said: str) -> None:
    """Another tool's file at the journal's path is reported with its kind."""
    assert said in str(stranger(data))


@pytest.mark.parametrize("data", [{}, {"version": "9"}, {"entries": []}, {"learnings": 1}])
def test_a_journal_is_no_stranger(data: Any) -> None:
    """A file with a journal's fields is validated, and an empty one may become one."""
    assert stranger(data) is None
