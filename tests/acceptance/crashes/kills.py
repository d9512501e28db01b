"""Ten thousand kills: writers that die, are suspended, or lose their clock."""

import tempfile
from pathlib import Path

from tests.faults.processes.killing import Killer

from ..criterion import Verdict

KILLS = 10_000
WRITERS = 16
SPRINTS = 4
KILLS_A_ROUND = 100
SECONDS_MAX = 7200.0


def survive(data: Path, seed: int) -> Verdict:
    """Check that no acknowledged event is lost or doubled and the next command works."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        killer = Killer(Path(name) / "log", slots=WRITERS, sprints=SPRINTS, seed=seed)
        counts = killer.run(kills=KILLS, kills_a_round=KILLS_A_ROUND, seconds=SECONDS_MAX)
    said = (
        f"{counts.kills} kills over {WRITERS} writers, {counts.in_flight} of them with"
        f" work in hand, {counts.stops} stops; {counts.events} events acknowledged,"
        f" {counts.committed} repeated ones had been recorded, none lost or doubled;"
        f" {counts.commands} commands right after a kill of all, the slowest took"
        f" {counts.slowest:.2f} s"
    )
    if counts.problems:
        said = f"{counts.kills} kills, {len(counts.problems)} problems"
    return Verdict(not counts.problems, said, counts.problems)
