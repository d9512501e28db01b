"""Readers of foreign input refuse any bytes with a message, and never break."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from .mutate import near
from .targets import KEPT, TARGETS, run

EXAMPLES = 25


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes(name: str, tmp_path: Path) -> None:
    """Inputs close to known ones, or to those that once broke it, are read or refused."""
    target = TARGETS[name]
    corpus, read = target.corpus(), target.open(tmp_path)
    assert len(corpus) > 1
    for content in corpus:
        run(read, content)

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(near(corpus))
    def fed(content: bytes) -> None:
        run(read, content)

    fed()


def test_every_input_belongs_to_a_reader() -> None:
    """Each folder of inputs belongs to a reader."""
    assert {path.name for path in KEPT.iterdir()} <= {*TARGETS}
