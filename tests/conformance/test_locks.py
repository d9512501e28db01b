"""The contract of every store for its locks."""

import pytest

from sprintlog.engine.errors import BusyError
from sprintlog.engine.log.port import Log


def test_a_name_is_held_once(log: Log) -> None:
    """While a lock is held, others are refused with its name and its holder."""
    with log.locks.hold("files.lock"):
        with pytest.raises(BusyError, match=r"files\.lock is locked by ") as caught:
            log.locks.hold("files.lock").__enter__()
        assert isinstance(caught.value.fields["holders"], list)


def test_names_do_not_know_one_another(log: Log) -> None:
    """Locks with two names can be held at the same time."""
    with log.locks.hold("files.lock"), log.locks.hold("query.lock"):
        pass


def test_a_lock_ends_however_it_ends(log: Log) -> None:
    """A failure under a lock releases it, too."""
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), log.locks.hold("files.lock"):
            raise ZeroDivisionError


def test_locks_say_how_long_they_wait(log: Log) -> None:
    """Another holder of a lock delays for as long as the log permits."""
    assert log.locks.wait.seconds == 0
