"""The versions of a prd.json on their way in: the file at hand, or what git keeps of it."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX
from sprintlog.engine.sprint.state.given import list_of
from sprintlog.projections.history.committed import committed_file

from ..json_reader import load
from ..versions import moments
from .found import Unread, bytes_of, kept_of
from .prd import Stories, is_feature_list, read_stories


class StoriesVersion(NamedTuple):
    """One version of the stories."""

    source: str
    """Names it in the log: the same name is the same version."""
    stories: Stories
    at: str | None = None
    committed_at: str | None = None


class StoriesHistory(NamedTuple):
    """What was found, oldest first."""

    versions: list[StoriesVersion]
    unread: list[Unread]


def stories_at_hand(file: Path) -> StoriesHistory:
    """Return the file as it is now."""
    return StoriesHistory([_at_hand(file, bytes_of(file))], [])


def committed_stories(file: Path) -> StoriesHistory:
    """Return every committed version, then the file at hand where it is another.

    A version that is no list of stories is told and left out. Raise `NotFoundError`
    where there is none at all.
    """
    content = bytes_of(file) if file.is_file() else None
    versions, unread = [], []
    with committed_file(file, os.environ, bytes_max=DOCUMENT_BYTES_MAX) as history:
        committed = history.versions(_is_same)
        for version in committed:
            name = f"{version.path}@{version.commit[:12]}"
            text = b""
            try:
                text = history.content(version)
                stories = read_stories(text, file=name)
            except InvalidInputError as error:
                unread.append(Unread(name, 0, error.message, kept_of(text)))
                continue
            versions.append(StoriesVersion(name, stories, *moments(version)))
        if content is not None and not history.is_text_of(committed[-1], content):
            versions.append(_at_hand(file, content))
    if not versions:
        raise NotFoundError(f"{file}: git has no version with stories", file=str(file))
    return StoriesHistory(versions, unread)


def _at_hand(file: Path, content: bytes) -> StoriesVersion:
    stories = read_stories(content, file=str(file))
    return StoriesVersion(f"{file.name}@{stories.digest[:12]}", stories)


def _is_same(older: bytes, newer: bytes) -> bool:
    """Tell whether two texts share a story: so a renamed file is known."""
    return bool(_ids(older) & _ids(newer))


def _ids(text: bytes) -> set[bytes]:
    """Return what names the stories of a text: features have no id that stays."""
    try:
        given: Any = load(text)
    except InvalidInputError:
        return set()
    name, listed = "id", list_of(given, "userStories")
    if is_feature_list(given):
        name = "description"
        listed = given if isinstance(given, list) else given["features"]
    named = (one.get(name) for one in listed if isinstance(one, dict))
    return {msgspec.json.encode(one) for one in named}
