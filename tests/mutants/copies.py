"""A copy of a checkout with a separate environment, in which tests run.

Processes started by a test find the copy's modules even with an empty environment: the
copy has a `.venv` of links to the packages of the running environment.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import NamedTuple

_LEFT_OUT = shutil.ignore_patterns(
    *(".git", ".venv*", "node_modules", ".*_cache", ".hypothesis", ".site", ".sprintlog"),
    *(".mutants", "*.egg-info", ".coverage*"),
)
"""Other compiled modules are copied: Python corrects the paths in them."""
_TOOL = "mutants_tool"
"""The package of the probe and the plugin in the copy's environment."""
_DROPPED = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "CI", "COVERAGE_")
_POLL_SECONDS = 0.2
_GRACE_SECONDS = 20
HANG_FACTOR = 20
HANG_SECONDS_MIN = 10
STOPPED = Event()
"""Ends every run."""
NO_TESTS = 5
"""The exit status of pytest if it selects no test."""


class Ran(NamedTuple):
    """A test that ran."""

    name: str
    seconds: float
    outcome: str


class Result(NamedTuple):
    """How a run of pytest ended."""

    status: int | None
    """The exit status, None if it was stopped."""
    ran: list[Ran]
    hung: str | None
    """The test that took far longer than usual, None if none did."""
    seconds: float
    output: str

    @property
    def failed(self) -> str | None:
        """Return the test that failed or hung, "" if collecting failed, None if none."""
        if self.hung is not None:
            return self.hung
        if self.status in (0, None, NO_TESTS):
            return None
        return next((one.name for one in self.ran if one.outcome == "failed"), "")


class Copy:
    """A copy of a checkout."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self.tree = folder / "tree"
        shutil.copytree(root, self.tree, symlinks=True, ignore=_LEFT_OUT)
        for modules in root.glob("tests/*/node_modules"):
            (self.tree / modules.relative_to(root)).symlink_to(modules)
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        self._temporary.chmod(0o1777)
        packages = _environment(self.tree)
        self._shared = packages / _TOOL
        self._shared.mkdir()
        self._shared.chmod(0o777)
        self._planted = 0
        (packages / f"{_TOOL}.pth").write_text(f"import {_TOOL}.probe\n")
        for name in ("probe.py", "plugin.py"):
            shutil.copy(Path(__file__).with_name(name), self._shared)

    def write(self, path: str, source: str) -> None:
        """Replace a module, so that no compiled form of an earlier one is used."""
        file = self.tree / path
        file.write_text(source, encoding="utf-8")
        # A compiled module is valid for its source's time and size, and a process of an
        # earlier run may still write one.
        self._planted += 2
        stamp = int(time.time()) - 10_000_000 + self._planted
        os.utime(file, (stamp, stamp))
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()

    def original(self, path: str) -> str:
        """Return the source of a module in the checkout."""
        return (self._root / path).read_text(encoding="utf-8")

    def restore(self, path: str) -> None:
        """Restore a module from the checkout."""
        self.write(path, self.original(path))

    def run(
        self,
        files: Iterable[str],
        *,
        selected: list[str] | None = None,
        usual: dict[str, float] | None = None,
        limit: float,
        stop_early: bool = True,
        more: Iterable[str] = (),
    ) -> Result:
        """Run test files, or only the selected tests of them; stop after `limit` seconds.

        A test that takes 20 times its `usual` seconds hangs.
        """
        if STOPPED.is_set():
            raise InterruptedError
        for name in ("current", "reached", "times", "selected"):
            (self._shared / name).unlink(missing_ok=True)
        if selected is not None:
            text = "\0".join(selected)
            (self._shared / "selected").write_text(text, encoding="utf-8")
        words = [
            *(str(self.tree / ".venv/bin/python"), "-m", "pytest", "-q", "--tb=short"),
            *("-p", "no:cacheprovider", "-p", f"{_TOOL}.plugin", *more),
            *(["-x"] if stop_early else []),
            *files,
        ]
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(_DROPPED)},
            "TMPDIR": str(self._temporary),
        }
        begun = time.monotonic()
        with open(self._folder / "output", "w+b") as output:
            process = subprocess.Popen(
                words,
                cwd=self.tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                status, hung = self._wait(process, begun + limit, usual or {})
            finally:
                seconds = time.monotonic() - begun
                self._end(process)
            output.seek(0)
            text = output.read().decode(errors="replace")
        ran = [
            Ran(name, seconds, what)
            for what, seconds, name in self.times()
            if what in ("passed", "failed", "skipped")
        ]
        return Result(status, ran, hung, seconds, text)

    def times(self) -> list[tuple[str, float, str]]:
        """Return the records of the last run: what, seconds and the name."""
        return [
            (what, float(seconds), name)
            for what, seconds, name in (x.split("\t", 2) for x in self._lines("times"))
        ]

    def reached(self) -> list[tuple[int, str]]:
        """Return the records of the last run's probes: a number and a label."""
        pairs = (line.split("\t", 1) for line in self._lines("reached"))
        return [(int(number), name) for number, name in pairs]

    def _lines(self, name: str) -> list[str]:
        file = self._shared / name
        if not file.exists():
            return []
        text = file.read_bytes().decode("utf-8", "surrogateescape")
        return text.split("\n")[:-1]

    def _wait(
        self, process: subprocess.Popen[bytes], end: float, usual: dict[str, float]
    ) -> tuple[int | None, str | None]:
        """Return the exit status, and the test that hangs, if any."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_POLL_SECONDS), None
            last = (self.times() if usual else [("", 0.0, "")])[-1:]
            for what, since, name in last:
                bound = max(HANG_FACTOR * usual.get(name, 0.0), HANG_SECONDS_MIN)
                if what == "start" and time.time() - since > bound:
                    return None, name
            if STOPPED.is_set():
                raise InterruptedError
            if time.monotonic() > end:
                return None, None

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End a run that does not stop, after its clean-up, with all its processes."""
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for number in _processes_of(self._folder):
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for path in self._temporary.iterdir():
            if path.name.startswith("hypothesis-"):
                continue  # constants of the sources, which take seconds to collect
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _processes_of(folder: Path) -> list[int]:
    """Return the processes that have a path of the folder as argument or in a variable."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        try:
            text = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if f"{folder}/".encode() in text:
            found.append(int(process.name))
    return found


def _environment(tree: Path) -> Path:
    """Create the copy's `.venv` and return its folder of packages."""
    old = Path(sys.prefix)
    if sys.prefix == sys.base_prefix:
        raise SystemExit("error: not in a virtual environment: use .venv/bin/python")
    venv = tree / ".venv"
    packages = venv / Path(sysconfig.get_path("purelib")).relative_to(old)
    packages.mkdir(parents=True)
    (venv / "bin").mkdir()
    shutil.copy(old / "pyvenv.cfg", venv)
    for marker in old.glob(".installed*"):
        shutil.copy(marker, venv)
    for program in (old / "bin").iterdir():
        new = venv / "bin" / program.name
        if program.is_symlink():
            new.symlink_to(os.readlink(program))
        elif program.read_bytes()[:2] == b"#!":
            text = program.read_text(encoding="utf-8").replace(str(old), str(venv))
            new.write_text(text, encoding="utf-8")
            new.chmod(0o755)
        else:
            new.symlink_to(program)
    for package in (old / packages.relative_to(venv)).iterdir():
        new = packages / package.name
        text = package.read_text(encoding="utf-8") if package.suffix == ".pth" else ""
        if text.rstrip().endswith("/.package"):
            new.write_text(f"{tree / '.package'}\n", encoding="utf-8")
        else:
            new.symlink_to(package)
    return packages
