"""Neither masking nor `scan` finds secrets in packages and documents without any."""

import os
import site
import sysconfig
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from sprintlog.engine.masking import masked_spans
from sprintlog.projections.health.leaks import secrets_by_rules

from ..criterion import Skip, Verdict

FOUND_MAX = 10
"""So many false findings in a million lines are borne."""
PER_LINES = 1_000_000
FILE_BYTES_MAX = 8 * 1024 * 1024
SHOWN_CHARS = 12
EXAMPLES = "awscli/examples/", "botocore/data/", "test/test_netrc.py"
"""Where credentials are published as examples, in the forms that are masked."""


def finds_nothing(data: Path, seed: int) -> Verdict:
    """At most ten findings in a million lines of published code."""
    lines, found, by_rules = 0, [], 0
    seen = set()
    for path in chain.from_iterable(map(_files, _folders(data))):
        text = _text(path)
        is_example = any(part in path.as_posix() for part in EXAMPLES)
        if text is None or is_example or hash(text) in seen:
            continue
        seen.add(hash(text))
        lines += text.count("\n")
        found += [
            f"{path}: {text[first : first + SHOWN_CHARS]!r}…"
            for first, _ in masked_spans(text)
        ]
        told = [
            f"{path}: {rule}: {text[first : first + SHOWN_CHARS]!r}…"
            for rule, first, _ in secrets_by_rules(text)
        ]
        by_rules += len(told)
        found += told
    if lines < PER_LINES:
        raise Skip(f"only {lines:,} lines of sources are here")
    passed = len(found) * PER_LINES <= FOUND_MAX * lines
    counts = (
        f"{len(found)} findings, {by_rules} by the public rules, in {lines:,} lines of"
        f" {len(seen):,} files"
    )
    return Verdict(passed, counts, [] if passed else found)


def _folders(data: Path) -> list[Path]:
    """Return folders of third-party sources: packages, the standard library, the system."""
    own = [*site.getsitepackages(), sysconfig.get_path("stdlib")]
    system = [path for path in Path("/usr/lib").glob("python3*") if path.is_dir()]
    return list(dict.fromkeys([*map(Path, own), *system, data]))


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted({*folders} - {".git", "__pycache__"})
        yield from (Path(at, name) for name in sorted(names))


def _text(path: Path) -> str | None:
    """Return the text of a file; None for other kinds of files or unreadable ones."""
    try:
        if not path.is_file() or path.stat().st_size > FILE_BYTES_MAX:
            return None
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text
