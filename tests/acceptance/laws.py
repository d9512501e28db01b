"""The property tests with many more examples than in the suite, and the demo."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .commands import run
from .criterion import Verdict

ROOT = Path(__file__).resolve().parent.parent.parent


def hold(data: Path, seed: int) -> Verdict:
    """Every property holds for ten times as many examples, from a different seed."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "--long", "-p", "no:cacheprovider",
            f"--hypothesis-seed={seed}", "tests/properties", "tests/conformance",
        ],
        cwd=ROOT,
        env={**os.environ, "SPRINTLOG_EXAMPLES": "10"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    return Verdict(done.returncode == 0, last, done.stdout.splitlines()[-30:])


def demo(data: Path, seed: int) -> Verdict:
    """Play the demo to the end in a fresh folder."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        out = run(Path(name), "demo", Path(name) / "play").decode()
    lines = out.splitlines()
    return Verdict("the same bytes" in lines, f"{len(lines)} lines", lines[-5:])
