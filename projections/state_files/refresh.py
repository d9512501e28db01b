"""Updates of state files from the log, and detection of third-party edits."""

from abc import ABC, abstractmethod
from typing import Any

from msgspec.structs import replace

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.codec import encode
from sprintlog.engine.masking import mask_all
from sprintlog.engine.service.port import Refreshed as Refreshed
from sprintlog.engine.service.port import StreamFile
from sprintlog.engine.service.streams.catalogue import State
from sprintlog.engine.service.streams.repository import Repository
from sprintlog.engine.sprint.events import EditObserved

from .files import FilesService, Seen, naming

FIELDS_NAMED_MAX, FIELD_CHARS_MAX = 10, 200
"""The maximum number of changes of an edit that are named, and the maximum length of a
field name; the JSON Patch contains all changes."""
BEHIND = "cannot be brought up to date"
UNKNOWN = (
    "is correct but not registered as generated: the next event would treat it "
    "as an edit; run `sprintlog rebuild` to register it"
)


class ProjectedFile(StreamFile[State], ABC):
    """A type of state file in a workspace: its data, and how it is updated.

    State files are compared and written under a single lock.
    """

    def __init__(self, workspace: FilesService, repository: Repository[State]) -> None:
        self.workspace = workspace
        self.files = workspace.files
        self.repository = repository

    @abstractmethod
    def path(self, state: State) -> str | None:
        """Return the file's path in this work tree, or None if the file is elsewhere."""

    @abstractmethod
    def render(self, state: State) -> bytes:
        """Return the file's content."""

    def render_over(self, state: State, path: str, seen: Seen) -> bytes:
        """Return the file's content, reusing the current content."""
        return self.render(state)

    @abstractmethod
    def load(self, content: bytes, *, file: str) -> Any:
        """Return third-party content as data.

        Raise `InvalidInputError` if the content is invalid.
        """

    def document(self, state: State) -> Any:
        """Return the data in the file."""
        return self.load(self.render(state), file=self.path(state) or "")

    def stands_as_imported(self, state: State, since: int | None) -> bool:
        """Return whether no sprintlog event has followed the import of the current file.

        `since` is the version for which the file's content was stored. Most files are never
        imported, or are immediately written in sprintlog's layout.
        """
        return False

    def refresh(self, state: State) -> Refreshed:
        """Write the file unless it matches the log; the state may be older than the log."""
        name = state.id
        self.repository.save(state)
        path = self.path(state)
        if path is None:
            return Refreshed(None, "elsewhere")
        with naming(path, BEHIND), self.files.lock():
            kept = self._recover(name, path)
            known = self.files.look_at_status(path)
            if known is not None:
                refreshed = self._write(name, path, known, kept)
                # If the file was written, the exchange has compared it.
                if refreshed.state == "written" or self.files.look(path) == known:
                    return refreshed
            seen = self.files.look(path)
            if seen.is_foreign and not self.know_same(state):
                kept = self._observe(name, path, seen)
            return self._write(name, path, seen, kept)

    def check(self, state: State) -> Refreshed:
        """Compare a state file with its state, without writing anything."""
        path = self.path(state)
        if path is None:
            return Refreshed(None, "elsewhere")
        content = self.render(state)
        seen = self.files.look(path)
        digest = self.files.digest(path, content).hex()
        if seen.content == content:
            problem = None if seen.since else f"{path} {UNKNOWN}"
            return Refreshed(path, "same", digest, problem=problem)
        if seen.content is None:
            return Refreshed(path, "missing", digest, problem=f"{path} is missing")
        if seen.is_foreign:
            return Refreshed(path, "edited", digest, problem=f"{path} was edited by others")
        if self.stands_as_imported(state, seen.since):
            return Refreshed(path, "imported", seen.digest.hex())
        return Refreshed(path, "stale", digest, problem=f"{path} is older than the log")

    def check_head(self, name: str) -> Refreshed:
        """Compare a state file with the current state, and accept it if it is equal."""
        state = self.repository.current(name)
        self.know_same(state)
        return self.check(state)

    def rebuild(self, name: str) -> Refreshed:
        """Recompute the state from the complete log, save it, and write the file again."""
        state = self.repository.rebuild(name)
        if (path := self.path(state)) is not None:
            self.files.blocks.forget(path)
        refreshed = self.refresh(state)
        self.know_same(state)
        return refreshed

    def know_same(self, state: State) -> bool:
        """Accept a file if it matches the log; return whether it matches."""
        path = self.path(state)
        content = self.render(state)
        if path is None or self.files.look(path).content != content:
            return False
        digest = self.files.digest(path, content)
        self.files.digests.know(path, digest, version=state.version)
        return True

    def know_imported(self, state: State, path: str, content: bytes) -> str | None:
        """Accept an imported file; store a copy if writing the file would change it.

        The document does not contain comments or layout, which would therefore be lost.
        """
        digest = self.files.digest(path, content)
        with naming(path, BEHIND), self.files.lock():
            if self.files.look(path).content != content:
                return None
            self.files.digests.know(path, digest, version=state.version)
            if content == self.render(state):
                return None
            return self.files.keep_edit(path, Seen(content, digest, None))

    def _recover(self, name: str, path: str) -> str | None:
        """Store an edit that was moved by a process killed while writing."""
        left = self.files.recover(path)
        if left is None:
            return None
        # If the process was killed after the exchange, the edit may already be stored.
        observed = self.repository.events(name, EditObserved)
        digests = [event.digest for event in observed if event.path == path]
        is_new = digests[-1:] != [left.digest.hex()]
        without = self.files.look(path).digest
        kept = self._observe(name, path, left, without=without) if is_new else None
        self.files.settle(path)
        return kept

    def _write(self, name: str, path: str, seen: Seen, kept: str | None) -> Refreshed:
        state = self.repository.current(name)
        if kept is None and self.stands_as_imported(state, seen.since):
            return Refreshed(path, "imported", seen.digest.hex())
        content = self._content(state, path, seen)
        digest = self.files.digest(path, content)
        if seen.content == content:
            self.files.write_checksum(path, content)
            return Refreshed(path, "same", digest.hex(), kept, self._problem(path, kept))
        displaced = self.files.write(path, content, version=state.version)
        if displaced is not None and displaced.digest != seen.digest:
            # Another process wrote the file first; the exchange returned its content.
            kept = self._observe(name, path, displaced, without=digest)
        if displaced is not None or kept is not None:
            self.files.settle(path)
        return Refreshed(path, "written", digest.hex(), kept, self._problem(path, kept))

    def _content(self, state: State, path: str, seen: Seen) -> bytes:
        """Return a file's content: the imported content as long as it matches the state."""
        stands = self.stands_as_imported
        for digest, since in (
            self.files.digests.written(path) if stands(state, state.version) else ()
        ):
            if not stands(state, since):
                break
            if (imported := self.files.kept(path, digest)) is not None:
                return imported
        return self.render_over(state, path, seen)

    def _problem(self, path: str, kept: str | None) -> str | None:
        if kept is None:
            return None
        return (
            f"{path} was edited by others; the edited version is saved as "
            f"{self.workspace.location.folder / 'edits' / kept}"
        )

    def _observe(self, name: str, path: str, seen: Seen, *, without: bytes = b"") -> str:
        """Store third-party content, and record its changes.

        The edit is not based on the content with the digest `without`, which was written
        later.
        """
        kept = self.files.keep_edit(path, seen)
        head = self.repository.current(name).version
        newest = self.files.digests.newest(path, until=head, without=without)
        since = self.files.edited_version(path, seen.digest, newest=newest)
        changes, problem = None, None
        fields: tuple[str, ...] = ()
        try:
            changes, fields = self._changes(name, since, seen.content or b"", path)
        except InvalidInputError as error:
            problem = str(error)
        event = EditObserved(
            path,
            seen.digest.hex(),
            kept,
            since,
            mask_all(changes),
            mask_all(problem),
            tuple(mask_all([*fields])),
        )
        if len(encode(event)) > event.payload_bytes_max:
            problem = "the difference is too large to be recorded; the copy has it"
            event = replace(event, changes=None, problem=problem, fields=())
        # After a crash before our file is in place, the edit must not be recorded twice.
        key = f"edit/{seen.digest.hex()[:32]}/{since}/{name}"[:128]
        self.workspace.observe(self.repository.kind.stream(name), event, key=key)
        return kept

    def _changes(
        self, name: str, since: int, content: bytes, path: str
    ) -> tuple[list[dict[str, object]], tuple[str, ...]]:
        # Imported here: only third-party edits are compared.
        from sprintlog.engine.sprint.state.patch import changes, diff

        theirs = self.load(content, file=path)
        if not isinstance(theirs, dict):
            raise InvalidInputError("is not a mapping of fields", file=path)
        ours = self.repository.at_version(name, since) if since else None
        document = self.document(self.repository.current(name) if ours is None else ours)
        named = [change.field[:FIELD_CHARS_MAX] for change in changes(document, theirs)]
        return diff(document, theirs), tuple(named[:FIELDS_NAMED_MAX])
