"""A tree with a secret in all possible places, and the search for it."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import sprintlog
from sprintlog.commands import AddNote
from sprintlog.engine.service.streams.catalogue import EVERY
from sprintlog.projections.health.text_places import files_in

from ....adapters.trees import git, put
from ...conftest import Run

SECRET = 'it\'s "opensesame" 4711'
PLAN = "phases:\n  - {id: build, prompt: Build it}\n  - {id: ship, prompt: Ship it}\n"
LOG = ".git/sprintlog"


def inflated(content: bytes) -> Iterator[bytes]:
    """Yield bytes, and the data that git or gzip compressed into them, also nested."""
    yield content
    for begin, wbits in ((b"\x78", 15), (b"\x1f\x8b", 31)):
        start = content.find(begin)
        while start >= 0:
            with suppress(zlib.error):
                inner = zlib.decompressobj(wbits).decompress(content[start:])
                yield inner
                if wbits == 15 and inner.find(b"\x1f\x8b") >= 0:
                    yield from inflated(inner[inner.find(b"\x1f\x8b") :])
            start = content.find(begin, start + 1)


def holding(folder: Path, text: str) -> list[str]:
    """Return the files of the log and the state files that contain a text in any form."""
    quoted = text.replace('"', '\\"')
    forms = [form.encode() for form in (text, quoted, text.replace("'", "''"))]
    ours = [path for _, path in files_in(folder / LOG)]
    ours += [folder / name for name in ("PROGRESS.yaml", ".ralph/progress.json")]
    return [
        path.relative_to(folder).as_posix()
        for path in ours
        if path.exists()
        and any(form in part for part in inflated(path.read_bytes()) for form in forms)
    ]


def tell(folder: Path, done: Run) -> Path:
    """Return a tree with a secret in events, snapshots, edits, reports and copies."""
    git(folder, "init", "-q")
    put(folder / "plan.yaml", PLAN.encode())
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "baseline", "--loop-id", "ralph-001", "--metric", "test_count=1")
    done("iteration", "start")
    put(folder / "said", f"it is {SECRET}\n".encode())
    put(folder / "said.gz", gzip.compress(SECRET.encode(), mtime=0))
    put(folder / "other", b"nothing")
    done("phase", "start")
    done("phase", "complete", "--summary", SECRET)
    metrics = ("--metric", "test_count=2", "--metric", "tests_passed=2")
    done("iteration", "end", "--snapshot", *metrics, "--summary", SECRET)
    done("note", SECRET)
    put(folder / "PROGRESS.yaml", b"# " + SECRET.encode() + b"\n")
    done("note", "seen")
    done("journal entry record", "auth", "--status", "completed", "--summary", SECRET)
    put(folder / LOG / "reports" / "0123", SECRET.encode())
    done("query", "SELECT count(*) FROM v_events")
    done("journal", "search", "opensesame")
    with sprintlog.open(folder) as workspace:
        for number in range(EVERY):
            workspace.handle(AddNote(f"{number} {SECRET}"), sprint_id="auth")
    return folder
