"""What a hook was handed and nobody understands: its beginning is kept to be looked at."""

import os
from pathlib import Path

import msgspec

from ... import hashes
from ...adapters.replace import replace_file
from ...masking import mask

FOLDER = "not-understood"
"""In a log's folder; lines that an import does not understand are there, too."""
PREFIX = "hook-"
HEAD_BYTES_MAX = 1024
FILES_MAX = 100
"""So many odd inputs are kept; the same again is the same file."""


def keep_odd(folder: Path, agent: str, why: str, content: bytes) -> None:
    """Keep the beginning of an odd input, secrets masked, where there is room."""
    # Cut behind the mask: half a secret is none that is known.
    text = mask(content[: 64 * HEAD_BYTES_MAX].decode("utf-8", "replace"))
    odd = msgspec.json.encode(
        {
            "agent": mask(agent)[:60],
            "why": mask(why)[:200],
            "begins": text[:HEAD_BYTES_MAX],
        }
    )
    place = folder / FOLDER
    name = f"{PREFIX}{hashes.sha256(odd).hexdigest()[:16]}.json"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        if (place / name).exists() or count_odd(folder) >= FILES_MAX:
            return
        replace_file(place / name, odd + b"\n", mode=0o600)
    except OSError:
        # It would only have been looked at.
        return


def count_odd(folder: Path) -> int:
    """Return how many odd inputs of hooks are kept."""
    try:
        return sum(name.startswith(PREFIX) for name in os.listdir(folder / FOLDER))
    except OSError:
        return 0
