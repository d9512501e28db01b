"""Versions of a PROGRESS.yaml to import, from given files or from git."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX
from sprintlog.engine.sprint.plan.create import is_same_sprint
from sprintlog.engine.sprint.state.times import normalise
from sprintlog.projections.history.committed import Committed, committed_file
from sprintlog.projections.state_files.yaml.reader import AsWritten, load

from .files import read_bytes
from .progress import read_progress

VERSIONS_BYTES_MAX = 2**30
"""The maximum total size of all versions of a file."""


class Version(NamedTuple):
    """A parsed and validated version of a document to import."""

    name: str
    sprint_id: str
    encoded: bytes
    """The document as JSON, which requires less memory than the data."""
    file: Path
    """The file of which this is a version."""
    content: bytes | None
    """The content in bytes; None for all but the newest of several versions from git."""
    remarks: list[str]
    """Remarks from parsing."""
    at: str | None = None
    """When the version was written, according to git."""
    committed_at: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """Return the document."""
        return msgspec.json.decode(self.encoded)  # type: ignore[no-any-return]


class FileText(NamedTuple):
    """The text of a file at a point in time."""

    name: str
    read: Callable[[], bytes]
    commit: Committed | None = None
    """The commit that contains the text; None for the current file."""

    def moments(self) -> tuple[str | None, str | None]:
        """Return when the text was written and committed, if known from git."""
        if self.commit is None:
            return None, None
        committed_at = normalise(self.commit.committed_at)
        try:
            return normalise(self.commit.authored_at), committed_at
        except InvalidInputError:
            return committed_at, committed_at


class Texts(NamedTuple):
    """The versions of a file's text, oldest first."""

    texts: list[FileText]
    is_cut: bool = False
    """Whether the repository lacks the older versions."""


@contextmanager
def committed_texts(
    file: Path, at_hand: bytes | None, is_same: Callable[[bytes, bytes], bool]
) -> Iterator[Texts]:
    """Yield every committed version of a file's text, then the current text if it differs.

    To follow renames, `is_same` returns whether two versions belong to the same document.
    """
    with committed_file(file, os.environ, bytes_max=DOCUMENT_BYTES_MAX) as history:
        committed = history.versions(is_same)
        if sum(version.blob.size for version in committed) > VERSIONS_BYTES_MAX:
            limit = VERSIONS_BYTES_MAX // 2**20
            problem = f"its {len(committed)} versions exceed {limit} MiB in total"
            raise InvalidInputError(problem, file=str(file))
        texts = [
            FileText(f"{one.path}@{one.commit[:12]}", partial(history.content, one), one)
            for one in committed
        ]
        if at_hand is not None and not history.is_text_of(committed[-1], at_hand):
            # An uncommitted file is the newest version.
            texts.append(FileText(str(file), lambda: at_hand))
        yield Texts(texts, history.is_cut)


class History(NamedTuple):
    """The versions of a sprint, oldest first."""

    versions: list[Version]
    others: int = 0
    """The number of versions of the file that belong to other sprints."""
    is_cut: bool = False
    """Whether the repository lacks the older versions."""


def given_versions(files: Sequence[Path]) -> History:
    """Return the documents in the given files, in order; each contains its sprint's id."""
    versions = []
    for file in files:
        content = read_bytes(file)
        document, remarks = read_progress(content, file=str(file))
        encoded = msgspec.json.encode(document)
        sprint_id = document["sprint-id"]
        versions.append(Version(str(file), sprint_id, encoded, file, content, remarks))
    return History(versions)


def committed_versions(file: Path, *, sprint_id: str | None) -> History:
    """Return every committed version of a sprint's file, then the current version.

    The sprint is `sprint_id`, or else the sprint in the newest version. Versions of other
    sprints are omitted. Raise `InvalidInputError` if a version of this sprint cannot be
    read, or `NotFoundError` if there are no versions.
    """
    taken: list[Version] = []
    unread: list[tuple[int, InvalidInputError]] = []
    others, newer = 0, None
    at_hand = read_bytes(file) if file.is_file() else None
    with committed_texts(file, at_hand, _is_same) as found:
        for text in reversed(found.texts):
            try:
                content = text.read()
                document = load(content, file=text.name, builder=AsWritten())
            except InvalidInputError as error:
                unread.append((len(taken), error))
                continue
            named = document.get("sprint-id") if isinstance(document, dict) else None
            if sprint_id is None:
                read = read_progress(content, file=text.name)
                sprint_id = str(read.document["sprint-id"])
            if named != sprint_id and not is_same_sprint(document, newer):
                others += 1
                continue
            newer = document
            read = read_progress(content, file=text.name, sprint_id=sprint_id)
            encoded, kept = msgspec.json.encode(read.document), None if taken else content
            version = Version(text.name, sprint_id, encoded, file, kept, read.remarks)
            at, committed_at = text.moments()
            taken.append(version._replace(at=at, committed_at=committed_at))
    for later, problem in unread:
        # Before the document's first version, the file may have contained anything.
        if later < len(taken):
            raise problem
    if not taken:
        message = f"{file}: git has no version of sprint {sprint_id}"
        raise NotFoundError(message, file=str(file))
    return History(taken[::-1], others + len(unread), found.is_cut)


def _is_same(older: bytes, newer: bytes) -> bool:
    try:
        documents = [load(text, builder=AsWritten()) for text in (older, newer)]
    except InvalidInputError:
        return False
    return is_same_sprint(*documents)
