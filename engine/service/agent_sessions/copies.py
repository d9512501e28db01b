"""Masked copies of transcripts in the log's folder, because agents delete transcripts.

Copies are made only if a trusted settings file sets `hooks.copy-transcripts`.
"""

import os
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from ...adapters.agents.values import parse
from ...adapters.hooks.transcript_calls import HEAD_LINES, session_in
from ...errors import SprintlogError
from ...masking import mask, mask_all
from ...sessions.names import session_of
from ..port import Service
from . import known_sessions, spool
from .reconcile import FOLDERS, check_readable, is_in_tree, lines_of, own_transcript

SETTING = "hooks.copy-transcripts"
MIB = 1024 * 1024
_WRITE = os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def keep_copy(workspace: Service, stream: str) -> None:
    """Copy a session's transcript if copies are kept.

    Nothing is copied if the copy is current, or if the transcript cannot be read or exceeds
    the limit. The oldest copies are deleted until the total size is within the limit.
    """
    name = session_of(stream) or ""
    agent = name.partition("-")[0]
    root, folder = workspace.location.root, workspace.location.folder / spool.COPIES
    # A failure must not affect the agent or the loop.
    with suppress(SprintlogError, OSError):
        if not (most := MIB * (workspace.setting(SETTING) or 0)) or agent not in FOLDERS:
            return
        said = known_sessions.summary(workspace.log, stream).transcript
        file = own_transcript(agent, said, workspace.environment, root=root)
        if agent != "antigravity":
            # A hook's input can name the transcript of a session in another folder.
            _, cwd = session_in(agent, islice(lines_of(file), HEAD_LINES))
            if not is_in_tree(root, cwd):
                return
        with workspace.log.locks.hold(spool.COPIES_LOCK):
            folder.mkdir(mode=0o700, exist_ok=True)
            _copy(file, folder / f"{name}.jsonl", most)


def _copy(file: Path, copy: Path, most: int) -> None:
    status = check_readable(file)
    is_current = copy.exists() and copy.stat().st_mtime_ns == status.st_mtime_ns
    if is_current or status.st_size > most:
        return
    unfinished = copy.with_suffix(".new")
    with open(os.open(unfinished, _WRITE, 0o600), "wb") as writing:
        writing.writelines(map(_masked, lines_of(file)))
    os.utime(unfinished, ns=(status.st_mtime_ns, status.st_mtime_ns))
    unfinished.replace(copy)
    kept = sorted(copy.parent.iterdir(), key=lambda one: one.stat().st_mtime_ns)
    sizes = {one: one.stat().st_size for one in kept}
    for one in kept:
        if sum(sizes.values()) > most:
            one.unlink()
            del sizes[one]


def _masked(line: bytes) -> bytes:
    """Return a line with the secrets in all its strings masked."""
    message = parse(line)
    if not isinstance(message, dict):
        return mask(line.decode("utf-8", "replace")).rstrip("\n").encode() + b"\n"
    try:
        return msgspec.json.encode(mask_all(message)) + b"\n"
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # Lone surrogates, or a message that is nested too deeply.
        return mask(line.decode("utf-8", "replace")).encode()
