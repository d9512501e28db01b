"""The `sprintlog import prd` command: import of task lists and their progress.txt."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.journal.progress_text import Parsed, TakeText, parse_text
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.imported_documents import losses
from sprintlog.engine.sprint.state.tree import Tree
from sprintlog.projections.workspace import Workspace

from ..importers.markdown import folder_of
from ..importers.task_lists import TaskList, first_of, read_task_lists
from ..intake.files import read_text
from ..intake.foreign_files import Unread, bytes_of, kept_of, name_from
from ..intake.versions import FileText, Texts, committed_texts
from ..output import hint, warn
from ..places import place_in
from ..record import Recording, refresh, refresh_stream
from .import_record import Import, known_sources, warn_of_cut


class ListVersion(NamedTuple):
    """One version of a task list."""

    source: str
    """The name of the version in the log; versions with the same name are the same."""
    tasks: TaskList
    at: str | None = None
    committed_at: str | None = None


class ListsHistory(NamedTuple):
    """The versions of the lists in a file, oldest first."""

    versions: list[ListVersion]
    unread: list[Unread]
    is_cut: bool = False
    """Whether the repository lacks the older versions."""


def read_history(file: Path, *, of_git: bool) -> ListsHistory:
    """Return a file's current version, preceded by its committed versions if `of_git`.

    A version without a task list is reported and skipped. Raise `NotFoundError` if no
    version has a task list. Unread parts of the newest version are reported as well.
    """
    at_hand = bytes_of(file) if file.is_file() or not of_git else None
    given = Texts([FileText(str(file), lambda: at_hand or b"")])
    versions: list[ListVersion] = []
    left_out: list[Unread] = []
    newest: Sequence[Unread] = ()
    with (
        committed_texts(file, at_hand, _is_same) if of_git else nullcontext(given) as found
    ):
        for text in found.texts:
            content = b""
            try:
                content = text.read()
                read = read_task_lists(content, file=text.name)
            except InvalidInputError as error:
                if text.commit is None:
                    raise
                left_out.append(Unread(text.name, 0, error.message, kept_of(content)))
                continue
            source = text.name if text.commit else f"{file.name}@{read.digest[:12]}"
            moments = text.moments()
            versions += [ListVersion(source, one, *moments) for one in read.lists]
            newest = read.unread
    if not versions:
        raise NotFoundError(f"{file}: git has no version with a task list", file=str(file))
    return ListsHistory(versions, [*left_out, *newest], found.is_cut)


def _is_same(older: bytes, newer: bytes) -> bool:
    """Return whether two task lists share an item; used to detect a renamed file."""
    try:
        return bool(_texts(older) & _texts(newer))
    except InvalidInputError:
        return False


def _texts(text: bytes) -> set[str]:
    lists = read_task_lists(text, file="").lists
    return {said for one in lists if one.document for said in leaf_texts(one.document)}


TEXT = "progress.txt"
SHARED_MIN = 0.5
"""The share of common items, relative to the shorter plan, from which two plans belong to
the same feature."""
Data = dict[str, Any]
Features = dict[str, list[ListVersion]]
"""The versions of the plan of each sprint, oldest first."""


def take_prd(
    run: Import, *, of_git: bool, text: Path | None, sprint_dir: Path | None
) -> None:
    """Record a file's task lists and the adjacent progress.txt, after reading both."""
    history = read_history(run.file, of_git=of_git)
    if history.is_cut:
        warn_of_cut(run.file)
    # Loops store progress.txt next to their list.
    beside = run.file.parent / TEXT
    text_file = text or (beside if beside.is_file() else None)
    said = read_text(str(text_file)) if text_file else ""
    parsed = parse_text(said)
    features = _features(run, history.versions)
    place = place_in(run.workspace.location, sprint_dir) if sprint_dir else None
    recorded = [_record(run, *one, place) for one in features.items()]
    taken = _take_text(run, said) if said.strip() else 0
    for (sprint_id, versions), new in zip(features.items(), recorded, strict=True):
        newest = versions[-1].tasks
        found = {newest.noun: newest.total, "passed": newest.passed}
        if of_git:
            found["version"] = len(versions)
        unread: list[Unread] = []
        if sprint_id == [*features][-1]:
            unread = [*history.unread, *_unread(parsed, text_file)]
            new += taken
            if text_file:
                found["entry"] = len(parsed.entries)
        run.tell(sprint_id, found, new, unread)
        if newest.document:
            refresh(run.workspace, sprint_id)
    if taken:
        refresh_stream(run.workspace, JOURNAL)


def _take_text(run: Recording, text: str) -> int:
    """Import the text as `journal migrate` does; return the number of recorded events.

    If another tool's file is at the journal's path, only this part of the import fails.
    """
    try:
        return len(run.handle_on_journal(TakeText(text), {"text": text}).events)
    except RefusedError as error:
        warn(f"the entries of {TEXT} were not imported: {error.message}")
        hint(error.hint)
        return 0


def _features(run: Import, versions: Sequence[ListVersion]) -> Features:
    """Return the versions of each sprint; each feature is one sprint.

    Raise `RefusedError` if several features would share a sprint, or if the sprint exists
    but was not imported.
    """
    workspace, sprint_id = run.workspace, run.options.sprint_id
    found: Features = {}
    empty: Features = {}
    for version in versions:
        document = version.tasks.document
        names = _names(version.tasks, found, run.file, workspace.sprints())
        if document is None:
            # The list is empty between two features.
            empty = {names[-1]: [version]}
            continue
        for name in _free(names):
            newest = _newest(workspace, name, found)
            if newest is None or _is_same_feature(newest, document):
                found.setdefault(name, []).append(version)
                break
    found = found or empty
    run.check_name(found)
    if sprint_id is not None:
        found = dict(zip([sprint_id], found.values(), strict=True))
    for name in {*found} & {*workspace.sprints()}:
        if not known_sources(workspace, name).every:
            raise RefusedError(
                f"sprint {name} already exists and was not imported",
                hint="specify another sprint with --sprint",
                sprint=name,
            )
    return found


def _names(
    one: TaskList, found: Features, file: Path, sprints: Collection[str]
) -> list[str]:
    """Return a list's candidate sprint names: known sprints, then the list's own name."""
    folder = folder_of(file)
    is_tagged = one.document is not None and "tag" in one.document
    names = [] if is_tagged else [*reversed(found)]
    # Older sprintlog versions named such a list after its folder only.
    legacy = [] if one.names else [x for x in (name_from(folder),) if x in sprints]
    by_file = f"{folder}-{file.stem}".replace("_", "-")
    return [*names, *legacy, name_from(*one.names, by_file)]


def _free(names: list[str]) -> Iterator[str]:
    """Yield the names, then the last name with the suffix 2, 3 and so on."""
    yield from names
    yield from (f"{names[-1]}-{number}" for number in count(2))


def _newest(workspace: Workspace, name: str, found: Features) -> Data | None:
    """Return the newest document of an imported sprint, or None if there is no document."""
    if name in found:
        return found[name][-1].tasks.document
    if name not in workspace.sprints() or not known_sources(workspace, name).every:
        return None
    return workspace.sprint(name).document


def _is_same_feature(older: Data, newer: Data) -> bool:
    """Return whether a plan is a later version of another plan rather than a new feature.

    Items are compared by their titles. A file that is reused for the next feature drops
    finished items, and usually names another branch.
    """
    before, after = leaf_texts(older), leaf_texts(newer)
    shared = len(before & after) / (min(len(before), len(after)) or 1)
    was, is_now = first_of(older, "branch"), first_of(newer, "branch")
    is_lost = bool(losses(older, newer))
    if not shared:
        return bool(was) and was == is_now and not is_lost
    if was and is_now and was != is_now:
        return shared >= SHARED_MIN and not is_lost
    return shared >= SHARED_MIN or not is_lost


def _record(
    run: Import, sprint_id: str, versions: list[ListVersion], place: Place | None
) -> int:
    """Record the new versions of a sprint; return the number of recorded events."""
    recorded = 0
    known = known_sources(run.workspace, sprint_id).in_force
    for source, tasks, at, committed_at in versions:
        # A committed version is identified by its commit; the current file may be an older
        # version.
        is_known = source in (known if committed_at else known[-1:])
        if is_known or tasks.document is None:
            continue
        document = {"sprint-id": sprint_id, **tasks.document}
        command = ImportDocument(document, source, place, committed_at, with_facts=True)
        events = run.record_fact(sprint_id, command, at=at).events
        recorded += len(events)
        known += [source] if events else []
    return recorded


def _unread(parsed: Parsed, text_file: Path | None) -> list[Unread]:
    problem = "is neither a dated entry nor `Codebase Patterns`"
    return [Unread(str(text_file), 0, problem, heading) for heading in parsed.unread]


def leaf_texts(document: Data) -> set[str]:
    """Return stable names for the leaves: unique titles, otherwise prompts."""
    leaves = [node.data for node in Tree(document).leaves]
    titles = [first_of(one, "title").casefold() for one in leaves]
    times = Counter(titles)
    named = zip(titles, leaves, strict=True)
    return {title if times[title] == 1 else str(one.get("prompt")) for title, one in named}
