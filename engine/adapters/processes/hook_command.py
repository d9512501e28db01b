"""Runs what a hook says: a shell command, its output in a file, nothing of it left over."""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from errno import EINVAL
from pathlib import Path

from ...log.stores.descriptors import write_whole
from ..folders import may_take_files, opened, opened_below
from .output import Output, note
from .supervised import OutcomeUnknownError, run_kept

TRANSCRIPT_BYTES_MAX = 64 * 1024 * 1024
"""What a hook prints beyond this is read and not kept."""


class Transcript(Output):
    """Output that is kept in a file, up to a bound."""

    def __init__(self, descriptor: int | None) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._room = TRANSCRIPT_BYTES_MAX

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        super().feed(chunk)
        if self._descriptor is None or self._room < 0:
            return
        write_whole(self._descriptor, chunk[: self._room])
        self._room -= len(chunk)
        if self._room < 0:
            rest = f"\n{note('the rest is left out')}\n"
            write_whole(self._descriptor, rest.encode())


def run_hook_command(
    command: str,
    *,
    prompt: str,
    folder: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    transcript: Path | None,
    held: Collection[int] = (),
    stop: int | None = None,
    started: Callable[[int], None] = lambda pid: None,
) -> str | None:
    """Run a command with a shell in a folder; return how it failed, once all of it ended.

    Both of its outputs go to the transcript, a new file in the place of one that is
    there. What reads the descriptor `stop` ends it.
    """
    try:
        with ExitStack() as opened:
            output = Transcript(_open(transcript, folder, opened) if transcript else None)
            ended = run_kept(
                ["/bin/sh", "-c", command],
                folder=folder,
                environment=environment,
                timeout_seconds=timeout_seconds,
                output=output,
                given=prompt,
                held=held,
                stop=stop,
                started=started,
            )
    except OSError as error:
        return f"{error.filename or 'its transcript'}: {error.strerror}"
    except OutcomeUnknownError as error:
        return error.message
    if ended is None:
        return "it was ended before its time"
    if ended.timed_out:
        return f"ended at its time limit of {timeout_seconds:g} s"
    if ended.exit < 0:
        return f"ended by signal {-ended.exit}"
    return f"exit code {ended.exit}" if ended.exit else None


def _open(path: Path, folder: Path, kept: ExitStack) -> int:
    """Make a file below a folder, over no link and in no folder of git's or a log."""
    parts = path.relative_to(folder).parts
    if not may_take_files("/".join(parts)):
        raise OSError(EINVAL, "no place for a transcript", str(path))
    with opened(folder) as root, opened_below(root, "/".join(parts[:-1]), make=True) as at:
        # What somebody put there may be a link or a pipe; it is not written to.
        with suppress(FileNotFoundError):
            os.unlink(parts[-1], dir_fd=at)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(parts[-1], flags, 0o600, dir_fd=at)
    kept.callback(os.close, descriptor)
    return descriptor
