"""A driver process, and its jobs."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from .shim import build

ROOT = Path(__file__).resolve().parents[2]


BUSY_MACHINE_FACTOR = 5


class Done(NamedTuple):
    """How a command ended."""

    code: int | None
    """The exit code; negative for a signal, None when it hung and was killed."""
    out: str
    err: str
    seconds: float

    @property
    def json(self) -> Any:
        """Return the first line of the output as data."""
        return json.loads(self.out.splitlines()[0])


def is_slow(seconds: float, *, limit: float, usual: float) -> bool:
    """Return whether a command is too slow compared with another one run now.

    On a busy machine, every command is slow.
    """
    return seconds > max(limit, min(2 * usual, BUSY_MACHINE_FACTOR * limit))


def environment() -> dict[str, str]:
    """Return an environment that uses this checkout, with its defaults."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPRINTLOG", "FAULT"))}
    return {**kept, "PYTHONPATH": f"{ROOT / '.package'}{os.pathsep}{ROOT}"}


class Runner:
    """Runs command lines, with or without a fault, one after the other."""

    def __init__(self, *, preload: bool = True) -> None:
        preloaded = {"LD_PRELOAD": str(build())} if preload else {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.driver"],
            cwd=ROOT,
            env=environment() | preloaded,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the driver; a job still running ends with it."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.close()
            self._process.wait(timeout=90)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            self._process.stdout.close()

    def run(self, folder: Path, *arguments: object, **job: Any) -> Done:
        """Run one command line in a folder; `job` may contain options for `driver.run`."""
        assert self._process.stdin
        assert self._process.stdout
        whole = {"folder": str(folder), "arguments": [str(a) for a in arguments], **job}
        self._process.stdin.write(json.dumps(whole) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver died at {whole}")
        return Done(**json.loads(line))

    def must(self, folder: Path, *arguments: object, **job: Any) -> Done:
        """Run a command line that must succeed."""
        done = self.run(folder, *arguments, **job)
        assert done.code == 0, (arguments, done)
        return done

    def inspect(self, folder: Path, *, plants: Sequence[str] = ()) -> Any:
        """Return every event of a log, and the findings of a verification."""
        done = self.run(folder, "inspect", plants=list(plants))
        if done.code == 0:
            return done.json
        finding = ["damage", "log", f"verify broke: {done.err.strip()[-200:]}"]
        return {"events": [], "findings": [finding], "sound": False}


@cache
def shared() -> Runner:
    """Return the runner that all tests of one process use; raise `Unavailable`."""
    runner = Runner()
    atexit.register(runner.close)
    return runner


@contextmanager
def fast_folder() -> Iterator[Path]:
    """Provide a folder for many small runs, in memory if there is space."""
    memory = Path("/dev/shm")
    fits = memory.is_dir() and shutil.disk_usage(memory).free > 256 * 1024 * 1024
    place = memory if fits and os.access(memory, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="sprintlog-faults-", dir=place) as name:
        yield Path(name).resolve()
