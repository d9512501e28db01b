"""Copies of measurement reports, stored in the log's folder under their digests.

A copy is written before the event that names it. If the process is killed in between, the
next `store prune` removes the unused copy.
"""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...adapters.replace import replace_file
from ...adapters.reports.report import SeenReport
from ...errors import BusyError
from ...judging import events as f
from ...judging.tracker import BASELINE_NUMBER
from ...log.stores.descriptors import read_whole
from ...masking import mask
from ...sprint.state.sprint import Sprint
from ..port import Service
from ..streams.evaluation import StreamEvents, evaluate

FOLDER = "reports"
LOCK = "reports.lock"
NAME_CHARS_MAX = 200
_DIGEST = re.compile("[0-9a-f]{64}")
SECONDS_SPARED = 60 * 60
"""The age in seconds below which a copy is kept, because an event may soon refer to it."""


def keep_reports(
    workspace: Service, seen: Iterable[SeenReport], *, masks: bool
) -> tuple[f.KeptReport, ...]:
    """Copy masked reports next to the log, once each; return their records for events.

    A measurement is valid even if a report cannot be copied, because its digest is known.
    """
    found = list(seen)
    names: list[str | None] = []
    # The disk may be full, or another process may hold the lock for long.
    with suppress(OSError, BusyError), workspace.log.locks.hold(LOCK):
        for report in found:
            content = report.content
            kept = None if content is None else _keep(workspace, content, masks=masks)
            names.append(kept)
    names += [None] * (len(found) - len(names))
    return tuple(
        f.KeptReport(
            (mask(report.file) if masks else report.file)[:NAME_CHARS_MAX],
            report.size,
            report.sha256,
            name,
        )
        for report, name in zip(found, names, strict=True)
    )


def _keep(workspace: Service, content: bytes, *, masks: bool) -> str:
    if masks:
        text = content.decode("utf-8", "surrogateescape")
        content = mask(text).encode("utf-8", "surrogateescape")
    name = sha256(content).hexdigest()
    folder = workspace.location.folder / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    copy = folder / name
    if copy.exists():
        # Refresh its time, so that a simultaneous pruning spares it.
        copy.touch()
    else:
        replace_file(copy, content, mode=0o600)
    return name


def is_kept(workspace: Service, report: f.KeptReport) -> bool:
    """Return whether the copy of a report exists."""
    copy = _copy_of(workspace, report)
    return copy is not None and copy.is_file()


def content_of(workspace: Service, report: f.KeptReport) -> bytes | None:
    """Return the stored copy of a report; None if it is missing or damaged."""
    if (copy := _copy_of(workspace, report)) is None:
        return None
    try:
        content = read_whole(copy)
    except OSError:
        return None
    return content if sha256(content).hexdigest() == report.kept else None


def _copy_of(workspace: Service, report: f.KeptReport) -> Path | None:
    # The log may be hostile: only a digest may name a file.
    if report.kept is None or not _DIGEST.fullmatch(report.kept):
        return None
    return workspace.location.folder / FOLDER / report.kept


class WithReports(NamedTuple):
    """A measurement and its reports."""

    number: int
    version: int
    reports: tuple[f.KeptReport, ...]


def measurements(workspace: Service, sprint: Sprint) -> Iterator[WithReports]:
    """Yield a sprint's measurements with their reports, including failed measurements."""
    events = StreamEvents(workspace.log, sprint.id, sprint.version)
    for version, _, captured in events.all(f.BaselineCaptured):
        yield WithReports(BASELINE_NUMBER, version, captured.reports)
    for version, _, measured in events.all(f.IterationMeasured):
        yield WithReports(measured.number, version, measured.reports)
    for version, _, failed in events.all(f.MeasurementFailed):
        yield WithReports(failed.number, version, failed.reports)


class OldReports(NamedTuple):
    """Copies of reports that can be deleted."""

    names: tuple[str, ...]
    bytes: int


def old_reports(
    workspace: Service, sprint_id: str, *, keep: int, until: int | None = None
) -> OldReports:
    """Return the copies of reports that are no longer required.

    Copies are retained for the newest measurements, the baseline, the best and the selected
    iteration, the target of a rollback, and all other sprints. With `until`, only copies of
    measurements up to that version are returned.
    """
    folder = workspace.location.folder / FOLDER
    if not folder.is_dir():
        return OldReports((), 0)
    named, every = set[str | None](), set[str | None]()
    for name in workspace.sprints():
        sprint = workspace.sprint(name)
        found = list(measurements(workspace, sprint))
        every |= {report.kept for one in found for report in one.reports}
        if name == sprint_id:
            tracker = sprint.knowledge.tracker
            numbers = {BASELINE_NUMBER, evaluate(workspace.log, sprint).target()}
            numbers |= {x.number for x in (tracker.best, tracker.selected) if x is not None}
            newest = sorted({one.version for one in found})[-keep:]
            last = sprint.version if until is None else until
            found = [
                one
                for one in found
                if one.number in numbers or one.version in newest or one.version > last
            ]
        named |= {report.kept for one in found for report in one.reports}
    spared = time.time() - SECONDS_SPARED
    gone = []
    for copy in sorted(folder.iterdir()):
        is_known = copy.name in every
        if copy.name not in named and (is_known or copy.stat().st_mtime < spared):
            gone.append(copy)
    return OldReports(tuple(x.name for x in gone), sum(x.stat().st_size for x in gone))


def remove_reports(workspace: Service, old: OldReports) -> None:
    """Delete copies of reports; their digests remain recorded."""
    with workspace.log.locks.hold(LOCK):
        for name in old.names:
            Path(workspace.location.folder / FOLDER / name).unlink(missing_ok=True)
