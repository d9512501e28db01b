"""Measurement of a work tree: runs commands, reads reports, and returns a command."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...adapters.measurement.capture import Capture, MeasurementOrder
from ...adapters.processes.programs import environment_of
from ...adapters.snapshots.capture import TakenSnapshot
from ...command import decided
from ...errors import InvalidInputError, SprintlogError
from ...judging.instruments import is_instrument, scripts_in
from ...judging.loop_rules import MeasureRules
from ...masking import mask
from ...sprint.iterations import measurement
from ...sprint.iterations.follow_up import loop_rules
from ...sprint.iterations.snapshots import has_snapshot, was_not_measured
from ...sprint.state.sprint import Sprint
from ..port import Envelope, Outcome, Service
from .instruments import save_instruments, with_instruments
from .kept_reports import keep_reports
from .snapshot import kept_files, with_snapshot
from .start_files import ListedFiles

ALTERED_MAX = 20
_OUTPUT = re.compile(r"(^|/)(__pycache__/|\.pytest_cache/|\.coverage[^/]*$)")
"""Matches files that test runners write and that decide nothing."""
OUTPUT_CHARS_MAX = 4000
"""The number of characters stored from the end of a failed measurement's output."""


class MeasuredByRule(NamedTuple):
    """The result of measuring an iteration according to the current rules."""

    command: measurement.Measuring | measurement.FailMeasurement
    outcome: Outcome
    notes: tuple[str, ...]
    """Notes on the measurement for the user."""
    taken: TakenSnapshot | None = None
    """The snapshot that was taken with the measurement."""
    not_kept: str | None = None
    """Why no snapshot could be taken."""


def measure_by_rules(
    workspace: Service,
    sprint_id: str,
    number: int,
    capturer: "Capturer",
    *,
    envelope: Envelope,
    interruptible: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> MeasuredByRule:
    """Measure an iteration, or the baseline (0); record the result in one append.

    A failed measurement is recorded as well. If the rules require it, the files are saved
    in the same append, after all commands have run; a failure to save them is not an error.
    If a measurement is repeated after a failure, the files are saved again because they may
    have changed.
    """
    changed = save_instruments(workspace, sprint_id, capturer.commands, envelope=envelope)
    command: measurement.Measuring | measurement.FailMeasurement
    try:
        with interruptible():
            command = capturer.add_to(
                measurement.MeasureIteration({}, number)
                if number
                else measurement.CaptureBaseline({})
            )
        # A measurement that the rules refuse counts as failed.
        decided(command, workspace.sprint(sprint_id), workspace.now())
    except SprintlogError as error:
        command = capturer.failure(error, number)
    decide = with_instruments(command, changed)
    if changed is not None and isinstance(command, measurement.MeasureIteration):
        capturer.notes += (f"iteration {number} changed its measure: {changed.words}",)
    sprint, not_kept = workspace.sprint(sprint_id), None
    is_kept = has_snapshot(sprint, number) and not was_not_measured(sprint, number)
    if loop_rules(sprint).keeps_files and not is_kept:
        try:
            with kept_files(workspace, sprint_id) as (taken, event_for):
                kept = with_snapshot(decide, event_for)
                outcome = workspace.handle_with(sprint_id, kept, **envelope)
            return MeasuredByRule(command, outcome, capturer.notes, taken)
        except (SprintlogError, OSError) as error:
            not_kept = str(error)
    outcome = workspace.handle_with(sprint_id, decide, **envelope)
    return MeasuredByRule(command, outcome, capturer.notes, not_kept=not_kept)


def order_of(rules: MeasureRules, sprint: Sprint) -> MeasurementOrder:
    """Return the measurements that the rules require, with the sprint's custom metrics."""
    asked = rules.reports, rules.sources, rules.runs, rules.builds
    own = measurement.pointers(sprint), measurement.own_names(sprint)
    return MeasurementOrder(*asked, rules.timeout_seconds, *own)


class Capturer:
    """Captures the requested measurements, and describes any failure."""

    def __init__(
        self,
        workspace: Service,
        order: MeasurementOrder,
        *,
        folder: Path,
        environment: Mapping[str, str],
        pass_on: tuple[str, ...] = (),
        sprint_id: str,
        masks: bool,
    ) -> None:
        self._workspace = workspace
        self._capture = Capture(
            order,
            folder=folder,
            root=workspace.location.root,
            environment=environment_of(environment, extra=pass_on, SPRINT_ID=sprint_id),
        )
        self._masks = masks
        self.commands = (*order.runs, *order.builds)
        self.notes: tuple[str, ...] = ()
        """Notes on the measurement for the user."""

    @property
    def usual_notes(self) -> tuple[str, ...]:
        """Return the notes on reports that were found automatically."""
        return self._capture.usual_notes

    def add_to(self, command: measurement.Measuring) -> measurement.Measuring:
        """Return a measuring command, completed with the captured metrics.

        If a metric is both given and captured, its values must be the same.
        """
        files = ListedFiles(self._workspace)
        measured = self._capture.measure()
        metrics = dict(measured.metrics)
        for name, value in command.metrics.items():
            if metrics.setdefault(name, value) != value:
                source = next(one.name for one in measured.origins if name in one.metrics)
                raise InvalidInputError(
                    f"{value} is specified, but {source} states {metrics[name]}",
                    field=name,
                    hint="omit one of them",
                )
        self.notes = measured.notes
        origins = tuple(
            replace(one, name=mask(one.name)) if self._masks else one
            for one in measured.origins
        )
        found = replace(command, metrics=metrics, origins=origins, **self._evidence())
        if not isinstance(found, measurement.CaptureBaseline) and found.runs:
            written = {report.file for report in found.reports}
            scripts = scripts_in(run.command for run in found.runs)
            altered = files.altered(lambda path: is_instrument(path, scripts))
            kept = [p for p in altered if p not in written and not _OUTPUT.search(p)]
            is_measure = any(is_instrument(path, scripts) for path in kept)
            first = tuple(kept[:ALTERED_MAX])
            found = replace(found, altered=first, altered_measure=is_measure)
        # No agent worked before the first iteration.
        if measured.usage is None or isinstance(found, measurement.CaptureBaseline):
            return found
        return replace(found, usage=measured.usage)

    def failure(
        self, error: SprintlogError, number: int | None
    ) -> measurement.FailMeasurement:
        """Return the command that records a failed measurement with its cause."""
        culprit = self._capture.culprit
        said: dict[str, Any] = {"error": error.message, "number": number}
        said |= self._evidence()
        if culprit is not None:
            result = culprit.result
            said |= {
                "command": culprit.command,
                "exit_code": result.exit_code,
                "timed_out": result.timed_out,
                "output_sha256": result.output_sha256,
            }
            # Masked before it is shortened, so that no secret is cut in half.
            output = mask(result.output) if self._masks else result.output
            said["output"] = output[-OUTPUT_CHARS_MAX:]
        return measurement.FailMeasurement(**said)

    def _evidence(self) -> dict[str, Any]:
        """Return the records of commands and reports; store copies of the reports."""
        seen = self._capture.seen
        reports = keep_reports(self._workspace, seen, masks=self._masks) if seen else ()
        return {"runs": self._capture.runs(masks=self._masks), "reports": reports}
