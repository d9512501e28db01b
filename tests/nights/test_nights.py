"""Scripted nights end with the verdict that was written down before they were played."""

from pathlib import Path

import pytest

from .. import needs
from .expected import NO_HOOKS, NO_WRAP
from .play import WAYS, play_in
from .scripts import NIGHTS

SHORT = {
    "hooks": ("condition met", "assertions weakened", "goal complete by the agent"),
    "block": ("false claim, then true",),
}
"""The nights that the short form plays through hooks; of the other ways, all that are not
marked as long."""


def is_long(name: str, way: str) -> bool:
    """Return whether only the long form plays a night."""
    return name not in SHORT[way] if way in SHORT else NIGHTS[name].long


PLAYED = [
    pytest.param(name, way, marks=pytest.mark.long if is_long(name, way) else ())
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
