"""Decoders state no figure that is not in their input, however its lines are mutated."""

import pytest

from sprintlog.engine.adapters.agents import values
from sprintlog.engine.adapters.agents.values import count
from tests import lengths

from .figures import AGENTS, check, corpus, feed


@pytest.mark.parametrize("agent", AGENTS)
def test_mutated_lines(agent: str) -> None:
    """No mutated line breaks a decoder; its figures are sums of numbers in the lines."""
    fed = feed(agent, 2_000 if lengths.is_long else 100, seed=1)
    assert fed.problems == []
    assert fed.figures > fed.undecided * 10
    assert fed.understood * 2 > fed.inputs


@pytest.mark.parametrize("agent", AGENTS)
def test_every_decoder_has_a_fixture(agent: str) -> None:
    """The fixtures of each decoder in the table are decoded by that decoder."""
    assert {check(None, b"\n".join(lines))[3].agent for lines in corpus(agent)} == {agent}


def test_an_invented_figure_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that counts one token too many is detected."""
    monkeypatch.setattr(values, "count", lambda value: (count(value) or 0) + 1)
    assert feed("droid", 100, seed=1).problems
