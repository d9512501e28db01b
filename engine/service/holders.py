"""Whose place is where: which sprint has the one of its file, and who chooses by that."""

from collections.abc import Callable

from ..errors import NotFoundError, RefusedError
from ..sprint.events import Place
from ..sprint.state.words import COMPLETED
from .port import Service
from .streams.catalogue import sprint_stream


def holder(service: Service, place: Place, *, besides: str = "") -> str | None:
    """Return the sprint whose file is at a place, `besides` one of them.

    One that is finished gives the place free for another; of several finished ones
    it is the one that was finished last.
    """
    there = [
        (sprint.plan.status != COMPLETED, str(sprint.plan.completed_at or ""), name)
        for name in service.sprints()
        if name != besides and (sprint := service.sprint(name)).plan.place == place
    ]
    return max(there)[2] if there else None


def free_place(service: Service, sprint_id: str, place: Place) -> None:
    """Make a place free for a sprint; raise `RefusedError` where an unfinished one has it.

    The last file of a finished sprint that was there is kept in the log's folder.
    """
    other = holder(service, place, besides=sprint_id)
    if other is not None and service.sprint(other).plan.status != COMPLETED:
        own = "give this sprint a folder of its own with --sprint-dir"
        # One that was here before has its place: there is nothing to choose.
        free = f"`sprintlog sprint complete --sprint {other}` gives its place free"
        raise RefusedError(
            f"{place.path} is the file of sprint {other}, which is not finished",
            hint=free if sprint_id in service.sprints() else own,
            file=place.path,
            sprint=other,
        )
    before = holder(service, place)
    if before in (None, sprint_id) or place.worktree != service.location.worktree:
        return
    service.state_files.refresh(sprint_stream(str(before)))
    service.state_files.hand_over(place.path, of=str(before))


def choose(
    service: Service,
    sprint_id: str | None,
    stands_in: Callable[[], tuple[str, ...] | None],
) -> str:
    """Return the sprint a command means: the named one, else the only unfinished one.

    Of several the folder that one stands in chooses: the one whose file is there, or
    nearest above. Raise `NotFoundError` when there is none, `RefusedError` listing
    them when nothing chooses.
    """
    if sprint_id is not None:
        if not service.log.version(sprint_stream(sprint_id)):
            # Imported here: nearly always it is there.
            from shlex import quote

            raise NotFoundError(
                f"there is no sprint {sprint_id}",
                hint="`sprintlog sprint list` lists them, `sprintlog sprint create "
                f"{quote(sprint_id)}` makes it for a loop of yours",
                unknown=(sprint_id, service.sprints()),
                sprint=sprint_id,
            )
        return sprint_id
    sprints = service.sprints()
    if len(sprints) == 1:
        return next(iter(sprints))
    unfinished = [
        name
        for name, version in sprints.items()
        if service.status_of(name, version) != COMPLETED
    ]
    if len(unfinished) == 1:
        return unfinished[0]
    if not sprints:
        raise NotFoundError(
            "there is no sprint in this log yet",
            hint="`sprintlog compile`, `sprint create ID --plan FILE` or "
            "`import progress FILE` makes one",
        )
    names = unfinished or list(sprints)
    here = stands_in()
    if here is not None and len(found := _nearest(service, names, here)) == 1:
        return found[0]
    raise RefusedError(
        f"which sprint? {'unfinished' if unfinished else 'all are completed'}: "
        f"{', '.join(names[:20])}",
        hint="name it with --sprint or SPRINTLOG_SPRINT, or go to its folder",
        allowed=names,
    )


def _nearest(service: Service, names: list[str], here: tuple[str, ...]) -> list[str]:
    """Return the sprints whose file is in a folder of the work tree, or nearest above.

    One that is finished and whose place another one took is none of them.
    """
    found: dict[int, list[str]] = {}
    for name in names:
        place = service.sprint(name).plan.place
        if place is None or place.worktree != service.location.worktree:
            continue
        folder = tuple(place.path.split("/")[:-1])
        if here[: len(folder)] == folder and holder(service, place) == name:
            found.setdefault(len(folder), []).append(name)
    return found[max(found)] if found else []
