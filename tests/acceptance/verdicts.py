"""Scripted nights through `run` and `wrap`: no false claim is accepted."""

import shutil
import tempfile
from pathlib import Path

from tests.nights.expected import LIMITS
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
                problems += play_in(Path(folder), name, way)
    counts = f"{played} nights; {len(LIMITS)} forgeries that no guard detects"
    return Verdict(not problems, counts, problems)
