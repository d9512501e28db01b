"""The contract of every store for saved states."""

import pytest

from sprintlog.engine.log.port import Checkpoints, Log


@pytest.fixture
def kept(log: Log) -> Checkpoints:
    """Provide the saved states of a new log."""
    return log.checkpoints


def test_a_state_is_loaded_as_it_was_saved(kept: Checkpoints) -> None:
    """A state is found by stream, version and format only, with the same bytes."""
    kept.save("a", 64, b"\0state", format_=2)
    assert kept.load("a", 64, format_=2) == b"\0state"
    assert kept.load("a", 64, format_=1) is None
    assert kept.load("a", 63, format_=2) is None
    assert kept.load("b", 64, format_=2) is None


def test_a_version_has_one_state(kept: Checkpoints) -> None:
    """A state saved again replaces the earlier one."""
    kept.save("a", 64, b"one", format_=1)
    kept.save("a", 64, b"two", format_=1)
    assert kept.versions("a", format_=1) == [64]
    assert kept.load("a", 64, format_=1) == b"two"


def test_what_is_to_go_goes(kept: Checkpoints) -> None:
    """Saving a state can remove other versions of its stream, but no other stream's."""
    for stream, version in (("b", 10), ("a", 10), ("a", 30)):
        kept.save(stream, version, b"state", format_=1)
    kept.save("a", 20, b"state", format_=1, drop=[10, 11])
    assert kept.versions("a", format_=1) == [30, 20]
    assert kept.versions("b", format_=1) == [10]


def test_what_is_outdated_is_not_kept(kept: Checkpoints) -> None:
    """If the last check rejects a state everything stays unchanged."""
    kept.save("a", 10, b"one", format_=1)
    kept.save("a", 20, b"two", format_=1, drop=[10], unless=lambda: True)
    assert kept.versions("a", format_=1) == [10]
    kept.save("a", 20, b"two", format_=1, drop=[10], unless=lambda: False)
    assert kept.versions("a", format_=1) == [20]


def test_some_states_may_stay(kept: Checkpoints) -> None:
    """A stream's states except for some versions, and its status, are deleted."""
    for version in (10, 20, 30):
        kept.save("a", version, b"state", format_=1)
    kept.keep_status("a", 30, "paused")
    kept.forget("a", but={20, 40})
    assert kept.versions("a", format_=1) == [20]
    assert kept.status("a", 30) is None


def test_states_of_another_format_go(kept: Checkpoints) -> None:
    """Saving a state in a new format removes states that are no longer readable."""
    kept.save("a", 90, b"old", format_=1)
    kept.save("a", 64, b"new", format_=2)
    assert kept.versions("a", format_=1) == []
    assert kept.load("a", 90, format_=1) is None
    assert kept.versions("a", format_=2) == [64]


def test_a_status_is_that_of_one_version(kept: Checkpoints) -> None:
    """A status is returned for its own version only, and only the last one is stored."""
    assert kept.status("a", 1) is None
    kept.keep_status("a", 1, "in-progress")
    kept.keep_status("b", 1, "blocked")
    assert kept.status("a", 1) == "in-progress"
    kept.keep_status("a", 3, "completed")
    assert kept.status("a", 1) is None
    assert kept.status("a", 3) == "completed"


def test_a_stream_is_forgotten_whole(kept: Checkpoints) -> None:
    """All states and the status of a stream are deleted together; others remain."""
    for stream in ("a", "b"):
        kept.save(stream, 64, b"state", format_=1)
        kept.keep_status(stream, 64, "paused")
    kept.forget("a")
    kept.forget("never there")
    assert kept.versions("a", format_=1) == []
    assert kept.status("a", 64) is None
    assert kept.versions("b", format_=1) == [64]
    assert kept.status("b", 64) == "paused"
