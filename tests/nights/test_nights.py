"""Scripted nights end with the verdict that was written down before they were played."""

from pathlib import Path

import pytest

from .. import needs
from .expected import NO_HOOKS, NO_WRAP
from .play import WAYS, play_in
from .scripts import NIGHTS

PLAYED = [
    pytest.param(name, way, marks=pytest.mark.long if NIGHTS[name].long else ())
    for way, (_, table) in WAYS.items()
    for name in table
]


@pytest.mark.parametrize(("name", "way"), PLAYED)
def test_a_night_gets_its_verdict(name: str, way: str, tmp_path: Path) -> None:
    """A claim, a changed measure and the best iteration are judged as expected."""
    if (program := NIGHTS[name].needs) is not None:
        needs.program(program)
    found = play_in(tmp_path, name, way)
    assert not found


def test_every_night_is_played_each_way_it_exists() -> None:
    """Each script has a verdict, and a night that does not exist for a way has a reason."""
    run, wrap, hooks, blocked = (set(table) for _, table in WAYS.values())
    assert run == set(NIGHTS)
    assert run - wrap == set(NO_WRAP)
    assert run - hooks == set(NO_HOOKS)
    assert blocked < hooks
