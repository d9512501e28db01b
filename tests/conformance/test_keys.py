"""The contract of every store for idempotency keys."""

import pytest

from sprintlog.engine.errors import ConflictError, KeyConflictError
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect, Expected, Log

DIGEST = bytes(range(32))
DRAFT = NewEvent(
    type="note-added", payload=b"{}", at="2026-01-30T12:00:00Z", actor="operator:eva"
)


@pytest.mark.parametrize("expect", [0, 99, Expect.NONE, Expect.EXISTS, Expect.ANY])
def test_same_key_and_digest_answers_with_the_first_events(
    log: Log, expect: Expected
) -> None:
    """A repeated command gets the first answer, whatever version it expects now."""
    first = log.append("a", [DRAFT, DRAFT], expect=0, key="k", key_digest=DIGEST)
    log.append("a", [DRAFT], expect=2)
    again = log.append("a", [DRAFT], expect=expect, key="k", key_digest=DIGEST)
    assert again.duplicate
    assert again.events == first.events
    assert log.head().position == 3


@pytest.mark.parametrize("digest", [bytes(32), None])
def test_same_key_with_another_digest_is_a_conflict(log: Log, digest: bytes | None) -> None:
    """A key identifies one command permanently."""
    log.append("b", [DRAFT], expect=0)
    log.append("a", [DRAFT], expect=0, key="k", key_digest=DIGEST)
    with pytest.raises(KeyConflictError) as caught:
        log.append("a", [DRAFT], expect=Expect.ANY, key="k", key_digest=digest)
    assert caught.value.fields == {"key": "k", "position": 2}
    assert log.head().position == 2


def test_key_is_kept_on_the_first_event_only(log: Log) -> None:
    """Key and digest are on the first event of their append only."""
    log.append("a", [DRAFT, DRAFT], expect=0, key="k", key_digest=DIGEST)
    kept = [(event.key, event.key_digest) for event in log.read()]
    assert kept == [("k", DIGEST), (None, None)]


def test_key_finds_its_whole_append(log: Log) -> None:
    """A key finds exactly the events of its append."""
    log.append("a", [DRAFT], expect=0)
    events = log.append("a", [DRAFT] * 3, expect=1, key="k", key_digest=DIGEST).events
    log.append("a", [DRAFT], expect=4, key="other", key_digest=DIGEST)
    assert log.find_key("k") == events
    assert log.find_key("unknown") == []


def test_key_of_a_refused_append_stays_free(log: Log) -> None:
    """A key is used up only by a record."""
    with pytest.raises(ConflictError):
        log.append("a", [DRAFT], expect=5, key="k", key_digest=DIGEST)
    assert log.find_key("k") == []
    assert not log.append("a", [DRAFT], expect=0, key="k", key_digest=bytes(32)).duplicate
