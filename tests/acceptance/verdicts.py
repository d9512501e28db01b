"""Scripted nights through `run` and `wrap`: no false claim is accepted."""

import shutil
import tempfile
from pathlib import Path

from tests.nights.expected import LIMITS, OPEN_FINDINGS
from tests.nights.play import WAYS, play_in
from tests.nights.scripts import NIGHTS

from .criterion import Verdict


def as_expected(data: Path, seed: int) -> Verdict:
    """Play every night; its verdict is the one that was written before."""
    problems: list[str] = []
    played = 0
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as folder:
        for way, (_, table) in WAYS.items():
            for name in table:
                if (program := NIGHTS[name].needs) and shutil.which(program) is None:
                    continue
                played += 1
                found = play_in(Path(folder), name, way)
                problems += [] if name in OPEN_FINDINGS else found
    counts = f"{played} nights; {len(LIMITS)} forgeries that no guard detects; "
    counts += f"{len(OPEN_FINDINGS)} open findings"
    return Verdict(not problems, counts, problems)
