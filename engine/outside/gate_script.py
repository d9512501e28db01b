"""Runs a gate's script: within a time limit, its output within a bound, nothing left over.

A keeper process starts the script and ends what it leaves (see `gate_keeper.py`); here
its output is read while it runs.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from ..errors import SprintlogError
from ..sprint.gates import GateResult
from .output import Output, note

ENVIRONMENT = (
    "CI",
    "CONDA_PREFIX",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NO_COLOR",
    "PATH",
    "SHELL",
    "SPRINTLOG_DIR",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
)
"""What a script gets of the environment, with every `LC_…` and `XDG_…`; nothing else."""
ENVIRONMENT_PREFIXES = ("LC_", "XDG_")

LINGER_SECONDS = 0.5
"""How long what a script left behind may take to end by itself."""
GRACE_SECONDS = 2.0
"""How long after SIGTERM what is left is killed."""
PATIENCE_SECONDS = 15.0
"""How long after the limit a keeper that does not answer is given up."""

_KEEPER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("gate_keeper.py"))]
_PIPE_BYTES_MAX = 1024 * 1024


class ScriptLostError(SprintlogError):
    """The keeper of a script ended or hung without saying how the script ended."""


def environment_of(
    given: Mapping[str, str], *, extra: Iterable[str] = (), **own: object
) -> dict[str, str]:
    """Return what a script gets of an environment: the stated names, `extra`, and `own`."""
    names = {*ENVIRONMENT, *extra}
    chosen = {
        name: value
        for name, value in given.items()
        if name in names or name.startswith(ENVIRONMENT_PREFIXES)
    }
    return {**chosen, **{name: str(value) for name, value in own.items()}}


def run_script(
    script: str, *, folder: Path, environment: Mapping[str, str], timeout_seconds: float
) -> GateResult:
    """Run a script with a shell in a folder; return once it and all it started ended.

    Whatever ends this early ends the script too. Raise `ScriptLostError` when nobody
    can say how it went.
    """
    wish = {
        "script": script,
        "folder": str(folder),
        "environment": dict(environment),
        "seconds": timeout_seconds,
        "linger": LINGER_SECONDS,
        "grace": GRACE_SECONDS,
    }
    reading, writing = os.pipe()
    try:
        keeper = subprocess.Popen(
            _KEEPER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(writing,),
            start_new_session=True,
        )
        try:
            _say(keeper, {**wish, "output": writing})
            os.close(writing)
            writing = -1
            until = time.monotonic() + timeout_seconds + PATIENCE_SECONDS
            output = Output()
            answer = _listen(keeper, reading, output, until=until)
        finally:
            _leave(keeper)
    finally:
        for descriptor in (reading, writing):
            if descriptor >= 0:
                os.close(descriptor)
    return _result(answer, output, timeout_seconds)


def _say(keeper: subprocess.Popen[bytes], wish: dict[str, Any]) -> None:
    assert keeper.stdin is not None
    try:
        keeper.stdin.write(json.dumps(wish).encode() + b"\n")
        keeper.stdin.flush()
    except BrokenPipeError:
        # It is gone already; that it answers nothing says so.
        return


def _listen(
    keeper: subprocess.Popen[bytes], reading: int, output: Output, *, until: float
) -> bytes:
    """Read a script's output as it comes, until its keeper has answered."""
    assert keeper.stdout is not None
    answer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        selector.register(keeper.stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(min(left, 60.0)):
                chunk = os.read(key.fd, 1 << 16)
                if key.fd == reading:
                    output.feed(chunk)
                    if not chunk:
                        selector.unregister(reading)
                elif chunk:
                    answer += chunk
                else:
                    _drain(reading, output)
                    return answer
    return b""


def _drain(reading: int, output: Output) -> None:
    """Read what is left in the pipe, and no more than a pipe can hold."""
    os.set_blocking(reading, False)
    room = _PIPE_BYTES_MAX
    try:
        while room > 0 and (chunk := os.read(reading, 1 << 16)):
            output.feed(chunk)
            room -= len(chunk)
    except BlockingIOError:
        return


def _leave(keeper: subprocess.Popen[bytes]) -> None:
    """Let the keeper go; when it is still at work it ends everything first."""
    _close(keeper.stdin)
    try:
        keeper.wait(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()
    _close(keeper.stdout)


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        return


def _result(answer: bytes, output: Output, seconds: float) -> GateResult:
    if not answer:
        raise ScriptLostError(
            "the process that kept the gate's script ended or hung: how the script ended "
            "is not known",
            hint="`sprintlog gate run` runs it again",
        )
    said = json.loads(answer)
    code, notes = said["exit"], []
    exit_code = 128 - code if code < 0 else code
    if said["timed_out"]:
        # What a script says of itself once it was told to end is no result.
        exit_code = 128 + (9 if code == -9 else 15)
        notes.append(f"ended at its time limit of {seconds:g} s")
    if said["left_behind"]:
        notes.append(f"processes left running were ended: {said['left_behind']}")
    if said["unkillable"]:
        notes.append(f"processes that could not be ended: {said['unkillable']}")
    text = output.text()
    if notes:
        printed = [text.removesuffix("\n")] if text else []
        text = "\n".join([*printed, *map(note, notes), ""])
    return GateResult(
        exit_code,
        said["timed_out"],
        round(1000 * said["seconds"]),
        text,
        output.bytes,
        output.sha256,
        said["left_behind"],
    )
