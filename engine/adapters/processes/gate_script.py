"""Runs a gate's script: within a time limit, its output within a bound, nothing left over.

How it is run is in `supervised.py`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ...errors import SprintlogError
from ...sprint.gates.gate import GateResult
from .output import Output, note
from .supervised import ProgramEnded, run_kept

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


class ScriptLostError(SprintlogError):
    """The supervisor of a script ended or hung without saying how the script ended."""


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
    output = Output()
    ended = run_kept(
        ["/bin/sh", "-c", script],
        folder=folder,
        environment=environment,
        timeout_seconds=timeout_seconds,
        output=output,
    )
    if ended is None:
        raise ScriptLostError(
            "the process that kept the gate's script ended or hung: how the script ended "
            "is not known",
            hint="`sprintlog gate run` runs it again",
        )
    return _result(ended, output, timeout_seconds)


def _result(ended: ProgramEnded, output: Output, seconds: float) -> GateResult:
    code, notes = ended.exit, []
    exit_code = 128 - code if code < 0 else code
    if ended.timed_out:
        # What a script says of itself once it was told to end is no result.
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
    return GateResult(
        exit_code,
        ended.timed_out,
        round(1000 * ended.seconds),
        text,
        output.bytes,
        output.sha256,
        ended.left_behind,
    )
