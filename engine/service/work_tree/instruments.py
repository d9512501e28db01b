"""The files that decide on measurements: saved, and compared with the accepted ones."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from ... import command, hashes
from ...adapters.snapshots.entries import TreeEntry
from ...adapters.snapshots.listing import matcher
from ...adapters.snapshots.store import Store
from ...errors import SprintlogError
from ...judging.events import IterationMeasured, MeasurementChanged
from ...judging.instruments import compare, is_instrument, scripts_in, words_in
from ...log.event import Event
from ...sprint.events.snapshots import OF_INSTRUMENTS
from ...sprint.iterations.snapshots import TakeSnapshot
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import Sprint
from ..port import Decide, Envelope, Service, mention
from .snapshot import MEBIBYTE, NAMED_MAX, kept_files, shown, store_of

SETTING = "measure.instruments"
FILE_BYTES_MAX = 4 * MEBIBYTE
"""The size above which only the digests of a file are compared."""


def save_instruments(
    workspace: Service,
    sprint_id: str,
    commands: Iterable[str],
    *,
    envelope: Envelope,
    is_late: Callable[[], bool] = bool,
) -> MeasurementChanged | None:
    """Save the files that decide on a measurement by these commands, if they changed.

    Return how they differ from the accepted files, without the iteration's number; None if
    they do not. Nothing is saved if `is_late`, which is called after the files are read,
    returns true. If no file is accepted, a failure is only a warning.
    """
    commands = tuple(commands)
    scripts, own = scripts_in(commands), matcher(workspace.setting(SETTING) or ())
    compared: set[str] = set()

    def is_wanted(path: str) -> bool:
        is_own = bool(own and own.fullmatch(path))
        return is_own or path in compared or is_instrument(path, scripts)

    known = workspace.sprint(sprint_id).knowledge
    accepted, last = known.accepted_instruments, known.instruments[-1:]
    store = store_of(workspace)

    def decide(sprint: Sprint, at: str) -> list[Event]:
        saved = replace(event_for(sprint), purpose=OF_INSTRUMENTS)
        return TakeSnapshot(saved).decide(sprint, at)

    try:
        if accepted is not None:
            # Without a command, a measurement does not name its script.
            compared.update(store.read(accepted.snapshot).files)
        tree = store.tree_of(last[0].snapshot) if last else ""
        held = kept_files(workspace, sprint_id, last=tree, only=is_wanted)
        with held as (taken, event_for):
            if is_late() or not (last or taken.files):
                return None
            if taken.tree != tree:
                workspace.handle_with(
                    sprint_id, decide, without={"refuse_edits"}, **envelope
                )
        if accepted is None:
            return None
        now = taken.commit if taken.tree != tree else last[0].snapshot
        return _compared(store, accepted, now, words_in(commands))
    except (SprintlogError, OSError) as error:
        if accepted is not None:
            return MeasurementChanged(0, accepted.iteration, "", problem=str(error))
        mention(workspace, f"the tests are not compared later: {error}")
        return None


def with_instruments(decide: Decide, changed: MeasurementChanged | None) -> Decide:
    """Return a decision that also records how a measured iteration changed its measure."""

    def decide_both(sprint: Sprint, at: str) -> list[Event]:
        found: list[Event] = []
        for event in command.decided(decide, sprint, at):
            if isinstance(event, IterationMeasured) and changed is not None:
                found.append(replace(changed, number=event.number))
            found.append(event)
        return found

    return decide if changed is None else decide_both


def _compared(
    store: Store, accepted: HeldSnapshot, now: str, words: frozenset[str]
) -> MeasurementChanged | None:
    """Return the differences between two snapshots of instruments, or None."""
    old, new = store.read(accepted.snapshot).files, store.read(now).files
    oids = [{path: entry.oid for path, entry in side.items()} for side in (old, new)]
    differ = {path for path, _ in oids[0].items() ^ oids[1].items()}
    with store.blobs() as blob:
        before, after = (
            {path: _text(entry, blob) for path, entry in side.items() if path in differ}
            for side in (old, new)
        )
    if not (found := compare(before, after, words)):
        return None
    lines = "".join(f"{shown(path)} {entry.oid}\n" for path, entry in sorted(new.items()))
    files = tuple(replace(one, path=shown(one.path)) for one in found[:NAMED_MAX])
    digest = hashes.sha256(lines.encode()).hexdigest()
    return MeasurementChanged(0, accepted.iteration, digest, files, len(found))


def _text(entry: TreeEntry, blob: Callable[[str], bytes]) -> bytes:
    return blob(entry.oid) if entry.size <= FILE_BYTES_MAX else entry.oid.encode()
