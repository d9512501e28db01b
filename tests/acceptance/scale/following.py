"""Many follow one log while many append to it."""

import tempfile
from pathlib import Path

from tests.faults.processes.following import follow_while_appended

from ..criterion import Verdict

FOLLOWERS, WRITERS, EVENTS = 4, 8, 2_000
SECONDS_MAX = 900.0
IDLE_MAX = 0.01
"""What waiting may cost of a processor."""


def while_appended(data: Path, seed: int) -> Verdict:
    """Every follower receives every event once and in order, at almost no cost."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        seen = follow_while_appended(
            Path(name),
            followers=FOLLOWERS,
            writers=WRITERS,
            events=EVENTS,
            seconds=SECONDS_MAX,
        )
    problems = list(seen.problems)
    if seen.cpu_seconds > IDLE_MAX:
        problems.append(f"waiting takes {seen.cpu_seconds:.2%} of a processor")
    said = (
        f"{FOLLOWERS} followers, {WRITERS} writers, {seen.events} events; waiting takes"
        f" {seen.cpu_seconds:.2%} of a processor"
    )
    return Verdict(not problems, said, problems)
