"""The list of faults in the sources fits the sources."""

import ast
from pathlib import Path

import pytest

from .source_faults import FAULTS, Fault, place_of

ROOT = Path(__file__).resolve().parents[2]


def test_there_are_thirty_different_faults() -> None:
    """The list has at least thirty faults, each with its own name and line."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 30
    assert len({fault.right for fault in FAULTS}) == len(FAULTS)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted(fault: Fault) -> None:
    """Its line exists once, the replacement is Python, and its tests exist."""
    (path,) = place_of(fault, ROOT)
    ast.parse(path.read_text(encoding="utf-8").replace(fault.right, fault.wrong))
    assert sorted({path.name for path in fault.paths(ROOT)}) == sorted(fault.tests)
