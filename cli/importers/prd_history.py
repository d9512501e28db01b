"""The versions of a file of task lists: the file at hand, or its history in git."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX
from sprintlog.projections.history.committed import committed_file

from ..intake.versions import moments
from .found import Unread, bytes_of, kept_of
from .task_lists import TaskList, leaf_texts, read_task_lists


class ListsVersion(NamedTuple):
    """One version of a file of task lists."""

    source: str
    """Names it in the log: the same name is the same version."""
    lists: Sequence[TaskList]
    at: str | None = None
    committed_at: str | None = None


class ListsHistory(NamedTuple):
    """The versions found, oldest first."""

    versions: list[ListsVersion]
    unread: list[Unread]
    is_cut: bool = False
    """Whether the repository lacks the older versions."""


def lists_at_hand(file: Path) -> ListsHistory:
    """Return the file as it is now."""
    return _with_unread([_at_hand(file, bytes_of(file))])


def committed_lists(file: Path) -> ListsHistory:
    """Return every committed version, then the file at hand if it differs.

    A version without a task list is reported and left out. Raise `NotFoundError` if no
    version has one.
    """
    content = bytes_of(file) if file.is_file() else None
    versions: list[tuple[ListsVersion, Sequence[Unread]]] = []
    left_out = []
    with committed_file(file, os.environ, bytes_max=DOCUMENT_BYTES_MAX) as history:
        committed = history.versions(_is_same)
        for version in committed:
            name = f"{version.path}@{version.commit[:12]}"
            text = b""
            try:
                text = history.content(version)
                read = read_task_lists(text, file=name)
            except InvalidInputError as error:
                left_out.append(Unread(name, 0, error.message, kept_of(text)))
                continue
            found = ListsVersion(name, read.lists, *moments(version))
            versions.append((found, read.unread))
        if content is not None and not history.is_text_of(committed[-1], content):
            versions.append(_at_hand(file, content))
        is_cut = history.is_cut
    if not versions:
        raise NotFoundError(f"{file}: git has no version with a task list", file=str(file))
    found_all = _with_unread(versions)
    return found_all._replace(unread=[*left_out, *found_all.unread], is_cut=is_cut)


def _with_unread(
    versions: list[tuple[ListsVersion, Sequence[Unread]]],
) -> ListsHistory:
    """Return a history; what the newest version leaves open is reported."""
    return ListsHistory([one for one, _ in versions], [*versions[-1][1]])


def _at_hand(file: Path, content: bytes) -> tuple[ListsVersion, Sequence[Unread]]:
    read = read_task_lists(content, file=str(file))
    return ListsVersion(f"{file.name}@{read.digest[:12]}", read.lists), read.unread


def _is_same(older: bytes, newer: bytes) -> bool:
    """Return whether two texts share an item, to recognise a renamed file."""
    return bool(_texts(older) & _texts(newer))


def _texts(text: bytes) -> set[str]:
    try:
        lists = read_task_lists(text, file="").lists
    except InvalidInputError:
        return set()
    return {said for one in lists if one.document for said in leaf_texts(one.document)}
