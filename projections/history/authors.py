"""The files that an iteration changed, and files restored or changed outside it."""

from itertools import groupby
from typing import NamedTuple

from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.service.work_tree.own_paths import own_paths
from sprintlog.engine.service.work_tree.shared_snapshots import bring
from sprintlog.engine.service.work_tree.snapshot import compare, patch, shown, store_of
from sprintlog.engine.sprint.iterations.snapshots import nothing_before
from sprintlog.engine.sprint.state.sprint import Sprint

from ..workspace import Workspace
from . import line_moments
from .committed import CommitAnswer, commits_seen

OUT, ROLLBACK = line_moments.written_by(frozenset()), "rollback"


class WorkStretch(NamedTuple):
    """The time between two points in a work tree's history, and who changed files in it."""

    by: str
    """A value returned by `written_by`, or `rollback`."""
    writers: tuple[line_moments.Writer, ...]
    first: int
    """The number of the moment before the stretch."""
    last: int

    @property
    def is_own(self) -> bool:
        """Return whether the iteration itself made the changes, as far as is known."""
        return self.by not in (OUT, ROLLBACK)


class AuthoredFile(NamedTuple):
    """A file that changed, and who changed it."""

    path: str
    how: str
    by: str
    counts: tuple[int, int] | None = None
    """The numbers of added and removed lines, if they were counted."""


class IterationFiles(NamedTuple):
    """The files changed in an iteration, or outside any iteration just before it."""

    files: list[AuthoredFile]
    others: tuple[str, ...]
    """Overlapping iterations that may have changed some of the files."""
    commits: list[CommitAnswer]
    """The newest commits made outside any iteration before this one."""
    patch: str = ""
    """The lines that the iteration changed."""


def stretches(
    moments: line_moments.Moments, writer: line_moments.Writer
) -> list[WorkStretch]:
    """Return the stretches of an iteration, and those of outside work just before it."""
    own = moments.numbers.get(writer)
    if not own:
        return []
    since = own[0]
    while since and _by(moments, since - 1) in (OUT, ROLLBACK):
        since -= 1
    told = [(_by(moments, n), n) for n in range(max(since, 1), own[-1] + 1)]
    found = []
    for _, group in groupby(told, lambda one: (one[0], moments.all[one[1]].writers)):
        numbers = [n for _, n in group]
        by, writers = _by(moments, numbers[0]), moments.all[numbers[0]].writers
        if writer in writers or by == (OUT if numbers[0] < own[0] else ROLLBACK):
            others = tuple(sorted(writers - {line_moments.OUTSIDE, writer}))
            found.append(WorkStretch(by, others, numbers[0] - 1, numbers[-1]))
    return found


def _by(moments: line_moments.Moments, number: int) -> str:
    moment = moments.all[number]
    return (
        ROLLBACK if moment.restore is not None else line_moments.written_by(moment.writers)
    )


def files_of(
    workspace: Workspace,
    sprint: Sprint,
    number: int,
    paths: tuple[str, ...] = (),
    *,
    with_patch: bool = False,
    moments: line_moments.Moments | None = None,
) -> IterationFiles:
    """Return the files changed in an iteration, or outside any iteration before it.

    Raise `NotFoundError` if the files from the iteration's end or from before its start are
    not stored.
    """
    moments = moments or line_moments.moments_of(workspace)
    found = stretches(moments, line_moments.writer_of(sprint, number))
    store, own = store_of(workspace), own_paths(workspace)
    files: list[AuthoredFile] = []
    others: list[line_moments.Writer] = []
    commits: list[CommitAnswer] = []
    lines = ""
    for one in found:
        ends = [moments.snapshot(n) for n in (one.first, one.last)]
        for end in ends:
            bring(workspace, store, end)
        states = (moments.state(store, n) for n in (one.first, one.last))
        changed = compare(*states, paths=paths, own=own)
        files += [AuthoredFile(shown(x.path), x.how, one.by) for x in changed]
        if one.by == OUT:
            commits += _commits(workspace, moments, one)
        elif one.is_own:
            others += one.writers
            lines += patch(store, ends[0], ends[1], paths, own) if with_patch else ""
    if not any(one.is_own for one in found):
        raise nothing_before(sprint, number)
    names = (
        str(one.number) if one.sprint == sprint.id else f"{one.sprint}:{one.number}"
        for one in others
    )
    return IterationFiles(
        list(dict.fromkeys(files)), tuple(dict.fromkeys(names)), commits, lines
    )


def _commits(
    workspace: Workspace, moments: line_moments.Moments, one: WorkStretch
) -> list[CommitAnswer]:
    """Return the commits made during a stretch, if commits were recorded for it."""
    # A restore does not state the commit that was checked out.
    seen = [moment.head for moment in moments.all[: one.first + 1]]
    before = next((head for head in reversed(seen) if head is not None), None)
    after = moments.all[one.last].head
    repository = repository_around(workspace.location.root)
    if repository is None or not after or before in (None, after):
        return []
    try:
        with borrowed(repository, workspace.environment) as git:
            return commits_seen(git, after, *([f"^{before}"] if before else []))
    except RefusedError:
        return []  # the commits were rewritten in the meantime
