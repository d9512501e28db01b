"""What the files of one loop of AIWG come to: the facts of its iterations.

The state has the iterations without their times: they are counted from its start by what
each took, unless the analytics or a measurement say when one ended.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from sprintlog.extensions import ForeignFile, ImportedLoop, Unread, name_from
from sprintlog.formatting import cut, parse_time
from sprintlog.usage import Usage

ITERATIONS_MAX = ImportedLoop.ITERATIONS_MAX
Text = Annotated[str, Field(strict=True)]
Identity = Annotated[str, Field(strict=True, min_length=1, max_length=128)]
Number = Annotated[int, Field(strict=True, ge=1, le=ITERATIONS_MAX)]
Milliseconds = Annotated[float, Field(strict=True, ge=0, le=10**12)] | None
Texts = list[Text] | None
Begun = Annotated[int, Field(strict=True, ge=0, le=ITERATIONS_MAX)] | None


class AiwgModel(BaseModel):
    """A mapping of another tool; further keys are allowed."""

    model_config = ConfigDict(extra="allow", protected_namespaces=(), frozen=True)


class LoopIteration(AiwgModel):
    """An iteration in the state of a loop."""

    number: Number
    status: Text | None = None
    exitCode: Annotated[int, Field(strict=True, ge=-(2**31), lt=2**31)] | None = None  # noqa: N815
    duration: Milliseconds = None
    sessionId: Identity | None = None  # noqa: N815
    toolCallCount: Annotated[int, Field(strict=True, ge=0, lt=10**12)] | None = None  # noqa: N815
    learnings: Texts = None
    filesModified: Texts = None  # noqa: N815
    progress: Text | None = None


class LoopState(AiwgModel):
    """A session-state.json, or the state.json of one loop among several."""

    loopId: Identity  # noqa: N815
    objective: Text | None = None
    task: Text | None = None
    completionCriteria: Text | None = None  # noqa: N815
    completion: Text | None = None
    status: Text | None = None
    maxIterations: Annotated[int, Field(strict=True, ge=0, le=10**9)] | None = None  # noqa: N815
    currentIteration: Begun = None  # noqa: N815
    startTime: Text | None = None  # noqa: N815
    lastUpdate: Text | None = None  # noqa: N815
    iterations: list[LoopIteration] | None = None


class AnalyticsIteration(AiwgModel):
    """An iteration in the analytics of a loop."""

    iteration_number: Number
    timestamp: Text | None = None
    quality_score: Annotated[float, Field(strict=True, ge=0, le=100)] | None = None
    tokens_used: Annotated[float, Field(strict=True, ge=0, lt=10**15)] | None = None
    token_cost_usd: Annotated[float, Field(strict=True, ge=0, lt=10**9)] | None = None
    execution_time_ms: Milliseconds = None
    verification_status: Text | None = None
    reflections: Texts = None


class Analytics(AiwgModel):
    """The analytics of a loop."""

    loop_id: Identity
    iterations: list[AnalyticsIteration]
    task_description: Text | None = None
    start_time: Text | None = None
    selected_iteration: Number | None = None
    selection_reason: Text | None = None


class Measurement(AiwgModel):
    """The fields of `iteration_metrics`, without the metrics themselves."""

    iteration: Annotated[int, Field(strict=True, ge=0, le=ITERATIONS_MAX)]
    timestamp: Text | None = None
    quality_score: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None


class MetricsDocument(AiwgModel):
    """The document of one iteration."""

    iteration_metrics: Measurement


Data = dict[str, Any]
DOCUMENT = "iteration_metrics"
"""The key that holds the document of an iteration."""
TEXT_CHARS_MAX = 2_000
OPEN = ("running", "paused", "starting", "resumed", "completing", "analyzing")
"""The statuses of a loop that goes on, or may."""
BROKEN_OFF = ("failed", "aborted", "crashed")
"""The statuses of a loop that ended without reaching its goal."""
_WENT_WELL = ("completed", "incomplete")
"""An iteration that did not reach the goal still went well."""
_WENT_WRONG = ("failed", "crashed", "error")


class AiwgLoop:
    """A loop, as far as its files were read."""

    def __init__(self) -> None:
        self.is_measured = False
        self._state: Data = {}
        self._analytics: Data = {}
        self._runs: dict[int, Data] = {}
        self._analysed: dict[int, Data] = {}
        self._measured: dict[int, Data] = {}
        self._unread: list[Unread] = []
        self._files = 0

    def take_state(self, given: Data, source: ForeignFile) -> None:
        """Take the state of the loop."""
        self._files += 1
        if self._state:
            self._refuse(source, "is the state of the same loop once more", given)
            return
        source.check(LoopState, given)
        for name in ("startTime", "lastUpdate"):
            _moment(given, name, source)
        self._state = given
        self._number(self._runs, given.get("iterations") or [], "number", source)
        for number, run in self._runs.items():
            if run.get("status") not in (None, *_WENT_WELL, *_WENT_WRONG):
                problem = (
                    f"iteration {number}: status {str(run['status'])[:40]!r} is unknown"
                )
                self._refuse(source, problem, run)
        known = (None, "completed", *OPEN, *BROKEN_OFF)
        if given.get("status") not in known:
            problem = f"status: {str(given['status'])[:40]!r} is unknown"
            self._refuse(source, problem, given["status"])

    def take_analytics(self, given: Data, source: ForeignFile) -> None:
        """Take the analytics of the loop."""
        self._files += 1
        if self._analytics:
            self._refuse(source, "is the analytics of the same loop once more", given)
            return
        source.check(Analytics, given)
        _moment(given, "start_time", source)
        for index, one in enumerate(given["iterations"]):
            _moment(one, "timestamp", source, f"iterations[{index}].")
        self._analytics = given
        self._number(self._analysed, given["iterations"], "iteration_number", source)

    def take_document(self, given: Any, source: ForeignFile) -> None:
        """Take the measurement of one iteration, 0 for the baseline."""
        self._files += 1
        self.is_measured = True
        metrics = source.metrics(given)
        source.check(MetricsDocument, {DOCUMENT: given})
        at = _moment(given, "timestamp", source, f"{DOCUMENT}.")
        number = given["iteration"]
        if number in self._measured:
            self._refuse(source, f"measures iteration {number} once more", given)
            return
        score = given.get("quality_score")
        self._measured[number] = {"metrics": metrics, "score": score, "at": at}

    def found(self, loop_id: str) -> ImportedLoop:
        """Return the loop with all that was read of it."""
        state = self._state
        goal = _first(state, "objective", "task") or self._analytics.get("task_description")
        criteria = _first(state, "completionCriteria", "completion")
        numbers = self._numbers()
        loop = ImportedLoop(
            name_from(f"aiwg-{loop_id}"), str(goal or f"the loop {loop_id}")
        )
        self._add_facts(loop, loop_id, numbers)
        measured = sum(self._worth(number) is not None for number in numbers)
        loop.found = {
            "iteration": len(numbers),
            "measurement": measured,
            "file": self._files,
        }
        loop.unread = self._unread
        loop.max_iterations = state.get("maxIterations") or 0
        loop.more = {"completion-criteria": criteria} if criteria else {}
        return loop

    def _numbers(self) -> list[int]:
        """Return the iterations that began."""
        begun = range(1, (self._state.get("currentIteration") or 0) + 1)
        named = {*self._runs, *self._analysed, *self._measured, *begun}
        return sorted(named - {0})

    def _add_facts(self, loop: ImportedLoop, loop_id: str, numbers: list[int]) -> None:
        said = (self._measured[n]["at"] for n in sorted(self._measured))
        first = _first(self._state, "startTime") or self._analytics.get("start_time")
        at = _normalised(first) if first else next((one for one in said if one), None)
        if (base := self._measured.get(0)) is not None and base["metrics"]:
            loop.baseline(f"{loop_id}:baseline", base["at"] or at, base["metrics"])
        for number in numbers:
            began, at = self._times(number, at)
            self._add_iteration(loop, f"{loop_id}:{number}", number, began, at)
        self._add_end(loop, loop_id, at, len(numbers))

    def _times(self, number: int, before: str | None) -> tuple[str | None, str | None]:
        """Return when an iteration began and ended, after the one before."""
        took = self._took(number) or 0
        stated = self._analysed.get(number, {}).get("timestamp")
        stated = stated or self._measured.get(number, {}).get("at")
        if stated is None:
            return before, before and _later(before, took)
        ended = _normalised(stated)
        began = _text_of(parse_time(ended) - timedelta(milliseconds=took))
        if before is not None and parse_time(began) < parse_time(before):
            began = before if parse_time(before) <= parse_time(ended) else ended
        return began, ended

    def _took(self, number: int) -> int | None:
        run = self._runs.get(number, {}).get("duration")
        analysed = self._analysed.get(number, {}).get("execution_time_ms")
        took = run if run is not None else analysed
        return None if took is None else round(took)

    def _add_iteration(
        self,
        loop: ImportedLoop,
        key: str,
        number: int,
        began: str | None,
        ended: str | None,
    ) -> None:
        loop.began(f"{key}:began", began, number)
        for text in self._texts(number):
            loop.noted(f"{key}:said:{text}", ended, text)
        if (worth := self._worth(number)) is not None:
            loop.measured(f"{key}:measured", ended, *worth)
        run = self._runs.get(number)
        # If there is a state, only its iterations have ended.
        if run is not None:
            summary = _short(run.get("progress") or "") or None
            figures = self._run(number, run)
            loop.ended(f"{key}:ended", ended, summary=summary, **figures)
        elif not self._state:
            loop.ended(f"{key}:ended", ended)

    def _run(self, number: int, run: Data) -> Data:
        code, status = run.get("exitCode"), run.get("status")
        went_well = code in (None, 0) and status in (None, *_WENT_WELL)
        session = run.get("sessionId")
        return {
            "outcome": "completed" if went_well else "failed",
            # A run that could not start has -1, which is not a signal.
            "exit_code": code if code is not None and code >= 0 else None,
            "duration_ms": self._took(number),
            "sessions": (session,) if session else (),
            "tool_calls": run.get("toolCallCount"),
        }

    def _texts(self, number: int) -> list[str]:
        """Return the facts of an iteration that have no field here, as texts."""
        run, analysed = self._runs.get(number, {}), self._analysed.get(number, {})
        learned = [*(run.get("learnings") or []), *(analysed.get("reflections") or [])]
        said = [_short(f"learned: {text}") for text in dict.fromkeys(learned) if text]
        if files := run.get("filesModified"):
            said.append(_short(f"files modified: {', '.join(files)}"))
        if verified := analysed.get("verification_status"):
            tokens = analysed.get("tokens_used")
            more = f"; tokens_used {tokens}" if tokens else ""
            said.append(_short(f"verification {verified}{more}"))
        return said

    def _worth(self, number: int) -> tuple[Data, float | None, Usage | None] | None:
        """Return the metrics, the score and the usage of an iteration, if measured."""
        measured, analysed = self._measured.get(number, {}), self._analysed.get(number, {})
        score = analysed.get("quality_score")
        score = measured.get("score") if score is None else score / 100
        metrics = measured.get("metrics") or {}
        if score is None and not metrics:
            return None
        # It writes 0 where it does not know the cost.
        cost, took = analysed.get("token_cost_usd") or None, self._took(number)
        known = cost is not None or took is not None
        usage = Usage(cost_usd=cost, duration_ms=took) if known else None
        return metrics, score, usage

    def _add_end(
        self, loop: ImportedLoop, loop_id: str, at: str | None, count: int
    ) -> None:
        status = self._state.get("status")
        if status not in ("completed", *BROKEN_OFF):
            return
        stated = self._state.get("lastUpdate")
        at = _normalised(stated) if stated else at
        selected, why = (
            self._analytics.get(n) for n in ("selected_iteration", "selection_reason")
        )
        if selected is not None:
            text = f"the loop selected iteration {selected}: {why or 'no reason is said'}"
            loop.noted(f"{loop_id}:selected:{count}", at, _short(text))
        if status == "completed":
            loop.completed(f"{loop_id}:over:{count}", at, "the loop completed")
        else:
            loop.noted(f"{loop_id}:ended:{count}", at, f"the loop ended: {status}")

    def _number(
        self, into: dict[int, Data], listed: list[Data], name: str, source: ForeignFile
    ) -> None:
        for one in listed:
            if one[name] in into:
                self._refuse(source, f"iteration {one[name]} is there twice", one)
            else:
                into[one[name]] = one

    def _refuse(self, source: ForeignFile, problem: str, what: object) -> None:
        self._unread.append(Unread.of(str(source.file), problem, what))


def _first(given: Data, *names: str) -> Any:
    """Return the value of the first of some names that has one."""
    return next((given[name] for name in names if given.get(name)), None)


def _short(text: str) -> str:
    return cut(text, TEXT_CHARS_MAX)


def _moment(given: Data, name: str, source: ForeignFile, before: str = "") -> str | None:
    """Return the time of a field, if any; raise `InvalidInputError` for other text."""
    if given.get(name) is None:
        return None
    return source.time(given[name], f"{before}{name}")


def _normalised(text: str) -> str:
    return ForeignFile.normalised(text)


def _text_of(moment: datetime) -> str:
    return ForeignFile.normalised(moment.isoformat())


def _later(text: str, milliseconds: int) -> str:
    """Return the time that many milliseconds after another, year 9999 at most."""
    try:
        return _text_of(parse_time(text) + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return _text_of(datetime.max.replace(tzinfo=UTC))
