"""The judgements of a sprint's iterations, and the resulting recommendations."""

from collections.abc import Iterator

from ...errors import RefusedError
from ...judging import events as f
from ...judging import exact, recommend
from ...judging.evaluation import Fetch, Judge, Judgement, Scored, acceptance, retraction
from ...judging.loop_rules import ROLLBACK, WARN
from ...judging.metrics import Figures, figures
from ...judging.select import Selection, chosen_by_a_person, describe, select
from ...judging.tracker import BASELINE_NUMBER, UNKEPT
from ...log.event import Event
from ..events import AgentRan
from ..state.document_fields import max_iterations
from ..state.effective_history import effective_ranges, is_effective
from ..state.sprint import Sprint
from . import loop, measurement, outcomes


class Judged(outcomes.LoopHistory):
    """The judged iterations of a sprint at its current version."""

    def __init__(
        self,
        sprint: Sprint,
        events: outcomes.SprintEvents,
        targets: recommend.KnownTargets | None = None,
    ) -> None:
        super().__init__(sprint, events)
        self._all: list[Judgement] | None = None
        self._targets = targets or recommend.KnownTargets()
        self._judge = Judge(sprint.knowledge.tracker, events.one)

    @property
    def rules(self) -> f.RulesSet:
        """Return the current rules."""
        return self.tracker.rules_at(self.sprint.version)

    @property
    def loop_id(self) -> str:
        """Return the loop's id, which defaults to the sprint's id."""
        baseline = self.tracker.baseline
        return (baseline.loop_id if baseline else None) or self.sprint.id

    @property
    def last(self) -> int | None:
        """Return the last measured iteration on the effective path, or None."""
        return measurement.last_measured(self.sprint.knowledge, self.sprint.version)

    def baseline(self) -> Judgement | None:
        """Return the judgement of iteration 0, or None if no baseline was captured."""
        return self._judge.baseline()

    def one(self, number: int) -> Judgement:
        """Return an iteration's judgement, reading only the events that it requires."""
        return self._judge.judge(number)

    def all(self) -> list[Judgement]:
        """Return the judgements of all measured iterations by number, in a single scan."""
        if self._all is None:
            self._all = Judge(self.tracker, self._in_one_scan()).all()
        return self._all

    def hundredths(self, until: int | None = None) -> dict[int, int | None]:
        """Return each iteration's score in hundredths, as of a version if one is given.

        The scores are read from the saved state if possible, not from events.
        """
        found = {
            entry.number: entry.hundredths
            for entry in self.tracker.measured
            if until is None or entry.version <= until
        }
        for number in [number for number, kept in found.items() if kept == UNKEPT]:
            value = self.one(number).score.value
            found[number] = None if value is None else int(exact.rounded(value, 2) * 100)
        return dict(sorted(found.items()))

    def off_path(self) -> set[int]:
        """Return the measured iterations that were discarded."""
        return set(self.tracker.numbers()) - set(measurement.measured_on_path(self.sprint))

    def left_behind(self) -> set[int]:
        """Return the discarded iterations, measured or not."""
        on = effective_ranges(self.sprint.knowledge.rollbacks, self.sprint.version)
        measured = {*self.tracker.numbers()}
        others = {
            n for n, at in self.sprint.knowledge.iterations if not is_effective(on, at)
        }
        return self.off_path() | (others - measured)

    def best(self) -> Judgement | None:
        """Return the judgement of the tracker's best iteration, or None."""
        best = self.tracker.best
        return None if best is None else self._judge.judge(best.number)

    def best_in_force(self) -> Scored | None:
        """Return the best iteration, unless a rollback discarded it as a setback.

        A discarded setback is neither a benchmark for other iterations nor a rollback
        target.
        """
        if (best := self.tracker.best) is None:
            return None
        stretches = effective_ranges(self.sprint.knowledge.rollbacks, self.sprint.version)
        # The first check nearly always suffices, and reads no chain.
        if is_effective(stretches, best.version) or best.number not in self.off_path():
            return self._judge.best()
        judged = self._judge.judge(best.number)
        return None if recommend.is_setback(judged, None, self.rules) else judged

    def target(self) -> int | None:
        """Return the target iteration of a rollback to the best iteration, or None."""
        target = self._target(self.tracker.highest)
        if target is None and self.tracker.best is not None:
            target = max(self._fit_on_path(), default=None)
        return target

    def recommendation(self) -> recommend.Recommendation:
        """Return the recommended next step; raise `RefusedError` if nothing is measured."""
        if measurement.is_unchanged(self.sprint):
            return self._unchanged()
        if (unmeasured := measurement.unmeasured_iteration(self.sprint)) is not None:
            failure = self.failures().get(unmeasured)
            why = None if failure is None else failure.why
            advice = recommend.recommend_asking(
                unmeasured, why, target=self._before_unmeasured()
            )
            return advice._replace(evidence=() if failure is None else (failure.version,))
        last, most = self.last, max_iterations(self.sprint.plan.document)
        if last is None and most is not None and loop.is_used_up(self.sprint):
            return recommend.recommend_end(loop.counted(self.sprint.knowledge), most)
        if last is None:
            raise RefusedError(
                "there is nothing to decide: no iteration on the path of sprint "
                f"{self.sprint.id} was measured",
                hint=exact.HOW_TO_MEASURE,
                command="decide",
            )
        return self.advice(last)

    def _unchanged(self) -> recommend.Recommendation:
        """Return the recommendation to stop, with the versions of the unchanged runs."""
        last, count = self.tracker.unchanged_at, self.tracker.unchanged
        numbers, best = range(last - count + 1, last + 1), self.best_in_force()
        runs = self._events.all(AgentRan)
        evidence = tuple(at for at, _, ran in runs if ran.iteration in numbers)
        advice = recommend.recommend_unchanged(last, count, best and best.number)
        return advice._replace(evidence=evidence)

    def advice(self, number: int) -> recommend.Recommendation:
        """Return the recommended step after a measured iteration."""
        changed, on_tamper = self.tracker.changed.get(number), self.rules.loop.on_tamper
        if changed is not None and on_tamper != WARN:
            return recommend.recommend_tampered(
                *(number, on_tamper, changed.words),
                target=self._last_clean(number) if on_tamper == ROLLBACK else None,
            )
        judged, best = self._judge.judge(number), self.best_in_force()
        advice = recommend.recommend(
            judged,
            best,
            self.rules,
            max_iterations=max_iterations(self.sprint.plan.document),
            begun=loop.counted(self.sprint.knowledge),
            find_target=lambda: self._target(number),
        )
        return advice._replace(
            alerts=tuple(f"{alert.severity} {alert.type}" for alert in judged.alerts),
            evidence=self._evidence(judged, best),
        )

    def _evidence(self, judged: Judgement, best: Scored | None) -> tuple[int, ...]:
        """Return the versions of the measurements on which a judgement is based."""
        tracker = self.tracker
        entries = [tracker.entry(n) for n in (judged.previous, best and best.number) if n]
        versions = [judged.version, *(entry.version for entry in entries if entry)]
        if judged.previous == BASELINE_NUMBER:
            versions.append(tracker.baseline_version)
        return tuple(dict.fromkeys(versions))

    def _before_unmeasured(self) -> int | None:
        """Return the rollback target for an unmeasured iteration, or None."""
        if (target := self.target()) is None and self.tracker.baseline is not None:
            return BASELINE_NUMBER
        return target

    def _fit_on_path(self) -> list[int]:
        """Return the measured iterations that a rollback may go back to, in order."""
        unfit, on_path = self.tracker.unfit, measurement.measured_on_path(self.sprint)
        return [number for number in on_path if number not in unfit]

    def _last_clean(self, number: int) -> int | None:
        """Return the last iteration before another one that a rollback may go back to."""
        first = None if self.tracker.baseline is None else BASELINE_NUMBER
        return max((n for n in self._fit_on_path() if n < number), default=first)

    def _target(self, number: int) -> int | None:
        """Return the rollback target for an iteration, or None."""
        on_path = self._fit_on_path()
        best, rules = self.best_in_force(), self.rules
        tracker = self.tracker
        known = (tracker.baseline_version, len(tracker.baselines), len(tracker.retracted))
        by = (best and best.number, rules, known, tracker.accepted, len(tracker.changed))
        found = recommend.rollback_target(
            (self._judge.judge(n) for n in reversed(on_path) if n <= number),
            best,
            rules,
            verified=lambda highest: self._verified(on_path, highest),
            known=self._targets.on(on_path, by=by),
        )
        return self._last_clean(found) if found in tracker.changed else found

    def _verified(self, on_path: list[int], highest: int) -> Iterator[Judgement]:
        """Yield the verified iterations on the path up to a number, newest first."""
        verified = set(self.tracker.numbers(verified=True))
        found = [n for n in on_path if n <= highest and n in verified]
        yield from self._judge.some(reversed(found)) if found else ()

    def retraction(self, number: int, reason: str) -> f.MeasurementRetracted:
        """Return the event that retracts a measurement and names the new best iteration."""
        all_ = Judge(self.tracker, self._in_one_scan())
        return retraction(self.tracker, number, reason, all_.score_of)

    def acceptance(self, number: int, reason: str) -> f.InstrumentsAccepted:
        """Return the event that accepts an iteration's tests and measure."""
        all_ = Judge(self.tracker, self._in_one_scan())
        return acceptance(self.tracker, number, reason, all_.score_of)

    def base_figures(self, version: int) -> Figures | None:
        """Return the figures of the baseline that applies at a version, or None."""
        metrics = self.tracker.baseline_at(version)
        return None if metrics is None else figures(metrics)

    def chosen(self, number: int, reason: str | None) -> Selection:
        """Return a person's choice; raise `NotFoundError` for an unmeasured iteration."""
        chosen = self.one(number)
        last = chosen if self.last is None else self.one(self.last)
        return chosen_by_a_person(chosen, last, self.all(), reason, rules=self.rules)

    def selection(self) -> Selection:
        """Return the loop's result as of now; raise `RefusedError` if there is none."""
        last = self.last
        final = BASELINE_NUMBER if last is None else last
        if self.tracker.highest and (last is not None or self.tracker.baseline):
            found = select(
                self.all(),
                final=final,
                best=self.tracker.best,
                baseline=self.baseline(),
                rules=self.rules,
                off_path=self.off_path(),
                has_floor=self.tracker.baseline_number == BASELINE_NUMBER,
            )
            if found is not None:
                return found
        raise RefusedError(
            f"no iteration of sprint {self.sprint.id} can be selected: none has a score",
            hint="run `sprintlog list` to see the measured iterations",
            command="select",
        )

    def selected(self) -> Selection | None:
        """Return the last selection, with its evaluation at that time, or None."""
        chosen, version = self.tracker.selected, self.tracker.selected_at
        if chosen is None:
            return None
        known = [one for one in self.all() if one.version <= version]
        baseline = self.baseline()
        by_number = {one.number: one for one in known}
        if baseline is not None:
            by_number[BASELINE_NUMBER] = baseline
        if chosen.number not in by_number or chosen.final not in by_number:
            return None
        rules = self.tracker.rules_at(version)
        best, final = by_number[chosen.number], by_number[chosen.final]
        if chosen.is_chosen:
            return chosen_by_a_person(best, final, known, chosen.reason, rules=rules)
        return describe(best, final, known, rules=rules, off_path=self.off_path())

    def _in_one_scan(self) -> Fetch:
        found = self._events.all(f.IterationMeasured)
        known: dict[int, tuple[str, Event]] = {v: (at, event) for v, at, event in found}
        return lambda version: known.get(version) or self._events.one(version)
