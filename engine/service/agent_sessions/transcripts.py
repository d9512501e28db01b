"""Where a session's transcript is, and whether it may be read without being named."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...adapters.agents.output import LINE_BYTES_MAX
from ...adapters.pieces import pieces_of
from ...errors import InvalidInputError, NotFoundError

FOLDERS = {agent: f".{agent}" for agent in ("claude", "codex", "copilot", "gemini")}
"""In the person's folder: where an agent keeps what is its own."""
NAMED_BY = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""The variables by which a person gives an agent another folder."""
BYTES_MAX = 1024**3
"""A longer transcript is not read."""
_HOW = "`sprintlog session reconcile AGENT-ID --transcript FILE` names one"


def own_transcript(
    agent: str, said: str | None, environment: Mapping[str, str], *, root: Path
) -> Path:
    """Return the file that a hook named, where it is in the agent's own folder.

    What is below the work tree's `root` was recorded from there. A hook's words are
    anybody's: what is elsewhere, or reached by a link, is not read.
    """
    if not said:
        raise NotFoundError("no hook named a transcript of this session", hint=_HOW)
    home = environment.get("HOME", "")
    path = os.path.join(root, said.replace("~", home, 1) if said[:2] == "~/" else said)
    path = os.path.normpath(path)
    shown = f"~/{FOLDERS[agent]}"
    places = [os.path.join(home, FOLDERS[agent])]
    if elsewhere := environment.get(NAMED_BY.get(agent, "")):
        places.append(os.path.normpath(elsewhere))
        shown += f" or {elsewhere}"
    known = (x for x in places if os.path.isabs(x) and path.startswith(f"{x}/"))
    own = next(known, None)
    if own is None:
        raise InvalidInputError(
            f"is not in {shown}: it is read where you name it", hint=_HOW, file=path
        )
    at = Path(path)
    for part in (at, *at.parents):
        if str(part) == own:
            break
        if part.is_symlink():
            raise InvalidInputError("is reached by a link", hint=_HOW, file=path)
    return at


def check_readable(file: Path) -> os.stat_result:
    """Return what is known of a file; raise `SprintlogError` where it is none."""
    try:
        status = file.stat()
    except OSError as error:
        raise NotFoundError(f"{file}: {error.strerror}", file=str(file)) from error
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInputError("is no file", file=str(file))
    if status.st_size > BYTES_MAX:
        raise InvalidInputError("is longer than 1 GiB", file=str(file))
    return status


def lines_of(file: Path) -> Iterator[bytes]:
    """Yield a file's lines; one that is far too long is passed over."""
    is_rest = False
    for piece in pieces_of(file, piece_max=LINE_BYTES_MAX):
        is_whole = piece.endswith(b"\n")
        if is_whole and not is_rest:
            yield piece
        is_rest = not is_whole
