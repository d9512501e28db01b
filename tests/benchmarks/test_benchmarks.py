"""`make bench` can be run; its figures are no test."""

import json
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run.py")


def test_measures_a_row() -> None:
    """A row that is asked for by name has both figures and a positive ratio."""
    done = subprocess.run(
        [sys.executable, RUN, "--quick", "--json", "--only", "bytes per event of 300"],
        capture_output=True,
        text=True,
        check=True,
    )
    (row,) = json.loads(done.stdout)["rows"]
    assert row["ours"] > 0
    assert row["theirs"] > 0
    assert row["ratio"] > 0
