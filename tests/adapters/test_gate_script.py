"""A gate's script is run within its time limit, and no process that it started remains."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest

from sprintlog.engine.adapters.processes import supervised
from sprintlog.engine.adapters.processes.programs import (
    ENVIRONMENT,
    ScriptLostError,
    environment_of,
    run_script,
)
from sprintlog.engine.sprint.phases.gate import GateResult

from .remains import alive_with

Run = Callable[..., GateResult]


@pytest.fixture
def mark() -> str:
    """Return the environment of a script and all its children."""
    return f"sprintlog-test-{uuid4().hex}"


@pytest.fixture
def run(tmp_path: Path, mark: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return a function that runs a script; no process of it may remain afterwards."""
    monkeypatch.setattr(supervised, "LINGER_SECONDS", 0.2)
    monkeypatch.setattr(supervised, "GRACE_SECONDS", 0.4)

    def call(script: str, seconds: float = 60.0) -> GateResult:
        ran = run_script(
            script,
            folder=tmp_path,
            environment=environment_of(os.environ, MARK=mark),
            timeout_seconds=seconds,
        )
        assert alive_with(mark) == []
        return ran

    yield call
    assert alive_with(mark) == []


def test_waits_for_what_is_about_to_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer of the last output may end without being stopped."""
    monkeypatch.setattr(supervised, "LINGER_SECONDS", 60)
    ran = run("(sleep 0.05; echo last) &")
    assert (ran.output, ran.left_behind) == ("last\n", 0)


def test_reads_all_of_a_flood(run: Run) -> None:
    """All output is counted and hashed, but little of it is stored."""
    ran = run("head -c 20000000 /dev/zero | tr '\\0' x")
    assert ran.output_bytes == 20_000_000
    assert ran.output_sha256 == sha256(b"x" * 20_000_000).hexdigest()
    assert len(ran.output) < 40_000


def test_gives_a_script_what_is_stated(tmp_path: Path) -> None:
    """A script receives the documented variables, the requested ones and its own."""
    given = dict.fromkeys([*ENVIRONMENT, "LC_ALL", "XDG_X", "API_KEY", "EXTRA"], "x")
    environment = environment_of(given, extra=["EXTRA", "ABSENT"], OWN=7)
    assert set(environment) == {*ENVIRONMENT, "LC_ALL", "XDG_X", "EXTRA", "OWN"}
    assert environment["OWN"] == "7"
    path = {"PATH": os.environ["PATH"], "WORD": "\udcff"}
    ran = run_script("env; pwd", folder=tmp_path, environment=path, timeout_seconds=60)
    names = {line.partition("=")[0] for line in ran.output.splitlines()}
    assert names <= {"PATH", "WORD", "PWD", "SHLVL", "OLDPWD", "_", str(tmp_path)}


@pytest.mark.parametrize("why", ["folder", "length"])
def test_fails_when_it_cannot_begin(tmp_path: Path, why: str) -> None:
    """A script that cannot be started has failed, and the reason is reported."""
    folder = tmp_path / "gone" if why == "folder" else tmp_path
    script = ":" + " " * 200_000 if why == "length" else "true"
    ran = run_script(script, folder=folder, environment={}, timeout_seconds=60)
    assert ran.exit_code == 126
    assert ran.output.startswith("the program could not be started: ")


def test_restores_signals(run: Run) -> None:
    """A script finds the signals that Python ignores as a shell expects them."""
    ran = run("grep SigIgn /proc/self/status")
    ignored = int(ran.output.split()[1], 16)
    assert ignored & (1 << (signal.SIGPIPE - 1)) == 0


@pytest.mark.parametrize("name", ["KILL", "TERM"])
def test_loses_a_script_that_ends_its_supervisor(run: Run, mark: str, name: str) -> None:
    """A script that ends its supervisor gets no verdict, and the shell is ended too."""
    with pytest.raises(ScriptLostError):
        run(f"kill -{name} $PPID; exec sleep 100")
    wait_for(lambda: alive_with(mark) == [])


def test_gives_up_a_supervisor_that_stands_still(
    run: Run, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suspended supervisor does not block the gate run forever."""
    monkeypatch.setattr(supervised, "PATIENCE_SECONDS", 0.5)
    with pytest.raises(ScriptLostError):
        run("kill -STOP $PPID; exec sleep 100", 0.2)
    wait_for(lambda: alive_with(mark) == [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_ends_when_its_starter_does(tmp_path: Path, mark: str, number: int) -> None:
    """A script ends with the process that runs it, however that process ends."""
    text = (
        "import os, pathlib, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from sprintlog.engine.adapters.processes.programs import run_script\n"
        "run_script('trap \"\" TERM; setsid sleep 100 & touch began; sleep 100', "
        "folder=pathlib.Path('.'), environment=os.environ, timeout_seconds=60)\n"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=tmp_path,
        env={**os.environ, "MARK": mark},
        stderr=subprocess.DEVNULL,
    )
    wait_for((tmp_path / "began").exists)
    starter.send_signal(number)
    assert starter.wait() != 0
    wait_for(lambda: alive_with(mark) == [])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("script", "limit", "code", "left"),
    [
        ("exit 3", 60, 3, 0),
        ("sleep 100 & exit 0", 60, 0, 1),
        ("sleep 100 & yes", 0.3, 143, 0),
    ],
)
def test_ends_a_group_where_it_cannot_adopt(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    limit: float,
    code: int,
    left: int,
) -> None:
    """On a system without sub-reapers the script's process group ends."""
    source = f"import sys\nsys.platform = 'darwin'\n{supervised._SOURCE}"
    monkeypatch.setattr(supervised, "_SOURCE", source)
    ran = run(script, limit)
    assert (ran.exit_code, ran.left_behind) == (code, left)


def test_runs_beside_others(run: Run) -> None:
    """Scripts run by different threads of a process do not affect each other."""
    codes: dict[int, int] = {}

    def one(code: int) -> None:
        codes[code] = run_script(
            f"sleep 0.1; exit {code}",
            folder=Path("/"),
            environment=environment_of(os.environ),
            timeout_seconds=60,
        ).exit_code

    threads = [threading.Thread(target=one, args=[code]) for code in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == {code: code for code in range(4)}


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, for at most ten seconds."""
    until = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
