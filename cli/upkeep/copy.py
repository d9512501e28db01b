"""The `sprintlog store copy` command, which copies missing events to another store."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import urandom
from pathlib import Path

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.log.port import Log, Wait
from sprintlog.engine.log.stores import create_log, is_extension, is_served, open_log
from sprintlog.engine.service.place.location import DATABASE, HIDDEN, check_named, find
from sprintlog.engine.service.place.trust import check_trusted, safe_list
from sprintlog.engine.service.streams.soundness import still_said
from sprintlog.projections.health.exchange import Carried, copy_export, copy_log
from sprintlog.projections.views.log import LogCopied
from sprintlog.projections.workspace import wall_clock

from .. import typed
from ..context import with_json
from ..output import counted, counting, print_answer, progress

_SQLITE = b"SQLite format 3\0"


@typed.command("copy")
@typed.argument("source", metavar="FROM")
@typed.argument("target", metavar="TO")
@with_json
def command(source: str, target: str, as_json: bool) -> None:
    """Copy a log to another store; positions, ids, keys and hashes do not change.

    Each store is a postgresql:// address, a folder with a log, a log file, or an address of
    an extension's store; FROM may be an export. TO is created if it is missing: a new
    folder with the log in .sprintlog, or a log on a server. The chain is checked during the
    copy.

    The content of TO must be the beginning of FROM, and only the rest is copied. The same
    command therefore continues an interrupted copy, and later adds new events. If events in
    FROM were erased after an earlier copy, this is reported; copy to a new TO.

    Examples: sprintlog store copy . 'postgresql://db.example/work?log=auth'

    sprintlog store copy 'postgresql://db.example/work?log=auth' ../auth-copy
    """
    with _target(target) as log:
        done = _copied(source, log)
        said = still_said(log)
    if said:
        raise RefusedError(
            f"{target} is up to date, but still contains the text of "
            f"{counted(said, 'event')} that {source} has since erased",
            hint="copy the log to a new place, and remove this copy",
            file=target,
        )
    head = done.head.hash.hex()
    answer = LogCopied(target, done.events, position=done.head.position, head=head)
    line = f"{target}: {counted(done.events, 'event')} copied, head {head[:16]}"
    print_answer(answer, [line], as_json=as_json)


def _copied(source: str, target: Log) -> Carried:
    said = counting("events copied")
    if not is_served(source) and (path := Path(source)).is_file():
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                file.seek(0)
                return copy_export(file, target, file=source, progress=said)
    with _opened(source) as log:
        return copy_log(log, target, progress=said)


@contextmanager
def _target(named: str) -> Iterator[Log]:
    try:
        with _opened(named) as log:
            yield log
            return
    except NotFoundError:
        if not is_served(named) and Path(named).exists():
            raise RefusedError(
                f"{named} exists but contains no log",
                hint="specify a new folder or a folder that contains a log",
                file=named,
            ) from None
    is_elsewhere = is_served(named) or _is_of_extension(named)
    url = named if is_elsewhere else f"sqlite:{Path(named).absolute() / HIDDEN / DATABASE}"
    made = create_log(url, clock=wall_clock, entropy=urandom, wait=Wait(say=progress))
    with closing(made) as log:
        yield log


def _is_of_extension(named: str) -> bool:
    """Return whether an address refers to an extension's store rather than a file."""
    scheme, colon, _ = named.partition(":")
    return bool(colon) and is_extension(scheme) and not Path(named).exists()


@contextmanager
def _opened(named: str) -> Iterator[Log]:
    url, beside = named, None
    if is_served(named):
        check_named(named)
    elif _is_of_extension(named):
        pass
    elif Path(named).is_dir():
        url, beside = _in_folder(Path(named).absolute())
    elif not Path(named).exists():
        raise NotFoundError(f"there is no log at {named}", file=named)
    else:
        url = f"sqlite:{Path(named).absolute()}"
    wait = Wait(say=progress)
    found = open_log(url, clock=wall_clock, entropy=urandom, wait=wait, beside=beside)
    with closing(found) as log:
        yield log


def _in_folder(folder: Path) -> tuple[str, Path]:
    """Return the address and folder of the log in a folder or work tree."""
    if (folder / DATABASE).exists():
        return f"sqlite:{folder / DATABASE}", folder
    place = find(folder)
    if folder not in (place.root, place.folder):
        raise NotFoundError(f"there is no log in {folder}", file=str(folder))
    check_trusted(place, safe=safe_list())
    return place.url, place.folder
