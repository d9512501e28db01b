"""The facts of an AIWG loop, from its state, analytics and measurements.

The state has no times for iterations. They are computed from the loop's start and the
iterations' durations, unless the analytics or a measurement specifies when an iteration
ended.
"""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from msgspec import Meta, Struct

from sprintlog import extensions
from sprintlog.formatting import cut, parse_time
from sprintlog.usage import Usage

ITERATIONS_MAX = extensions.ImportedLoop.ITERATIONS_MAX
Identity = Annotated[str, Meta(min_length=1, max_length=128)]
Number = Annotated[int, Meta(ge=1, le=ITERATIONS_MAX)]
NumberOrNone = Annotated[int, Meta(ge=0, le=ITERATIONS_MAX)]
Milliseconds = Annotated[float, Meta(ge=0, le=10**12)]
SHARE, TOKENS, DOLLARS = Meta(ge=0, le=1), Meta(ge=0, lt=10**15), Meta(ge=0, lt=10**9)


class Run(Struct, rename="camel"):
    """An iteration in a loop's state."""

    number: Number
    status: str | None = None
    exit_code: Annotated[int, Meta(ge=-(2**31), lt=2**31)] | None = None
    duration: Milliseconds | None = None
    session_id: Identity | None = None
    tool_call_count: Annotated[int, Meta(ge=0, lt=10**12)] | None = None
    learnings: list[str] | None = None
    files_modified: list[str] | None = None
    progress: str | None = None


class LoopState(Struct, rename="camel"):
    """A session-state.json file, or a state.json file if there are several loops."""

    loop_id: Identity
    objective: str | None = None
    task: str | None = None
    completion_criteria: str | None = None
    completion: str | None = None
    status: str | None = None
    max_iterations: Annotated[int, Meta(ge=0, le=10**9)] | None = None
    current_iteration: NumberOrNone | None = None
    start_time: str | None = None
    last_update: str | None = None
    iterations: list[Run] | None = None


class Analysis(Struct):
    """An iteration in a loop's analytics."""

    iteration_number: Number
    timestamp: str | None = None
    quality_score: Annotated[float, Meta(ge=0, le=100)] | None = None
    tokens_used: Annotated[int, TOKENS] | Annotated[float, TOKENS] | None = None
    token_cost_usd: Annotated[int, DOLLARS] | Annotated[float, DOLLARS] | None = None
    execution_time_ms: Milliseconds | None = None
    verification_status: str | None = None
    reflections: list[str] | None = None


class Analytics(Struct):
    """A loop's analytics."""

    loop_id: Identity
    iterations: list[Analysis]
    task_description: str | None = None
    start_time: str | None = None
    selected_iteration: Number | None = None
    selection_reason: str | None = None


class Measurement(Struct):
    """The fields of `iteration_metrics`, without the metrics themselves."""

    iteration: NumberOrNone
    timestamp: str | None = None
    quality_score: Annotated[int, SHARE] | Annotated[float, SHARE] | None = None


class MetricsDocument(Struct):
    """The metrics document of one iteration."""

    iteration_metrics: Measurement


Data = dict[str, Any]
DOCUMENT = "iteration_metrics"
"""The key that contains an iteration's document."""
TEXT_CHARS_MAX = 2_000
OPEN = ("running", "paused", "starting", "resumed", "completing", "analyzing")
"""The statuses of a loop that is running or may continue."""
BROKEN_OFF = ("failed", "aborted", "crashed")
"""The statuses of a loop that ended without reaching its goal."""
_WENT_WELL = ("completed", "incomplete")
"""The statuses of a successful iteration, whether or not it reached the goal."""
_WENT_WRONG = ("failed", "crashed", "error")


class LoopIteration:
    """All data in the files about an iteration; a record numbered 0 is missing."""

    def __init__(self) -> None:
        self.run = Run(0)
        self.analysis = Analysis(0)
        self.measurement = Measurement(0)
        self.metrics: Data | None = None

    @property
    def at(self) -> str | None:
        """Return the time at which the iteration ended, or None if it is not known."""
        return self.analysis.timestamp or self.measurement.timestamp

    def took(self) -> int | None:
        """Return the duration in milliseconds."""
        run, analysed = self.run.duration, self.analysis.execution_time_ms
        took = run if run is not None else analysed
        return None if took is None else round(took)

    def times(self, before: str | None) -> tuple[str | None, str | None]:
        """Return the start and end times, based on the end of the previous iteration."""
        took, ended = self.took() or 0, self.at
        if ended is None:
            return before, before and _later(before, took)
        began = _text_of(parse_time(ended) - timedelta(milliseconds=took))
        if before is not None and parse_time(began) < parse_time(before):
            began = before if parse_time(before) <= parse_time(ended) else ended
        return began, ended

    def figures(self) -> Data:
        """Return the agent run's figures."""
        run, code = self.run, self.run.exit_code
        went_well = code in (None, 0) and run.status in (None, *_WENT_WELL)
        return {
            "outcome": "completed" if went_well else "failed",
            # A run that failed to start has exit code -1, which is not a signal.
            "exit_code": code if code is not None and code >= 0 else None,
            "duration_ms": self.took(),
            "sessions": (run.session_id,) if run.session_id else (),
            "tool_calls": run.tool_call_count,
        }

    def texts(self) -> list[str]:
        """Return, as sentences, the facts that have no corresponding field."""
        run, analysed = self.run, self.analysis
        learned = [*(run.learnings or []), *(analysed.reflections or [])]
        said = [_short(f"learned: {text}") for text in dict.fromkeys(learned) if text]
        if run.files_modified:
            said.append(_short(f"files modified: {', '.join(run.files_modified)}"))
        if analysed.verification_status:
            tokens = analysed.tokens_used
            more = f"; tokens_used {tokens}" if tokens else ""
            said.append(_short(f"verification {analysed.verification_status}{more}"))
        return said

    def worth(self) -> tuple[Data, float | None, Usage | None] | None:
        """Return the metrics, score and usage; None if the iteration was not measured."""
        score = self.analysis.quality_score
        score = self.measurement.quality_score if score is None else score / 100
        if score is None and not self.metrics:
            return None
        # aiwg writes 0 for an unknown cost.
        cost, took = self.analysis.token_cost_usd or None, self.took()
        known = cost is not None or took is not None
        usage = Usage(cost_usd=cost, duration_ms=took) if known else None
        return self.metrics or {}, score, usage


class AiwgLoop:
    """A loop, built from the files read so far."""

    def __init__(self) -> None:
        self._state = LoopState("")
        self._analytics = Analytics("", [])
        self._iterations = defaultdict[int, LoopIteration](LoopIteration)
        self._is_measured = False
        self._unread: list[extensions.Unread] = []
        self._files = 0

    def take_state(self, given: Data, source: extensions.ForeignFile) -> None:
        """Read the loop's state."""
        self._files += 1
        if self._state.loop_id:
            self._refuse(source, "is the state of the same loop once more", given)
            return
        state: LoopState = source.check(LoopState, given)
        state.start_time = _time(state.start_time, source, "startTime")
        state.last_update = _time(state.last_update, source, "lastUpdate")
        self._state = state
        for index, run in enumerate(state.iterations or ()):
            what = given["iterations"][index]
            one = self._iterations[run.number]
            if one.run.number:
                self._refuse(source, f"iteration {run.number} occurs twice", what)
                continue
            one.run = run
            if run.status not in (None, *_WENT_WELL, *_WENT_WRONG):
                problem = f"status {run.status[:40]!r} is unknown"
                self._refuse(source, f"iteration {run.number}: {problem}", what)
        if state.status not in (None, "completed", *OPEN, *BROKEN_OFF):
            problem = f"status: {state.status[:40]!r} is unknown"
            self._refuse(source, problem, state.status)

    def take_analytics(self, given: Data, source: extensions.ForeignFile) -> None:
        """Read the loop's analytics."""
        self._files += 1
        if self._analytics.loop_id:
            self._refuse(source, "is the analytics of the same loop once more", given)
            return
        analytics: Analytics = source.check(Analytics, given)
        analytics.start_time = _time(analytics.start_time, source, "start_time")
        self._analytics = analytics
        for index, analysis in enumerate(analytics.iterations):
            field = f"iterations[{index}].timestamp"
            analysis.timestamp = _time(analysis.timestamp, source, field)
            number = analysis.iteration_number
            one = self._iterations[number]
            if one.analysis.iteration_number:
                problem = f"iteration {number} occurs twice"
                self._refuse(source, problem, given["iterations"][index])
            else:
                one.analysis = analysis

    def take_document(self, given: Any, source: extensions.ForeignFile) -> None:
        """Read the measurement of an iteration; number 0 is the baseline."""
        self._files += 1
        self._is_measured = True
        metrics = source.metrics(given)
        document: MetricsDocument = source.check(MetricsDocument, {DOCUMENT: given})
        found = document.iteration_metrics
        found.timestamp = _time(found.timestamp, source, f"{DOCUMENT}.timestamp")
        one = self._iterations[found.iteration]
        if one.metrics is not None:
            self._refuse(source, f"measures iteration {found.iteration} once more", given)
        else:
            one.measurement, one.metrics = found, metrics

    def found(self, loop_id: str) -> extensions.Imported:
        """Return the imported loop."""
        state, analytics = self._state, self._analytics
        begun = range(1, (state.current_iteration or 0) + 1)
        numbers = sorted({*self._iterations, *begun} - {0})
        loop = extensions.ImportedLoop()
        loop.max_iterations = state.max_iterations or 0
        loop.measured_as = loop_id if self._is_measured else ""
        self._add_facts(loop, loop_id, numbers)
        goal = state.objective or state.task or analytics.task_description
        criteria = state.completion_criteria or state.completion
        sprint = extensions.ImportedSprint(
            extensions.name_from(f"aiwg-{loop_id}"),
            goal=goal or f"the loop {loop_id}",
            more={"completion-criteria": criteria} if criteria else {},
            loop=loop,
        )
        measured = sum(self._iterations[n].worth() is not None for n in numbers)
        counts = {"iteration": len(numbers), "measurement": measured, "file": self._files}
        return extensions.Imported([sprint], counts, self._unread)

    def _add_facts(
        self, loop: extensions.ImportedLoop, loop_id: str, numbers: list[int]
    ) -> None:
        stated = [self._iterations[n].measurement.timestamp for n in (0, *numbers)]
        at = self._state.start_time or self._analytics.start_time
        at = at or next((one for one in stated if one), None)
        if metrics := self._iterations[0].metrics:
            loop.baseline(f"{loop_id}:baseline", stated[0] or at, metrics)
        for number in numbers:
            at = self._add_iteration(loop, f"{loop_id}:{number}", number, at)
        self._add_end(loop, loop_id, at, len(numbers))

    def _add_iteration(
        self, loop: extensions.ImportedLoop, key: str, number: int, before: str | None
    ) -> str | None:
        """Add the facts of an iteration; return the time at which it ended."""
        one = self._iterations[number]
        began, ended = one.times(before)
        loop.began(f"{key}:began", began, number)
        for text in one.texts():
            loop.noted(f"{key}:said:{text}", ended, text)
        if (worth := one.worth()) is not None:
            loop.measured(f"{key}:measured", ended, *worth)
        # If a state exists, only the iterations in it have ended.
        if one.run.number:
            summary = _short(one.run.progress or "") or None
            loop.ended(f"{key}:ended", ended, summary=summary, **one.figures())
        elif not self._state.loop_id:
            loop.ended(f"{key}:ended", ended)
        return ended

    def _add_end(
        self, loop: extensions.ImportedLoop, loop_id: str, at: str | None, count: int
    ) -> None:
        status, at = self._state.status, self._state.last_update or at
        if status not in ("completed", *BROKEN_OFF):
            return
        if (selected := self._analytics.selected_iteration) is not None:
            why = self._analytics.selection_reason or "no reason is said"
            text = f"the loop selected iteration {selected}: {why}"
            loop.noted(f"{loop_id}:selected:{count}", at, _short(text))
        if status == "completed":
            loop.completed(f"{loop_id}:over:{count}", at, "the loop completed")
        else:
            loop.noted(f"{loop_id}:ended:{count}", at, f"the loop ended: {status}")

    def _refuse(self, source: extensions.ForeignFile, problem: str, what: object) -> None:
        self._unread.append(extensions.Unread.of(str(source.file), problem, what))


def _short(text: str) -> str:
    return cut(text, TEXT_CHARS_MAX)


def _time(text: str | None, source: extensions.ForeignFile, field: str) -> str | None:
    """Return a time in the log's format; raise `InvalidInputError` for an invalid time."""
    return None if text is None else source.time(text, field)


def _text_of(moment: datetime) -> str:
    return extensions.ForeignFile.normalised(moment.isoformat())


def _later(text: str, milliseconds: int) -> str:
    """Return the time that is `milliseconds` later, limited to the year 9999."""
    try:
        return _text_of(parse_time(text) + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return _text_of(datetime.max.replace(tzinfo=UTC))
