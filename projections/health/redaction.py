"""Erasure of text from all places that sprintlog can access, and a list of other places.

The plan is first stored in a note in the log's folder. The next process that opens the log
finishes an interrupted erasure, or removes the note if no event was erased yet. The note
contains the text to erase, so it is removed last.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.adapters.snapshots import without_text
from sprintlog.engine.adapters.snapshots.store import Store
from sprintlog.engine.errors import RefusedError, SprintlogError
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.envelope import Appended, RecordedEvent
from sprintlog.engine.log.erasures import STREAM
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.readable import as_json, originals
from sprintlog.engine.service.erasure import erase_words, remainder
from sprintlog.engine.service.place.location import LOOPS, REDACTION
from sprintlog.engine.service.port import Skippable
from sprintlog.engine.service.streams.catalogue import State
from sprintlog.engine.service.streams.checkpoints import forget_readings
from sprintlog.engine.service.work_tree.shared_snapshots import forget
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sprint.events import SnapshotRewritten
from sprintlog.engine.sprint.iterations.snapshots import rewrite_snapshot

from ..state_files.journal_file import JournalFile
from ..state_files.loop_place import files_of_loop
from ..state_files.refresh import ProjectedFile
from ..state_files.sprint_file import SprintFile
from ..views.events import reference
from ..views.log import PlaceOfText, RedactionDone, UnreachedPlace
from ..workspace import Workspace
from . import text_places as places
from .findings import COPIES, remove_copies
from .kept_text import KEPT_TEXT, REDACTION_LOCK, UNDER_WAY

_NOTE_BYTES_MAX = 1 << 28
HEADER = ("stream", "key", "actor", "correlation_id", "causation_id", "type")
SHOWN_MAX = 100
OBJECTS_MAX = 20
COMMITS_MAX = 10
REFERRED_TO = "the text is part of an id or a name that other events refer to"
COPIES_ELSEWHERE = (
    "the locations of backups, exports and files restored to other folders are "
    "unknown: remove them, or redact each of them, too"
)
BESIDE_EVENTS = [
    entry
    for entry in KEPT_TEXT
    if not isinstance(entry, places.Events | places.Pages) and entry.name != UNDER_WAY
]
"""The places to search in addition to the events and the database pages."""
_WITHOUT: set[Skippable] = {"finish_restores", "refuse_edits", "record_lost_run"}


class Note(msgspec.Struct, frozen=True):
    """The plan for a pending erasure."""

    reason: str
    actor: str
    at: str
    events: list[tuple[str, int]]
    """The stream and version of each event."""
    texts: list[str]


def redact(workspace: Workspace, note: Note) -> RedactionDone:
    """Erase events and text, and all data derived from them."""
    place = workspace.location.folder / REDACTION
    with workspace.log.locks.hold(REDACTION_LOCK):
        try:
            replace_file(place, as_json(note), mode=0o600)
        except OSError as error:
            raise RefusedError(
                f"nothing erased: {place} cannot be written: {error.strerror}",
                hint="check the folder's permissions and the disk space, then repeat the "
                "command",
                path=str(place),
            ) from error
        return _carried_out(workspace, note, place)


def finish(workspace: Workspace) -> bool:
    """Finish an interrupted redaction; return whether there was one."""
    if getattr(workspace.log, "readonly", False):
        return False
    place = workspace.location.folder / REDACTION
    with workspace.log.locks.hold(REDACTION_LOCK):
        try:
            content = read_whole(place, at_most=_NOTE_BYTES_MAX)
            note = msgspec.convert(originals(content), Note)
        except (FileNotFoundError, msgspec.DecodeError, ValueError):
            # The note is written atomically, so this file is damaged or not from sprintlog.
            return False
        meant = [*_meant(workspace, note)]
        if meant and all(event.salt is not None for event in meant):
            place.unlink()
            return False
        _carried_out(workspace, note, place)
        return True


def _meant(workspace: Workspace, note: Note) -> Iterator[RecordedEvent]:
    for stream, version in note.events:
        yield from workspace.log.read_stream(stream, after=version - 1, until=version)


def _carried_out(workspace: Workspace, note: Note, place: Path) -> RedactionDone:
    said: list[RecordedEvent] = []
    try:
        for appended in _erase_events(workspace, note):
            said += appended.events
    except SprintlogError:
        if not said:
            place.unlink(missing_ok=True)
        raise
    for stream in workspace.log.streams():
        workspace.log.checkpoints.forget(stream)
        forget_readings(workspace.log, stream)
    remove_copies(workspace, {name: 0 for name, _ in COPIES})
    needle = places.Needle(*note.texts) if note.texts else None
    _rewrite_state_files(workspace, needle, {stream for stream, _ in note.events})
    gone: list[PlaceOfText] = []
    left: list[UnreachedPlace] = []
    rewritten: dict[str, str] = {}
    if needle is not None:
        rewritten = _rewrite_snapshots(workspace, needle, note)
        for entry in BESIDE_EVENTS:
            erased = entry.erase(workspace, needle)
            gone += [PlaceOfText(entry.name, where) for where in erased.gone]
            why = "" if erased.why is None else erased.why.value
            left += [UnreachedPlace(where, why, None) for where in erased.left]
    workspace.log.give_back()
    if os.path.exists(f"{workspace.location.database}-erasing"):
        name = workspace.location.database.name
        left.append(UnreachedPlace(name, places.Why.IN_USE.value, None))
    place.unlink(missing_ok=True)
    return RedactionDone(
        erased=len(note.events),
        places=gone,
        snapshots=rewritten,
        unreached=left,
        events=[*map(reference, said)],
    )


def _erase_events(workspace: Workspace, note: Note) -> Iterator[Appended]:
    meant = [*_meant(workspace, note)]
    return erase_words(
        workspace.log, meant, reason=note.reason, actor=note.actor, at=note.at
    )


def _rewrite_state_files(
    workspace: Workspace, needle: places.Needle | None, streams: set[str]
) -> None:
    """Rewrite every state file that may contain erased text."""
    sprints, journals = SprintFile(workspace), JournalFile(workspace)
    entry = next(one for one in KEPT_TEXT if isinstance(one, places.TreeFiles))
    is_found = needle is not None and bool(entry.scan(workspace, needle))
    written: set[str | None] = set()
    for name in workspace.sprints():
        if not is_found and sprints.repository.kind.stream(name) not in streams:
            continue
        sprints.rebuild(name)
        _over_imported(sprints, name, needle)
        sprint = workspace.sprint(name)
        written |= {file.refresh(sprint).path for file in files_of_loop(workspace, sprint)}
    if workspace.journal().exists and (is_found or JOURNAL in streams):
        journals.rebuild(JOURNAL)
    if needle is not None:
        # These files are no longer derived from events, such as a report of a loop.
        kept = [path for path in entry.scan(workspace, needle) if path.startswith(LOOPS)]
        places.remove_from_tree(workspace, [path for path in kept if path not in written])


def _over_imported(
    file: ProjectedFile[State], name: str, needle: places.Needle | None
) -> None:
    """If an unchanged imported file contains the text, rewrite it in sprintlog's layout."""
    state = file.repository.current(name)
    path = file.path(state)
    if path is None or needle is None:
        return
    with file.files.lock():
        seen = file.files.look(path)
        if seen.content is not None and needle.is_in(seen.content):
            file.files.write(path, file.render(state), version=state.version)
            file.files.settle(path)


def _rewrite_snapshots(
    workspace: Workspace, needle: places.Needle, note: Note
) -> dict[str, str]:
    """Recreate snapshots without the text, record this, and delete the old snapshots."""
    store = store_of(workspace)
    entry = next(one for one in KEPT_TEXT if isinstance(one, places.Snapshots))
    if not store.exists or not entry.scan(workspace, needle):
        return {}
    change = partial(without_text.without, change=needle.erased_from)
    rewritten: dict[str, str] = {}
    with store.lock():
        known: dict[str, bytes | None] = {}
        for commit in store.snapshots():
            contents = _changed(store, commit, change, known)
            if contents:
                rewritten[commit] = _in_place_of(workspace, store, commit, contents, note)
        forget(workspace, store, rewritten)
        store.drop([*rewritten])
        for cache in store.folder.glob("known-*"):
            cache.unlink(missing_ok=True)
        store.tidy()
    return rewritten


def _changed(
    store: Store, commit: str, change: "partial[bytes]", known: dict[str, bytes | None]
) -> dict[str, bytes]:
    """Return the files in a snapshot that contain the text, with the text removed.

    `known` maps the ids of previously examined files to their changed content, or to None
    if they are unchanged.
    """
    found = {}
    with store.blobs() as blob:
        for path, one in store.read(commit).files.items():
            if one.oid not in known:
                content = blob(one.oid)
                changed = change(content)
                known[one.oid] = None if changed == content else changed
            if (content_without := known[one.oid]) is not None:
                found[path] = content_without
    return found


def _in_place_of(
    workspace: Workspace, store: Store, commit: str, contents: dict[str, bytes], note: Note
) -> str:
    """Replace a snapshot with its redacted version, and record this in each sprint."""
    new = store.aliases().get(commit)
    if new is None:
        new = without_text.rewrite(store, commit, contents).commit
        store.replace(commit, new)
    tree = store.git.run("show", "-s", "--format=%T", new).decode().strip()
    event = SnapshotRewritten(commit, new, tree, len(contents), note.reason)
    for name in workspace.sprints():
        workspace.handle_with(
            name,
            lambda sprint, at: rewrite_snapshot(sprint, event),
            without=_WITHOUT,
            actor=note.actor,
            at=note.at,
        )
    return new


def settle(workspace: Workspace) -> None:
    """Record edits to state files before events are selected by text."""
    for name in workspace.sprints():
        workspace.refresh(name)
    if workspace.journal().exists:
        workspace.refresh_journal()


def note_of(
    events: Sequence[RecordedEvent],
    texts: Sequence[str],
    *,
    reason: str,
    actor: str,
    at: str,
) -> Note:
    """Return the note that is written before a redaction starts."""
    places = [(event.stream, event.version) for event in events]
    return Note(reason, actor, at, places, [*texts])


def unreached(
    workspace: Workspace, events: Sequence[RecordedEvent], needle: places.Needle
) -> list[UnreachedPlace]:
    """Return the places that will still contain the text after the events are erased."""
    found = [
        *_of_log(workspace, {event.position for event in events}, needle),
        *_of_other_trees(workspace),
        *_of_repository(workspace, needle),
        *_of_copies(workspace),
    ]
    return found[:SHOWN_MAX]


def _of_log(
    workspace: Workspace, erased: set[int], needle: places.Needle
) -> Iterator[UnreachedPlace]:
    for event in workspace.log.read():
        where = f"position {event.position}"
        for name in HEADER:
            value = getattr(event, name)
            if isinstance(value, str) and needle.is_in(value.encode()):
                why = f"its {name} cannot be changed: the hash chain depends on it"
                yield UnreachedPlace(f"{where}, {name}", why, "sprintlog init --here")
        payload = event.payload or b""
        if event.position in erased:
            if needle.is_in(remainder(event)):
                yield UnreachedPlace(where, REFERRED_TO, None)
        elif needle.is_in(payload):
            if event.stream == STREAM:
                why = "records of erasures are never erased"
                yield UnreachedPlace(where, why, None)
            elif event.salt is None:
                yield UnreachedPlace(where, REFERRED_TO, None)
            else:
                command = f"sprintlog redact {event.position} --reason TEXT"
                why = "it contains the text but was not selected"
                yield UnreachedPlace(where, why, command)


def _of_other_trees(workspace: Workspace) -> Iterator[UnreachedPlace]:
    """Yield state files in the log's other work trees, where they must be rewritten."""
    for name in workspace.sprints():
        sprint = workspace.sprint(name)
        place = sprint.plan.place
        if place is not None and not workspace.tree.has(sprint.knowledge.own_tree):
            tree = place.worktree or "the main one"
            yield UnreachedPlace(
                f"{place.path} in another work tree: {tree}",
                "it is written there",
                f"sprintlog rebuild --sprint {name}",
            )


def _of_repository(workspace: Workspace, needle: places.Needle) -> Iterator[UnreachedPlace]:
    """Yield the commits in the user's own repository that added the text."""
    repository = repository_around(workspace.location.root)
    if repository is None:
        return
    try:
        with borrowed(repository, workspace.environment) as git:
            commits = dict.fromkeys(
                line
                for oid in [*without_text.objects_holding(git, needle.forms)][:OBJECTS_MAX]
                for line in git.read("log", "--all", "--format=%H", f"--find-object={oid}")
                .decode()
                .split()
            )
    except (SprintlogError, OSError):
        yield UnreachedPlace("the repository", "git failed", "git log --all -S TEXT")
        return
    for commit in [*commits][:COMMITS_MAX]:
        why = "it contains the text; pushed commits also exist elsewhere"
        command = "git filter-repo --replace-text FILE"
        yield UnreachedPlace(f"commit {commit[:12]}", why, command)


def _of_copies(workspace: Workspace) -> Iterator[UnreachedPlace]:
    log: Any = workspace.log
    tables_of: Callable[[], list[str]] = getattr(log, "tables_of_litestream", list)
    if tables_of():
        yield UnreachedPlace(
            "replicas by Litestream",
            "a replica keeps the old text until it is created again",
            f"litestream snapshots {workspace.location.database}",
        )
    if url := workspace.setting("snapshot.remote"):
        yield UnreachedPlace(
            f"snapshots at {url}",
            "the replaced snapshots have no name there any more, and remain until they are "
            "pruned; other machines have their own copies",
            "git prune",
        )
