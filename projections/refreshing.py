"""Bring state files up to date with the log, and notice what others did to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple, Protocol

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.masking import mask_all
from sprintlog.engine.sprint.facts import EditObserved
from sprintlog.engine.sprint.patch import diff
from sprintlog.engine.sprint.state import Sprint

from .files import Seen, StateFiles
from .location import Location
from .progress_yaml import render
from .reading import Reader

UNKNOWN = (
    "is right and not known as ours: the next event would take it for an edit; "
    "`sprintlog rebuild` mends that"
)


class Acting(Protocol):
    """What of a workspace is needed here."""

    @property
    def location(self) -> Location:
        """Return where the log and the work tree are."""
        ...

    @property
    def files(self) -> StateFiles:
        """Return the state files."""
        ...

    @property
    def reader(self) -> Reader:
        """Return the reader of sprints."""
        ...

    def sprint(self, sprint_id: str) -> Sprint:
        """Return a sprint as it is."""
        ...

    def observe(self, sprint_id: str, fact: EditObserved, *, key: str) -> None:
        """Record an edit that somebody else made, once under this key."""
        ...


class Refreshed(NamedTuple):
    """What happened to a state file."""

    path: str | None
    """None when the sprint has no state file in this work tree."""
    state: str
    """`same`, `written`, `missing`, `stale`, `edited`, `imported` or `elsewhere`."""
    digest: str = ""
    """sha256 of our bytes, in hexadecimal."""
    kept: str | None = None
    """Name of the copy of somebody else's bytes."""
    problem: str | None = None
    """A sentence for the person at the terminal."""


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Turn an error of the system into one that names the state file."""
    try:
        yield
    except OSError as error:
        raise RefusedError(
            f"{path}: cannot be brought up to date: {error.strerror}",
            hint="the events are safe in the log; `sprintlog rebuild` writes the file",
            file=path,
        ) from error


class Refresher:
    """Compares and writes the state files of one workspace, under one lock."""

    def __init__(self, workspace: Acting) -> None:
        self._workspace = workspace
        self._files = workspace.files

    def refresh(self, sprint_id: str) -> Refreshed:
        """Write a sprint's state file where it is not what the log says."""
        sprint = self._workspace.sprint(sprint_id)
        self._workspace.reader.save(sprint)
        path = self._path(sprint)
        if path is None:
            return Refreshed(None, "elsewhere")
        with _naming(path), self._files.lock():
            kept = self._recover(sprint_id, path)
            seen = self._files.look(path)
            if seen.is_foreign and not self.know_same(sprint):
                kept = self._observe(sprint_id, path, seen)
            return self._write(sprint_id, path, seen, kept)

    def check(self, sprint: Sprint) -> Refreshed:
        """Compare a sprint's state file with its state; write nothing."""
        path = self._path(sprint)
        if path is None:
            return Refreshed(None, "elsewhere")
        content = render(sprint)
        seen = self._files.look(path)
        digest = sha256(content).hexdigest()
        if seen.content == content:
            problem = None if seen.since else f"{path} {UNKNOWN}"
            return Refreshed(path, "same", digest, problem=problem)
        if seen.content is None:
            return Refreshed(path, "missing", digest, problem=f"{path} is missing")
        if seen.is_foreign:
            return Refreshed(path, "edited", digest, problem=f"{path} was edited by others")
        if self._stands_as_imported(sprint, seen):
            return Refreshed(path, "imported", seen.digest.hex())
        return Refreshed(path, "stale", digest, problem=f"{path} is older than the log")

    def rebuild(self, sprint_id: str) -> Refreshed:
        """Compute the state from the whole log, save it, and write the file anew."""
        sprint = self._workspace.reader.from_nothing(sprint_id)
        self._workspace.reader.renew(sprint)
        refreshed = self.refresh(sprint_id)
        self.know_same(sprint)
        return refreshed

    def know_same(self, sprint: Sprint) -> bool:
        """Take a file as ours that is what the log says; tell whether it is."""
        path = self._path(sprint)
        content = render(sprint)
        if path is None or self._files.look(path).content != content:
            return False
        self._files.know(path, sha256(content).digest(), version=sprint.version)
        return True

    def know_imported(self, sprint: Sprint, path: str, content: bytes) -> str | None:
        """Take an imported file as ours; keep a copy if writing it anew would change it.

        Comments and layout are not in the document, so they would be lost.
        """
        digest = sha256(content).digest()
        with _naming(path), self._files.lock():
            seen = self._files.look(path)
            if seen.content != content:
                return None
            self._files.know(path, digest, version=sprint.version)
            if content == render(sprint):
                return None
            return self._files.keep_edit(path, Seen(content, digest, None))

    def _path(self, sprint: Sprint) -> str | None:
        place = sprint.plan.place
        if place is None or place.worktree != self._workspace.location.worktree:
            return None
        return place.path

    def _stands_as_imported(self, sprint: Sprint, seen: Seen) -> bool:
        """Tell whether the file is the imported one that nothing of ours came after."""
        record = sprint.record
        return (
            seen.since is not None
            and seen.since >= record.imported_at
            and not sprint.plan.touched
            and not record.rollbacks
        )

    def _recover(self, sprint_id: str, path: str) -> str | None:
        """Keep the edit that a process killed in the middle of writing had displaced."""
        left = self._files.recover(path)
        if left is None:
            return None
        # Killed after the exchange it was perhaps kept already, before it.
        is_new = left.digest.hex() != self._last_observed(sprint_id, path)
        kept = self._observe(sprint_id, path, left) if is_new else None
        self._files.forget_displaced(path)
        return kept

    def _last_observed(self, sprint_id: str, path: str) -> str | None:
        facts = self._workspace.reader.facts(sprint_id, EditObserved)
        digests = [fact.digest for fact in facts if fact.path == path]
        return digests[-1] if digests else None

    def _write(self, sprint_id: str, path: str, seen: Seen, kept: str | None) -> Refreshed:
        sprint = self._workspace.sprint(sprint_id)
        if kept is None and self._stands_as_imported(sprint, seen):
            return Refreshed(path, "imported", seen.digest.hex())
        content = render(sprint)
        digest = sha256(content).hexdigest()
        if seen.content == content:
            self._files.write_checksum(path, content)
            return Refreshed(path, "same", digest, kept, self._problem(path, kept))
        displaced = self._files.write(path, content, version=sprint.version)
        if displaced is not None and displaced.digest != seen.digest:
            # Somebody was faster than we: their bytes came back from the exchange.
            kept = self._observe(sprint_id, path, displaced)
        return Refreshed(path, "written", digest, kept, self._problem(path, kept))

    def _problem(self, path: str, kept: str | None) -> str | None:
        if kept is None:
            return None
        return (
            f"{path} was edited by somebody else; their version is kept as "
            f"{self._workspace.location.folder / 'edits' / kept}"
        )

    def _observe(self, sprint_id: str, path: str, seen: Seen) -> str:
        """Keep somebody else's bytes, and record what they changed."""
        kept = self._files.keep_edit(path, seen)
        head = self._workspace.sprint(sprint_id).version
        since = self._files.newest(path, until=head)
        changes, problem = None, None
        try:
            changes = self._changes(sprint_id, since, seen.content or b"", path)
        except InvalidInputError as error:
            problem = str(error)
        fact = EditObserved(
            path, seen.digest.hex(), kept, since, mask_all(changes), problem
        )
        # A crash before the file is written must not record the same edit twice.
        key = f"edit/{seen.digest.hex()[:32]}/{since}/{sprint_id}"[:128]
        self._workspace.observe(sprint_id, fact, key=key)
        return kept

    def _changes(
        self, sprint_id: str, since: int, content: bytes, path: str
    ) -> list[dict[str, object]]:
        # Read only when somebody edited a file: the reader is not on the hot path.
        from .yaml_reader import load

        theirs = load(content, file=path)
        if not isinstance(theirs, dict):
            raise InvalidInputError("is not a mapping of fields", file=path)
        reader = self._workspace.reader
        ours = reader.at_version(sprint_id, since) if since else None
        base = ours or self._workspace.sprint(sprint_id)
        return diff(base.document, theirs)
