"""Programs that ask by JSON-RPC: many requests, hostile lines, servers that are killed."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cli.conftest import PLAN
from tests.rpc.conftest import Beside
from tests.rpc.sockets import SharedServer
from tests.rpc.storm import Connect, storm

from ..criterion import Verdict

ROOT = Path(__file__).resolve().parents[3]
REQUESTS, KILLS, CLIENTS = 10_000, 40, 8


def mixed(data: Path, seed: int) -> Verdict:
    """Two clients send 10,000 requests to killed servers; each is recorded once."""
    return _stormy(seed)


def shared(data: Path, seed: int) -> Verdict:
    """Eight clients send as many requests to one server, which is killed and restarted."""
    return _stormy(seed, is_shared=True)


def _stormy(seed: int, *, is_shared: bool = False) -> Verdict:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.yaml").write_text(PLAN)
        for words in (
            ["init"],
            ["sprint", "create", "auth", "--plan", "plan.yaml"],
            ["sprint", "start"],
        ):
            command = [sys.executable, "-P", "-m", "sprintlog.cli", *words]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        os.chdir(folder)
        server = SharedServer(folder)
        connect: Connect = server.connect if is_shared else Beside
        try:
            said, problems = storm(
                folder,
                requests=REQUESTS,
                kills=KILLS,
                seed=seed,
                clients_count=CLIENTS if is_shared else 2,
                connect=connect,
            )
        finally:
            server.end()
            os.chdir(before)
    return Verdict(not problems, said, problems)


def same_answers(data: Path, seed: int) -> Verdict:
    """Each command with `--json` returns the same answer by `call`."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-s",
        "--long",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, "tests/acceptance/programs/every_answer.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    lines = done.stdout.strip().splitlines()
    said = next((line for line in lines if "commands with an answer" in line), "")
    return Verdict(done.returncode == 0, said, lines[-30:])
