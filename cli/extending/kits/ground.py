"""What the kits stand on: a sprint to record in, and how a failure is said."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.projections.workspace import Workspace

PLAN: dict[str, Any] = {
    "phases": [{"id": name, "prompt": f"Do {name}"} for name in ("one", "two", "three")]
}
SPRINT = "kit"
FIRST_SECOND = 1_768_467_600
"""When the sprint begins: what a kit gives back is the same each time."""


def must(is_so: bool, rule: str) -> None:
    """Raise `AssertionError` saying a rule that is broken."""
    if not is_so:
        raise AssertionError(rule)


@contextmanager
def refused(rule: str) -> Iterator[None]:
    """Hold that what is done is refused with an error of sprintlog's, and no other."""
    try:
        yield
    except SprintlogError:
        return
    except Exception as error:
        raise AssertionError(f"{rule}; it failed with {error!r}") from error
    raise AssertionError(rule)


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Give a workspace in memory with the sprint `kit` in it."""
    with TemporaryDirectory() as folder:
        # By its whole name: a link on the way is no matter of the extension's.
        root, seconds = Path(folder).resolve(), count(FIRST_SECOND)
        with Workspace.in_memory(root, clock=lambda: next(seconds) * 1000) as made:
            made.handle(CreateSprint(PLAN), sprint_id=SPRINT)
            yield made


def plain(value: Any, rule: str) -> str:
    """Return a value as JSON with sorted keys; raise `AssertionError` for what is none."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{rule}: {error}") from error


def tree_of(path: Path) -> dict[str, str]:
    """Return the digest of each file below a path, by its name."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {
        str(file): sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()
    }
