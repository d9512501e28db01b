"""Runs commands for the fault tests: each in a forked child, with the shim armed for it.

Forking avoids starting an interpreter, so thousands of faults take only minutes. A job is a
JSON line on standard input and is answered by one line. See `Job` in `runner.py`.
"""

import ctypes
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, NoReturn

import click

import sprintlog
from sprintlog.cli import main as cli_main
from sprintlog.engine.errors import SprintlogError
from sprintlog.projections.health.verify import verify
from sprintlog.projections.workspace import Workspace

from .plants import PLANTS

_SLOW = ("pydantic", "yaml", "sprintlog.cli.intake.definition", "sqlite_utils", "fcntl")
SECONDS_MAX = 60.0


def load() -> None:
    """Import the modules that commands need, so that the children need not."""
    for name in cli_main.COMMANDS:
        cli_main.cli.get_command(click.Context(cli_main.cli), name)
    for name in (*_SLOW, "sprintlog.projections.state_files.yaml.reader"):
        import_module(name)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job in a child and return its exit status and output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        began = time.monotonic()
        child = os.fork()
        if not child:
            try:
                _become(job, out, err)
            except KeyboardInterrupt:
                # The signal arrived before the command started.
                os._exit(130)
        code = _wait(child, job.get("seconds", SECONDS_MAX))
        seconds = time.monotonic() - began
        return {"code": code, "out": _text(out), "err": _text(err), "seconds": seconds}


def inspect(folder: Path) -> None:
    """Print every event of a log and the findings of a verification as one JSON object."""
    answer: dict[str, Any] = {"events": [], "findings": [], "sound": False}
    try:
        with Workspace.open(folder) as workspace:
            report = verify(workspace)
            answer["findings"] = [[f.severity, f.where, f.what] for f in report.findings]
            answer["sound"] = report.is_sound
            answer["events"] = [
                {
                    "position": event.position,
                    "stream": event.stream,
                    "version": event.version,
                    "type": event.type,
                    "key": event.key,
                    "hash": event.hash.hex(),
                    "data": (event.payload or b"").decode(),
                }
                for event in workspace.events()
            ]
    except SprintlogError as error:
        answer["findings"].append(["damage", "log", error.message])
    os.write(1, json.dumps(answer).encode())


def _become(job: dict[str, Any], out: BinaryIO, err: BinaryIO) -> NoReturn:
    """Turn the child into the command; it never returns."""
    with tempfile.TemporaryFile() as given:
        given.write(job.get("stdin", "").encode())
        given.seek(0)
        os.dup2(given.fileno(), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.chdir(job["folder"])
    for name in job.get("plants", ()):
        PLANTS[name]()
    sys.argv = ["sprintlog", *job["arguments"]]
    if job.get("timer"):
        number, seconds = job["timer"]
        if number != signal.SIGINT:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), number))
        else:
            # Background processes would ignore these signals.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    for name, limit in job.get("limits", {}).items():
        kind = getattr(resource, f"RLIMIT_{name}")
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
    if fault := job.get("fault"):
        _arm(job["folder"], fault)
    _end(lambda: _perform(job))


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Interrupt the current work."""
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)


def _perform(job: dict[str, Any]) -> None:
    if job["arguments"] == ["inspect"]:
        inspect(Path(job["folder"]))
    elif job["arguments"] == ["open"]:
        sprintlog.open(job["folder"]).close()
    else:
        cli_main.main()


def _end(command: Callable[[], None]) -> NoReturn:
    """Run the command and end as an interpreter does, but for freeing its memory."""
    code: Any = 0
    try:
        command()
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException as error:  # noqa: BLE001 - this is a process's border
        code = 130
        if not (isinstance(error, KeyboardInterrupt) and _is_at_the_door(error)):
            traceback.print_exc()
            code = 1
    finally:
        # The command has ended, so a signal now does not concern it.
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            code = 120
        os._exit(code if isinstance(code, int) else 1)


def _is_at_the_door(error: BaseException) -> bool:
    """Return whether a signal arrived before the command could handle it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    entry = cli_main.main.__code__
    return last.filename == __file__ or (
        last.filename == entry.co_filename and last.lineno == entry.co_firstlineno
    )


def _arm(folder: str, fault: dict[str, Any]) -> None:
    ctypes.CDLL(None).fault_arm(
        folder.encode(),
        ctypes.c_long(fault.get("at", 0)),
        fault.get("how", "count").encode(),
        fault.get("trace", "").encode(),
        ctypes.c_int(bool(fault.get("data"))),
    )


def _wait(child: int, seconds: float) -> int | None:
    """Return the child's exit code, negative for a signal, None when it hung."""
    descriptor = os.pidfd_open(child)
    try:
        ended, _, _ = select.select([descriptor], [], [], seconds)
        if not ended:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status) if ended else None
    finally:
        os.close(descriptor)


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode(errors="backslashreplace")


def main() -> None:
    """Answer jobs until standard input ends."""
    load()
    os.environ.pop("LD_PRELOAD", None)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
