"""The `sprintlog init` command: create a log and suggest imports."""

import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import click
from msgspec.structs import replace

from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.errors import NotFoundError, RefusedError, SprintlogError
from sprintlog.engine.log.stores.postgres.address import parse
from sprintlog.engine.service.place.location import Location, check_named, find
from sprintlog.engine.service.place.trust import safe_list
from sprintlog.projections.views.log import LogPlace, Offer
from sprintlog.projections.workspace import Workspace

from .. import settings, typed
from ..context import environment, here, log_place, with_json
from ..output import counted, print_json, print_text
from .suggestions import look, offers

TAKEN_AT_ONCE = ("state", "plan")
"""The kinds of offers for which `init` prompts on a terminal."""


@typed.command("init")
@typed.flag("--here", "in_folder", help="Create the log in ./.sprintlog, not inside .git.")
@typed.option(
    "--log",
    "address",
    metavar="URL",
    help="Use a log on a server: postgresql://HOST/DATABASE?log=NAME. [SPRINTLOG_LOG]",
)
@typed.flag("--yes", help="Accept the safe suggestions, which record and run nothing.")
@with_json
def command(in_folder: bool, address: str | None, yes: bool, as_json: bool) -> None:
    """Create a log for this work tree and suggest what to import.

    In a git repository the log is stored in the git directory, which `git clean` does not
    touch and all work trees share; otherwise in .sprintlog. An existing log does not
    change. With --log, several machines share one log in PostgreSQL: the first machine
    creates the log, the other machines join it, and the local folder contains only this
    machine's data.

    The command then searches for the state files of loops, agents, tests and CI, and prints
    a suitable command for each. On a terminal it asks; --yes imports each PROGRESS.yaml. It
    runs none of the files found and follows no links.

    Examples: sprintlog init

    sprintlog init --yes --json

    sprintlog init --log 'postgresql://db.example/work?log=auth'
    """
    start, named = log_place()
    address = _address(address)
    shadowed, unused = _log_above(start)
    # A git repository below another log is a separate work tree; other folders are not.
    if shadowed and not (in_folder or named or _is_in_git(start)):
        raise RefusedError(
            f"a log already exists: {shadowed}",
            hint="commands here use it; run `sprintlog init --here` to create another",
            file=shadowed,
        )
    with Workspace.init(
        start, here=in_folder, folder=named, address=address, safe=safe_list()
    ) as workspace:
        location, events = workspace.location, workspace.log.last_position()
    found = suggestions_here(location.root)
    if as_json:
        chosen = [replace(one, taken=yes and one.safe) for one in found]
        print_json(LogPlace(str(location.folder), str(location.root), chosen))
        for one in chosen:
            if one.taken:
                take_offer(one, "--json")
        return
    inside_git = location.folder.parent.name == ".git" or location.worktree
    print_text(_made(location, events))
    if not (inside_git or in_folder or named) and _is_in_git(start):
        print_text(
            "the log is in the work tree: the git directory is not "
            "writable or belongs to another tree"
        )
    if shadowed:
        print_text(f"commands here now use this log instead of {shadowed}")
    if unused:
        print_text(f"the log in a parent folder is not used here: {unused}")
    left = [one for one in found if not _is_answered(one, yes=yes)]
    for one in left:
        print_text(f"found {one.found}: {one.says}")
        if one.command:
            print_text(f"  {one.command}")
    print_text("next: run `sprintlog` to see the state and the next command")


def _address(typed_one: str | None) -> str | None:
    """Return the address of the log's server, if set by an option or a setting."""
    if typed_one is None:
        return settings.log_address()
    check_named(typed_one, field="--log")
    return typed_one


def _made(location: Location, events: int) -> str:
    if location.address is None:
        return f"created an empty log in {location.folder}"
    log = parse(location.address)
    if events:
        return f"joined the log {log.log}, {counted(events, 'event')}: {log.shown}"
    return f"the log {log.log} is empty: {log.shown}"


def suggestions_here(root: Path) -> list[Offer]:
    """Return suggestions for the work tree, with commands to type in the current folder."""
    found = look(root, path=environment().get("PATH", ""))
    up = os.path.relpath(root, here())
    made = offers(found, prefix="" if up == "." else f"{up}/")
    return [_with_history(one, root) for one in made]


def _with_history(offer: Offer, root: Path) -> Offer:
    """Return the offer of a PROGRESS.yaml with its committed versions, if there are any."""
    repository = repository_around(root) if offer.safe else None
    if repository is None or offer.command is None:
        return offer
    path = os.path.relpath(root / offer.found, repository.top)
    with suppress(SprintlogError), borrowed(repository, environment()) as git:
        if len(git.read("log", "-2", "--format=%h", "--", path).split()) > 1:
            command = offer.command.replace(" progress ", " progress --git ")
            says = "a sprint's state, imported with all committed versions"
            return replace(offer, says=says, command=command)
    return offer


def _is_answered(offer: Offer, *, yes: bool) -> bool:
    """Offer a command and run it if accepted; return whether the offer was handled."""
    if yes:
        if offer.safe:
            take_offer(offer)
        return offer.safe
    if offer.kind not in TAKEN_AT_ONCE or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    print_text(f"found {offer.found}: {offer.says}")
    if click.confirm(f"  run `{offer.command}` now?", default=False):
        take_offer(offer)
    return True


def take_offer(offer: Offer, *options: str) -> None:
    """Run an offer's command."""
    assert offer.command is not None
    _, name, *words = shlex.split(offer.command)
    root = click.get_current_context().find_root()
    found = typed.below(root, name)
    assert found is not None
    with found.command.make_context(name, [*words, *options], parent=root) as context:
        found.command.invoke(context)


def _log_above(start: Path) -> tuple[str | None, str | None]:
    """Return the log used in a folder, and any unused log in a parent folder."""
    try:
        place = find(start)
        return str(place.folder if place.is_joined else place.database), None
    except NotFoundError as missing:
        return None, missing.fields.get("unused")


def _is_in_git(folder: Path) -> bool:
    return any((root / ".git").exists() for root in (folder, *folder.parents))
