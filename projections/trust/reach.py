"""The copies that a redaction cannot reach, each with a remedy."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.adapters.snapshots.without_text import objects_holding
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.erasures import STREAM
from sprintlog.engine.service.erasure import remainder

from ..health.text_places import Needle
from ..views.log import UnreachedPlace
from ..workspace import Workspace

HEADER = ("stream", "key", "actor", "correlation_id", "causation_id", "type")
SHOWN_MAX = 100
OBJECTS_MAX = 20
COMMITS_MAX = 10
REFERRED_TO = "an id or a name that other events refer to"
COPIES = (
    "the log does not know where backups, exports and files brought back into other "
    "folders are: remove them, or open each and erase there, too"
)


def unreached(
    workspace: Workspace, events: Sequence[RecordedEvent], needle: Needle
) -> list[UnreachedPlace]:
    """Return what holds a text and stays when some events are erased."""
    found = [
        *_of_log(workspace, {event.position for event in events}, needle),
        *_of_other_trees(workspace),
        *_of_repository(workspace, needle),
        *_of_replicas(workspace),
        *_of_remote(workspace),
    ]
    return found[:SHOWN_MAX]


def _of_log(
    workspace: Workspace, erased: set[int], needle: Needle
) -> Iterator[UnreachedPlace]:
    for event in workspace.log.read():
        where = f"position {event.position}"
        for name in HEADER:
            value = getattr(event, name)
            if isinstance(value, str) and needle.is_in(value.encode()):
                why = f"its {name} cannot be changed: the chain is made of it"
                yield UnreachedPlace(f"{where}, {name}", why, "sprintlog init --here")
        payload = event.payload or b""
        if event.position in erased:
            if needle.is_in(remainder(event)):
                yield UnreachedPlace(where, REFERRED_TO, None)
        elif needle.is_in(payload):
            if event.stream == STREAM:
                why = "what says what was erased is never erased"
                yield UnreachedPlace(where, why, None)
            elif event.salt is None:
                yield UnreachedPlace(where, REFERRED_TO, None)
            else:
                command = f"sprintlog redact {event.position} --reason TEXT"
                yield UnreachedPlace(where, "it says the same, and was not chosen", command)


def _of_other_trees(workspace: Workspace) -> Iterator[UnreachedPlace]:
    """Yield the state files in other work trees of the log: they are written there."""
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


def _of_repository(workspace: Workspace, needle: Needle) -> Iterator[UnreachedPlace]:
    """Yield the commits of the person's own repository that brought in the text."""
    repository = repository_around(workspace.location.root)
    if repository is None:
        return
    try:
        with borrowed(repository, workspace.environment) as git:
            oids = [*objects_holding(git, needle.forms)][:OBJECTS_MAX]
            commits = dict.fromkeys(
                line
                for oid in oids
                for line in git.read("log", "--all", "--format=%H", f"--find-object={oid}")
                .decode()
                .split()
            )
    except (SprintlogError, OSError):
        yield UnreachedPlace(
            "the repository", "git could not be asked", "git log --all -S TEXT"
        )
        return
    for commit in [*commits][:COMMITS_MAX]:
        why = "it holds the text; what was pushed is elsewhere, too"
        yield UnreachedPlace(
            f"commit {commit[:12]}", why, "git filter-repo --replace-text FILE"
        )


def _of_replicas(workspace: Workspace) -> Iterator[UnreachedPlace]:
    log: Any = workspace.log
    tables_of: Callable[[], list[str]] = getattr(log, "tables_of_litestream", list)
    if tables_of():
        yield UnreachedPlace(
            "replicas by Litestream",
            "a replica keeps what was before until it is made again",
            f"litestream snapshots {workspace.location.database}",
        )


def _of_remote(workspace: Workspace) -> Iterator[UnreachedPlace]:
    if url := workspace.setting("snapshot.remote"):
        yield UnreachedPlace(
            f"snapshots at {url}",
            "what was made again here has no name there any more, and stays until it is "
            "pruned; other machines have their own",
            "git prune",
        )
