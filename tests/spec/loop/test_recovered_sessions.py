"""Data from a session's transcript whose end was not observed."""

from typing import Any

import pytest

from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.iterations.session_runs import recovered

TOLD = Usage(input_tokens=240, output_tokens=80)


def ran(**said: Any) -> AgentRan:
    """Return a run of one session."""
    return AgentRan("", "failed", sessions=("s-1",), **said)


def from_transcript(**said: Any) -> AgentRan:
    """Return the data from its transcript."""
    return ran(found_in="transcript", output_sha256="t", usage=TOLD, **said)


@pytest.mark.parametrize(("printed", "left"), [(None, 2), (0, 2), (1, 1), (2, 0)])
def test_calls_that_were_printed_are_not_counted_again(
    printed: int | None, left: int
) -> None:
    """A transcript adds all tokens of a run without any, and the missing calls."""
    before = ran(command="agent", tool_calls=printed)
    (found,) = recovered(from_transcript(tool_calls=2), before=[before])
    assert isinstance(found, AgentRan)
    assert (found.usage, found.tool_calls) == (TOLD, left)


def test_a_session_without_tokens_brings_nothing() -> None:
    """If a transcript states no tokens, nothing is recovered."""
    assert recovered(ran(found_in="transcript", tool_calls=2), before=[]) == []


def test_a_transcript_is_recovered_once() -> None:
    """The same transcript again adds nothing."""
    once = from_transcript(tool_calls=2)
    assert recovered(once, before=[ran(tool_calls=2), once]) == []
