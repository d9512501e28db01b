"""Scripts that hide, hang, flood or ignore get the right verdict and leave nothing."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from sprintlog.engine.adapters.processes import supervised
from sprintlog.engine.adapters.processes.programs import (
    ScriptLostError,
    environment_of,
    run_script,
)
from sprintlog.engine.adapters.processes.supervisor import children
from sprintlog.engine.sprint.phases.gate import GateResult
from tests import needs

from .remains import alive_with

PYTHON = f'"{sys.executable}" -I -S -c'
LIMIT, AFTER_LIMIT_MAX = 0.4, 60.0
"""Any of them would go on for longer than both."""

ENDING: dict[str, tuple[int, str]] = {
    "true": (0, ""),
    "echo out; echo err >&2": (0, "out\nerr\n"),
    "exit 3": (3, ""),
    "exit 124": (124, ""),
    "kill -KILL $$": (137, ""),
    "kill -SEGV $$": (139, ""),
    "printf 'no newline'": (0, "no newline"),
    "printf 'a\\377b'; exit 1": (1, "a\udcffb"),
    "cat; read line || echo nothing to read": (0, "nothing to read\n"),
    "exec >&- 2>&-; sleep 0.2; exit 7": (7, ""),
    "nowhere-to-be-found 2>/dev/null": (127, ""),
    "yes | head -n 1": (0, "y\n"),
}
"""Scripts that end by themselves, with their exit code and output."""

ENDLESS = {
    "sleeps": "sleep 100",
    "ignores TERM": "trap '' TERM; while :; do sleep 1; done",
    "exits with 0 on TERM": "trap 'exit 0' TERM; while :; do sleep 0.05; done",
    "prints without end": "yes",
    "prints no newline": "tr '\\0' x < /dev/zero",
    "closes its output": "exec >&- 2>&-; sleep 100",
    "has children": "sleep 100 & sleep 100 & wait",
    "hides children": "( ( sleep 100 & ) & ); setsid sleep 100 & sleep 100",
    "hides children that ignore TERM": (
        "setsid sh -c 'trap \"\" TERM; setsid sleep 100 & while :; do sleep 1; done'"
    ),
    "is 32 processes": (
        f"{PYTHON} 'import os, time; [os.fork() for _ in range(5)]; time.sleep(100)'"
    ),
    "stops itself": "kill -STOP $$",
}
"""Scripts that only their time limit ends."""

LEAVING = {
    "a child": "sleep 100 &",
    "a grandchild": "( ( sleep 100 & ) & )",
    "a session": "setsid sleep 100 & :",
    "what ignores TERM": "(trap '' TERM; while :; do sleep 1; done) &",
    "what prints on": "(while :; do echo flood; done) &",
}
"""Scripts that end well and leave something running."""


class Played(NamedTuple):
    """The result of a script."""

    ran: GateResult
    seconds: float
    left: list[str]
    """The processes that still ran after the verdict."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Played]]:
    """Run all scripts, several in parallel: each waits most of the time."""
    folder = tmp_path_factory.mktemp("scripts")
    orders = [(script, 60.0) for script in (*ENDING, *LEAVING.values())]
    orders += [(script, LIMIT) for script in ENDLESS.values()]
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(6) as pool:
        patch.setattr(supervised, "LINGER_SECONDS", 0.2)
        patch.setattr(supervised, "GRACE_SECONDS", 0.4)
        scripts = [script for script, _ in orders]
        results = pool.map(lambda order: play(folder, *order), orders)
        yield dict(zip(scripts, results, strict=True))


def play(folder: Path, script: str, seconds: float) -> Played:
    """Run a script with a mark in its environment, and find its remaining processes."""
    mark = f"sprintlog-test-{uuid4().hex}"
    environment = environment_of(os.environ, MARK=mark)
    began = time.monotonic()
    ran = run_script(
        script, folder=folder, environment=environment, timeout_seconds=seconds
    )
    return Played(ran, time.monotonic() - began, alive_with(mark))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("script", ENDING)
def test_tells_how_a_script_ended(played: dict[str, Played], script: str) -> None:
    """The exit code, signal and output belong to the script, which is waited for."""
    ran = played[script].ran
    assert (ran.exit_code, ran.output) == ENDING[script]
    assert (ran.timed_out, ran.left_behind) == (False, 0)


@pytest.mark.parametrize("name", ENDLESS)
def test_ends_all_at_the_limit(played: dict[str, Played], name: str) -> None:
    """At its time limit, a script and all its processes end in bounded time."""
    ran, seconds, left = played[ENDLESS[name]]
    assert left == []
    assert seconds < LIMIT + AFTER_LIMIT_MAX
    assert ran.timed_out
    assert ran.exit_code in (128 + signal.SIGTERM, 128 + signal.SIGKILL)
    assert ran.output.endswith("[sprintlog: ended at its time limit of 0.4 s]\n")
    assert len(ran.output) < 40_000


@pytest.mark.parametrize("name", LEAVING)
def test_ends_what_is_left_behind(played: dict[str, Played], name: str) -> None:
    """Processes left by a script are ended and reported, but do not make the gate fail."""
    ran, _, left = played[LEAVING[name]]
    assert left == []
    assert (ran.exit_code, ran.timed_out) == (0, False)
    assert ran.left_behind >= 1
    said = f"[sprintlog: processes left running were ended: {ran.left_behind}]"
    assert said in ran.output


FORGED = '{"exit": 0, "timed_out": false, "seconds": 0, "left_behind": 0, "unkillable": 0}'
DISOWNING = {
    "kills its supervisor": "setsid sleep 100 & sleep 0.1; kill -KILL $PPID; sleep 100",
    "stops its supervisor": "setsid sleep 100 & kill -STOP $PPID; sleep 100",
    "kills its supervisor from a separate session": (
        'setsid sh -c "sleep 100 & sleep 0.1; kill -KILL $PPID; setsid sleep 100; :"; :'
    ),
    "answers in its supervisor's place": (
        f"setsid sleep 100 & for one in /proc/$PPID/fd/*; do echo '{FORGED}' > $one; done; "
        "kill -KILL $PPID; sleep 100"
    ),
}
"""Scripts that want to be rid of who keeps them."""


@needs.linux
@pytest.mark.parametrize("name", DISOWNING)
def test_ends_all_when_its_supervisor_dies_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script whose supervisor is killed leaves no processes and has no verdict."""
    monkeypatch.setattr(supervised, "PATIENCE_SECONDS", 1.0)
    mark = f"sprintlog-test-{uuid4().hex}"
    environment = environment_of(os.environ, MARK=mark)
    with pytest.raises(ScriptLostError):
        run_script(
            DISOWNING[name], folder=tmp_path, environment=environment, timeout_seconds=1.0
        )
    assert alive_with(mark) == []


@needs.linux
def test_descriptors_of_its_supervisor_are_nothing_to_write_to(tmp_path: Path) -> None:
    """Data that a script writes there has no effect: its own exit code counts."""
    script = f"for one in /proc/$PPID/fd/*; do echo '{FORGED}' > $one; done; exit 3"
    ran = run_script(
        script, folder=tmp_path, environment=environment_of(os.environ), timeout_seconds=20
    )
    assert ran.exit_code == 3


@needs.linux
def test_script_beside_one_that_kills_its_supervisor_goes_on(tmp_path: Path) -> None:
    """Only the processes below that supervisor are ended in its place."""
    before = children()
    own = subprocess.Popen(["sleep", "100"], start_new_session=True)

    def verdict(script: str) -> int | None:
        environment = environment_of(os.environ)
        try:
            return run_script(
                script, folder=tmp_path, environment=environment, timeout_seconds=20
            ).exit_code
        except ScriptLostError:
            return None

    disowning = "setsid sleep 100 & sleep 0.3; kill -KILL $PPID; sleep 100"
    scripts = ["setsid sleep 0.8 & sleep 0.8; wait; exit 5", disowning] * 2
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(verdict, scripts)) == [5, None, 5, None]
        assert own.poll() is None
    finally:
        own.kill()
        own.wait()
    assert children() == before
