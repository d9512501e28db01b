"""Following a log across processes."""

from pathlib import Path

from .following import follow_while_appended


def test_each_follower_sees_each_event_once(tmp_path: Path) -> None:
    """Two processes follow while four append: each receives every event once, in order."""
    seen = follow_while_appended(tmp_path, followers=2, writers=4, events=60, seconds=120.0)
    assert seen.problems == []
    assert seen.events == 242
