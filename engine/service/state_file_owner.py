"""The owners of state file paths, and the selection of a sprint by its path."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from ..errors import NotFoundError, RefusedError
from ..sprint.events import Place
from ..sprint.state.sprint import Sprint
from ..sprint.state.words import COMPLETED
from .place.trees import shown_tree
from .port import Service
from .streams.catalogue import sprint_of, sprint_stream


def holder(service: Service, place: Place) -> str | None:
    """Return the sprint whose file is at a path in this work tree.

    An unfinished sprint takes precedence; otherwise, the sprint that was finished last is
    returned.
    """
    sprints = map(service.sprint, service.sprints())
    return max(_holders(service, place, sprints), default=_NOBODY).sprint_id or None


class _Holder(NamedTuple):
    """A sprint whose file is at a path; instances are ordered by precedence."""

    is_unfinished: bool
    completed_at: str
    sprint_id: str


_NOBODY = _Holder(False, "", "")


def _holders(
    service: Service, place: Place, sprints: Iterable[Sprint]
) -> Iterator[_Holder]:
    """Yield the sprints whose file is at a path; the greatest item owns the path."""
    tree, is_here = service.tree, place.worktree in service.location.names
    for sprint in sprints:
        plan = sprint.plan
        if plan.place is None or plan.place.path != place.path:
            continue
        if tree.has(sprint.knowledge.own_tree) if is_here else plan.place == place:
            yield _Holder(plan.status != COMPLETED, str(plan.completed_at or ""), sprint.id)


def check_loop(service: Service, sprint: Sprint, loop_id: str) -> None:
    """Raise `RefusedError` if another sprint has the loop id and owns its files."""
    if _loop_of(sprint) == loop_id and sprint.knowledge.tracker.baseline is not None:
        return
    if (holder := loop_holder(service, loop_id, besides=sprint.id)) is not None:
        raise RefusedError(
            f"loop {loop_id} belongs to sprint {holder}: two sprints would overwrite each "
            "other's files",
            hint=f"give this loop a different id, such as `--loop-id {loop_id}-2`",
            field="loop_id",
            sprint=holder,
        )


def loop_holder(service: Service, loop_id: str, *, besides: str = "") -> str | None:
    """Return the sprint, other than `besides`, whose loop has the given id."""
    others = (name for name in service.sprints() if name != besides)
    return next((x for x in others if _loop_of(service.sprint(x)) == loop_id), None)


def _loop_of(sprint: Sprint) -> str:
    baseline = sprint.knowledge.tracker.baseline
    return (baseline.loop_id if baseline is not None else None) or sprint.id


def free_place(service: Service, sprint: Sprint, place: Place) -> None:
    """Free a path for a sprint; raise `RefusedError` if an unfinished sprint occupies it.

    If a finished sprint left its file there, the file is moved to the log's folder. The
    decision is based on a single read: the given state of this sprint, and the current
    state of every other sprint.
    """
    others = [service.sprint(name) for name in service.sprints() if name != sprint.id]
    other = max(_holders(service, place, others), default=_NOBODY)
    if other.is_unfinished:
        own = "choose another folder for this sprint with --sprint-dir"
        # An existing sprint already has a path, so another folder cannot be chosen.
        free = f"run `sprintlog sprint complete --sprint {other.sprint_id}` to release it"
        raise RefusedError(
            f"{place.path} belongs to sprint {other.sprint_id}, which is not finished",
            hint=free if sprint.exists else own,
            file=place.path,
            sprint=other.sprint_id,
        )
    before = max([other, *_holders(service, place, [sprint])])
    if before.sprint_id in ("", sprint.id):
        return
    if place.worktree in service.location.names:
        service.state_files.of_sprint().refresh(service.sprint(before.sprint_id))
        service.state_files.hand_over(place.path, of=before.sprint_id)


def choose(service: Service, sprint_id: str | None) -> str:
    """Return the sprint that a command refers to: the named sprint, or one found here.

    By default, this is the only unfinished sprint, or the latest sprint if all are
    finished. If several sprints are unfinished, it is the sprint whose file is in the
    current folder or, failing that, in the nearest folder above it. Raise `NotFoundError`
    if there is no sprint, and `RefusedError` listing the sprints if the choice is
    ambiguous.
    """
    if sprint_id is not None:
        if not service.log.version(sprint_stream(sprint_id)):
            # Imported here: the sprint nearly always exists.
            from shlex import quote

            raise NotFoundError(
                f"there is no sprint {sprint_id}",
                hint="run `sprintlog sprint list` to list the sprints, or "
                f"`sprintlog sprint create {quote(sprint_id)}` to create it for your loop",
                unknown=(sprint_id, service.sprints()),
                sprint=sprint_id,
            )
        return sprint_id
    sprints, tree = service.sprints(), service.tree
    if not sprints:
        raise NotFoundError(
            "there is no sprint in this log yet",
            hint="to create one, run `sprintlog goal set TEXT`, `compile`, `sprint create "
            "ID --plan FILE` or `import progress FILE`",
        )

    def is_own(name: str) -> bool:
        return tree.has(service.sprint(name).knowledge.own_tree)

    # If there is only one sprint, it is chosen regardless of its status.
    names = [
        name
        for name, version in sprints.items()
        if (len(sprints) == 1 or service.status_of(name, version) != COMPLETED)
        and is_own(name)
    ]
    if not names and (latest := next(filter(is_own, _newest_first(service)), None)):
        return latest
    if not names:
        raise _of_others(service, sprints)
    here, root = service.stands_in, service.location.root
    if len(names) > 1 and here is not None and here.is_relative_to(root):
        found = _nearest(service, names, here.relative_to(root).parts)
        names = found if len(found) == 1 else names
    if len(names) == 1:
        return names[0]
    raise RefusedError(
        f"more than one sprint is unfinished: {', '.join(names[:20])}",
        hint="specify one with --sprint or SPRINTLOG_SPRINT, or go to its folder",
        allowed=names,
    )


def _newest_first(service: Service) -> Iterator[str]:
    """Yield the sprints in the log, the most recently changed sprint first."""
    seen, end, size = set[str](), service.log.last_position(), 64
    while end > 0:
        start = max(end - size, 0)
        for event in reversed([*service.log.read(after=start, until=end)]):
            if (name := sprint_of(event.stream)) is not None and name not in seen:
                seen.add(name)
                yield name
        end, size = start, 2 * size


def _of_others(service: Service, sprints: Collection[str]) -> NotFoundError:
    """Return the error for a work tree without sprints; it names a sprint elsewhere."""
    # Imported here: most logs have a single work tree.
    from shlex import quote

    name = next(_newest_first(service), next(iter(sprints)))
    where = shown_tree(service.location, service.sprint(name).knowledge.own_tree)
    more = f", and {len(sprints) - 1} more" if len(sprints) > 1 else ""
    is_race = any(stream.startswith("race/") for stream in service.log.streams())
    race = "run `sprintlog race show` to see the race, " if is_race else ""
    return NotFoundError(
        f"this work tree has no sprint: sprint {name} belongs to {where}{more}",
        hint=f"{race}run `sprintlog sprint create ID` with --goal or --plan to create one "
        f"here, or use that one with `--sprint {quote(name)}`",
        sprint=name,
    )


def _nearest(service: Service, names: list[str], here: tuple[str, ...]) -> list[str]:
    """Return the sprints whose file is in the given folder or the nearest one above it.

    A finished sprint whose path now belongs to another sprint is excluded.
    """
    found: dict[int, list[str]] = {}
    for name in names:
        if (place := service.sprint(name).plan.place) is None:
            continue
        folder = tuple(place.path.split("/")[:-1])
        if here[: len(folder)] == folder and holder(service, place) == name:
            found.setdefault(len(folder), []).append(name)
    return found[max(found)] if found else []
