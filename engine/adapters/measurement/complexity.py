"""Size and complexity of source files, by lizard, which the extra `complexity` installs."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from ...errors import InvalidInputError, NotFoundError, RefusedError
from ...extras import not_installed
from ...judging.events import Origin
from ...own_files import own_text
from ..processes.output import Output
from ..processes.supervised import run_kept
from .figures import Measured
from .lizard_worker import MISSING

_PYTHON = [sys.executable, "-I"]
_WORKER = own_text(__name__, "lizard_worker.py")


class _Answer(msgspec.Struct):
    files: int
    lines: int
    functions: int
    complexity: int
    unread: int


def measure_sources(
    paths: Sequence[Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
) -> Measured:
    """Return how many files and lines of code there are, and their mean complexity.

    The complexity is the cyclomatic one, averaged over functions; without a function it
    is missing. Raise `NotFoundError` for a path that is not there, `RefusedError` where
    lizard is not installed, fails, or takes too long.
    """
    for path in paths:
        if not (folder / path).exists():
            raise NotFoundError(f"{path}: there is no such file or folder", file=str(path))
    named = ", ".join(map(str, paths))
    output, errors = Output(), Output()
    ended = run_kept(
        [*_PYTHON, "-c", _WORKER, *(str(folder / path) for path in paths)],
        folder=folder,
        environment=environment,
        timeout_seconds=timeout_seconds,
        output=output,
        errors=errors,
    )
    if ended is not None and ended.timed_out:
        raise RefusedError(f"{named}: lizard did not end within {timeout_seconds:g} s")
    if ended is not None and ended.exit == MISSING:
        raise not_installed(
            "complexity", f"{named}: lizard, which measures source files, is not installed"
        )
    answer = _answer(output, errors, named)
    if not answer.files:
        raise InvalidInputError("holds no source file that lizard knows", file=named)
    metrics: dict[str, int | float | str] = {
        "file_count": answer.files,
        "loc_total": answer.lines,
    }
    if answer.functions:
        metrics["complexity_score"] = answer.complexity / answer.functions
    unread = f"{named}: lizard could not read {answer.unread} of {answer.files} files whole"
    return Measured(
        metrics,
        [Origin(named, "source", "lizard", tuple(metrics))],
        notes=(unread,) if answer.unread else (),
    )


def _answer(output: Output, errors: Output, named: str) -> _Answer:
    try:
        return msgspec.json.decode(output.text(), type=_Answer)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        said = errors.text().strip().rpartition("\n")[2]
        raise RefusedError(f"{named}: lizard failed: {said[:200]}") from error
