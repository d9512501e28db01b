"""Supervised runs of gate scripts, agent commands and iteration hooks.

Each run has a time limit and bounded output, and its processes cannot outlive the run; see
`supervised.py`. An agent reads its prompt from standard input; a hook's output is written
to a file.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from errno import EINVAL
from pathlib import Path
from typing import NamedTuple, Unpack

from ...errors import SprintlogError
from ...log.stores.descriptors import write_whole
from ...sprint.phases.gate import GateResult
from ..folders import may_take_files, opened, opened_below
from .output import Output, note
from .supervised import OutcomeUnknownError, ProgramEnded, RunOptions, run_kept

TRANSCRIPT_BYTES_MAX = 64 * 1024 * 1024
"""The maximum output of a hook that is written; the rest is discarded."""
ENVIRONMENT = (
    *("CI", "CONDA_PREFIX", "HOME", "JAVA_HOME", "LANG", "LANGUAGE", "LOGNAME", "NO_COLOR"),
    *("PATH", "SHELL", "SPRINTLOG_DIR", "TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"),
)
"""The variables passed to a script, in addition to all `LC_…` and `XDG_…` variables."""
ENVIRONMENT_PREFIXES = ("LC_", "XDG_")


class AgentRun(NamedTuple):
    """The outcome and the output of an agent's command."""

    exit_code: int | None
    """The exit code, or the negative signal number; None if unknown."""
    timed_out: bool
    duration_ms: int | None
    output: Output
    errors: Output
    unknown: str | None = None
    """The reason for an unknown outcome although the command ended."""


class ScriptLostError(SprintlogError):
    """A script's supervisor ended or hung without reporting the script's outcome."""


class Transcript(Output):
    """Output that is written to a file, up to a limit."""

    def __init__(self, descriptor: int | None) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._room = TRANSCRIPT_BYTES_MAX

    def feed(self, chunk: bytes) -> None:
        """Process the next bytes."""
        super().feed(chunk)
        if self._descriptor is None or self._room < 0:
            return
        write_whole(self._descriptor, chunk[: self._room])
        self._room -= len(chunk)
        if self._room < 0:
            write_whole(self._descriptor, f"\n{note('the rest is left out')}\n".encode())


def run_hook_command(
    command: str, *, prompt: str, transcript: Path | None, **options: Unpack[RunOptions]
) -> str | None:
    """Run a shell command until all its processes have ended; return an error or None.

    The command's standard output and error go to the transcript, which replaces an existing
    file. The command is ended when `stop` becomes readable.
    """
    shell, folder = ["/bin/sh", "-c", command], options["folder"]
    try:
        with ExitStack() as opened:
            output = Transcript(_open(transcript, folder, opened) if transcript else None)
            ended = run_kept(shell, output=output, given=prompt, **options)
    except OSError as error:
        return f"{error.filename or 'its transcript'}: {error.strerror}"
    except OutcomeUnknownError as error:
        return error.message
    if ended is None:
        return "it was ended before its time"
    if ended.timed_out:
        return f"ended at its time limit of {options['timeout_seconds']:g} s"
    if ended.exit < 0:
        return f"ended by signal {-ended.exit}"
    return f"exit code {ended.exit}" if ended.exit else None


def _open(path: Path, folder: Path, kept: ExitStack) -> int:
    """Create a file below a folder, but not through links or in a git or log folder."""
    parts = path.relative_to(folder).parts
    if not may_take_files("/".join(parts)):
        raise OSError(EINVAL, "no place for a transcript", str(path))
    with opened(folder) as root, opened_below(root, "/".join(parts[:-1]), make=True) as at:
        # An existing entry may be a link or a pipe; it is never written to.
        with suppress(FileNotFoundError):
            os.unlink(parts[-1], dir_fd=at)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(parts[-1], flags, 0o600, dir_fd=at)
    kept.callback(os.close, descriptor)
    return descriptor


def run_agent(
    command: Sequence[str],
    *,
    prompt: str,
    listen: Callable[[bytes], None] = lambda chunk: None,
    **options: Unpack[RunOptions],
) -> AgentRun:
    """Run a command in a folder, and return when all its processes have ended.

    The descriptors in `held` stay open until then. `listen` is called with the command's
    output as it arrives, and `tick` once a minute; for `watch`, see `run_kept`.
    """
    output, errors = Output(listen), Output()
    try:
        ended = run_kept(command, output=output, errors=errors, given=prompt, **options)
    except OutcomeUnknownError as error:
        return AgentRun(None, False, None, output, errors, error.message)
    if ended is None:
        return AgentRun(None, False, None, output, errors)
    took = round(1000 * ended.seconds)
    return AgentRun(ended.exit, ended.timed_out, took, output, errors)


def environment_of(
    given: Mapping[str, str], *, extra: Iterable[str] = (), **own: object
) -> dict[str, str]:
    """Return a script's environment: the listed variables, `extra`, and `own`."""
    names = {*ENVIRONMENT, *extra}
    chosen = {
        name: value
        for name, value in given.items()
        if name in names or name.startswith(ENVIRONMENT_PREFIXES)
    }
    return {**chosen, **{name: str(value) for name, value in own.items()}}


def run_script(
    script: str, *, given: str | None = None, **options: Unpack[RunOptions]
) -> GateResult:
    """Run a shell script, and return when all its processes have ended.

    The script receives `given` on standard input.

    An exception that ends this call also ends the script. Raise `ScriptLostError` if the
    outcome is unknown.
    """
    output = Output()
    ended = run_kept(["/bin/sh", "-c", script], output=output, given=given, **options)
    if ended is None:
        raise ScriptLostError(
            "the supervisor of the gate's script ended or hung, so the outcome is unknown",
            hint="use `sprintlog gate run` to run the script again",
        )
    return _result(ended, output, options["timeout_seconds"])


def _result(ended: ProgramEnded, output: Output, seconds: float) -> GateResult:
    code, notes = ended.exit, []
    exit_code = 128 - code if code < 0 else code
    if ended.timed_out:
        # The exit status of a script that was asked to end is not its result.
        exit_code = 128 + (9 if code == -9 else 15)
        notes.append(f"ended at its time limit of {seconds:g} s")
    if ended.left_behind:
        notes.append(f"processes left running were ended: {ended.left_behind}")
    if ended.unkillable:
        notes.append(f"processes that could not be ended: {ended.unkillable}")
    text = output.text()
    if notes:
        printed = [text.removesuffix("\n")] if text else []
        text = "\n".join([*printed, *map(note, notes), ""])
    took, left = round(1000 * ended.seconds), ended.left_behind
    return GateResult(
        exit_code, ended.timed_out, took, text, output.bytes, output.sha256, left
    )
