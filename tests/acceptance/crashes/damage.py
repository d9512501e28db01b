"""Flipped bits, truncated files and restored older logs are reported."""

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.damage import damaging, salvaging
from tests.faults.damage.damaging import Damage
from tests.faults.damage.salvage_sweep import sweep_salvage
from tests.faults.runner import fast_folder, shared
from tests.faults.shim import Unavailable
from tests.faults.specimens import Specimen, make_specimen

from ..criterion import Skip, Verdict

FLIPS = 10_000
CUTS = 500
SALVAGES = 1_000
SALVAGE_FAULTS = 1_500
EVENTS = 150
SECONDS_MAX = 1800.0


def flipped(data: Path, seed: int) -> Verdict:
    """Of single flipped bits in database and journal every effective one is found."""
    return _examine(lambda specimen: damaging.flips(specimen, FLIPS // 2, seed))


def cut(data: Path, seed: int) -> Verdict:
    """Check that truncated logs and restored older copies are detected."""
    return _examine(
        lambda specimen: [
            *damaging.cuts(specimen, CUTS, seed),
            *damaging.yesterdays(specimen),
        ]
    )


def salvaged(data: Path, seed: int) -> Verdict:
    """After any damage, a new log contains an intact beginning and nothing else."""
    problems: list[str] = []
    tried = whole = more = 0
    for live in (False, True):
        with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
            specimen = make_specimen(Path(name) / "log", events=EVENTS, live=live)
            files = salvaging.random_damages(specimen, SALVAGES // 2, seed)
            tally = salvaging.attempt(specimen, files, seconds=SECONDS_MAX)
        problems += tally.problems
        tried += tally.tried
        whole += tally.whole
        more += sum(one.saved > one.least for one in tally.attempts)
    said = f"{tried} tried, {whole} saved whole, {more} times more than SQLite reads"
    return Verdict(not problems and 0 < whole < tried, said, problems)


def salvage_faults(data: Path, seed: int) -> Verdict:
    """If any file operation of a salvage fails or is killed, the old log is unchanged."""
    try:
        runner = shared()
    except Unavailable as reason:
        raise Skip(str(reason)) from reason
    with fast_folder() as folder:
        tried, problems = sweep_salvage(runner, folder, size=SALVAGE_FAULTS, seed=seed)
    said = f"{tried} faults, {len(problems)} violations"
    return Verdict(not problems, said, problems)


def _examine(choose: Callable[[Specimen], list[Damage]]) -> Verdict:
    """Damage a closed log, and a log whose last events are in its journal."""
    problems: list[str] = []
    by_effect: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for live in (False, True):
        with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
            specimen = make_specimen(Path(name) / "log", events=EVENTS, live=live)
            counts = damaging.examine(specimen, choose(specimen), seconds=SECONDS_MAX)
        problems += counts.problems
        by_effect.update(counts.by_effect)
        found.update(counts.found)
    effective = sum(by_effect[effect] for effect in damaging.EFFECTIVE)
    told = sum(found[effect] for effect in damaging.EFFECTIVE)
    kinds = ", ".join(
        f"{effect} {found[effect]} of {number}"
        for effect, number in by_effect.most_common()
    )
    said = f"{by_effect.total()} tried, {told} of {effective} effective found ({kinds})"
    return Verdict(not problems and effective > 0, said, problems)
