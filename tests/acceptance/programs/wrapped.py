"""A wrapped command that prints a great deal: whole, and in constant memory."""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ..commands import answers, clean_environment
from ..criterion import Skip, Verdict

GIB = 1 << 30
OURS_KIB_MAX, RECORDERS_KIB_MAX = 32 << 10, 80 << 10
PRINTS = """
import os, sys
def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])
def peak(pid):
    with open(f"/proc/{pid}/status") as file:
        return file.read().partition("VmHWM:")[2].split()[0]
line = bytes(range(256)).replace(b"\\n", b"") * 4096
for _ in range(1024):
    os.write(1, line + b"\\n" * ((1 << 20) - len(line)))
keeper = os.getppid()
for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
    try:
        if pid != keeper and parent(pid) == parent(keeper):
            print(peak(parent(keeper)), peak(pid), file=sys.stderr)
    except OSError:
        continue
"""
"""Prints 1 GiB of all bytes there are; then how much memory was used at most."""


def constant_memory(data: Path, seed: int) -> Verdict:
    """1 GiB passes byte for byte, and neither process stores more than a part of it."""
    if not os.path.exists("/proc/self/status"):
        raise Skip("memory is read in /proc")
    problems = []
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        words = [sys.executable, "-m", "sprintlog.cli", "wrap", "--"]
        digest, size = hashlib.sha256(), 0
        with subprocess.Popen(
            [*words, sys.executable, "-c", PRINTS],
            cwd=name,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as started:
            assert started.stdout is not None
            assert started.stderr is not None
            while chunk := started.stdout.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
            said = started.stderr.read().decode()
        ours, recorders = map(int, said.split())
        ran = next(e for e in answers(Path(name), "log") if e["type"] == "agent-ran")
        if (started.returncode, size) != (0, GIB):
            problems.append(f"exit code {started.returncode}, {size} bytes")
        if ran["data"]["output_sha256"] != digest.hexdigest():
            problems.append("the record has another digest")
        if ours > OURS_KIB_MAX or recorders > RECORDERS_KIB_MAX:
            problems.append(f"{ours} KiB and {recorders} KiB were used")
    counts = f"1 GiB, {ours} KiB in the relay, {recorders} KiB in the recorder"
    return Verdict(not problems, counts, problems)
