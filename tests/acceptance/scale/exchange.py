"""Export a million events as lines and import them, in separate processes."""

import subprocess
import sys
import tempfile
from pathlib import Path

from sprintlog.projections.workspace import Workspace
from tests.benchmarks.logs import make_loop

from ..criterion import Verdict

EVENTS = 1_000_000
GROWTH_MIB_MAX = 64.0
MEASURED = """
import os, sys
from sprintlog.cli.main import main
from tests.benchmarks.rows.fold_memory import resident
os.chdir(sys.argv.pop(1))
sys.argv[0] = "sprintlog"
try:
    main()
finally:
    os.write(2, f" {resident()[1]:.0f}".encode())
"""
ROOT = Path(__file__).resolve().parents[3]


def there_and_back(data: Path, seed: int) -> Verdict:
    """Export a log and import it elsewhere: the head is the same, memory stays small."""
    return measured(EVENTS)


def measured(events: int) -> Verdict:
    """Export and import a log of that many events, in bounded memory."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        ours, theirs = Path(name, "ours"), Path(name, "theirs")
        ours.mkdir()
        theirs.mkdir()
        make_loop(ours, events)
        Workspace.init(theirs, here=True).close()
        lines = str(Path(name, "log.jsonl"))
        base = _run(theirs, "log", "--all")
        out = _run(ours, "store", "export", "--out", lines)
        back = _run(theirs, "store", "import", lines)
        with Workspace.open(ours) as one, Workspace.open(theirs) as two:
            same = one.log.head() == two.log.head()
    problems = [] if same else ["the head is another one"]
    for way, most in (("export", out), ("import", back)):
        if most - base > GROWTH_MIB_MAX:
            problems.append(f"{way} grew by {most - base} MiB")
    said = f"{events} events, memory grew by {out - base} and {back - base} MiB"
    return Verdict(not problems, said, problems)


def _run(folder: Path, *arguments: str) -> int:
    """Run a command; return its peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(folder), *arguments],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return int(done.stderr.split()[-1])
