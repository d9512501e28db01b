"""Machines die in the middle of their work: sprints end as if undisturbed."""

import random
from contextlib import closing
from pathlib import Path

import pytest

from sprintlog.engine.log.chain import check_chain

from .hosts import PHASES, SPRINTS, Night
from .outages import opened
from .server import Server

KILLS = 5


@pytest.mark.long
def test_sprints_end_the_same_whoever_dies(newest: Server, tmp_path: Path) -> None:
    """Three machines run three sprints, killed five times: each phase is done once."""
    url = newest.new_url()
    night = Night(tmp_path, url, random.Random(23))
    found = night.pass_by(kills=KILLS)
    assert night.problems == []
    assert night.kills > 0
    assert found == {name: ("completed", [*PHASES]) for name in SPRINTS}
    with closing(opened(url)) as log:
        assert list(check_chain(log.read())) == []
