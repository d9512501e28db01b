"""The actions that `run` performs after an iteration: measure, judge, roll back, select.

This module performs the actions that `next` prints. In your own loop, `iteration measure
--by-rules`, `iteration decide` and `rollback` do the same.
"""

from collections.abc import Callable

from ...adapters.snapshots.capture import TakenSnapshot
from ...errors import NotFoundError, RefusedError, SprintlogError
from ...judging import loop_rules as judging
from ...sprint.agent import actions
from ...sprint.agent.actions import of_advice
from ...sprint.events.snapshots import LEFT_SHOWN_MAX
from ...sprint.iterations import decisions, measurement, snapshots
from ...sprint.iterations.follow_up import due, loop_rules
from ...sprint.iterations.rollback import RollBack
from ...sprint.state.sprint import open_iteration
from ..reviews import decide_claim
from ..work_tree import restore, snapshot
from ..work_tree.capturer import Capturer, measure_by_rules, order_of
from ..work_tree.restore_plan import RestoreOrder, result_order
from ..work_tree.start_files import files_at_start
from .agent import Driver

SELECTS_AFTER = (None, actions.LIMIT, actions.BUDGET, actions.JUDGE)
"""The stops after which a loop selects a result; None if the sprint is done."""


class FollowUp:
    """Performs the actions that are due after a sprint's latest iteration."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def performs(self) -> dict[str, Callable[[actions.Action], None]]:
        """Return the functions that perform the actions, by action name."""
        return {
            actions.MEASURE: self._measure,
            actions.DECIDE: self._decide,
            actions.RESTORE: self._restore,
        }

    def _rules(self) -> judging.LoopRules:
        return loop_rules(self._driver.sprint())

    def keep_files(self) -> None:
        """Save the files of the latest iteration, unless they are already saved.

        A measurement saves them as well. A failure to save them does not end the loop.
        """
        sprint = self._driver.sprint()
        if not self._rules().keeps_files or open_iteration(sprint.plan) is not None:
            return
        number = sprint.plan.iteration
        if snapshots.has_snapshot(sprint, number):
            return
        try:
            _, taken = snapshot.take_and_record(
                self._driver.workspace,
                self._driver.sprint_id,
                envelope=self._driver.envelope(),
            )
        except (SprintlogError, OSError) as error:
            self._not_kept(number, str(error))
        else:
            self._tell_kept(taken)

    def files_at_start(self) -> str | None:
        """Save the files before the agent runs; return their snapshot's id.

        A failure to save them does not end the loop.
        """
        self.keep_files()
        if not self._rules().keeps_files:
            return None
        driver = self._driver
        try:
            return files_at_start(
                driver.workspace, driver.sprint_id, envelope=self._driver.envelope()
            )
        except (SprintlogError, OSError) as error:
            driver.tell(f"warning: the files before this run were not saved: {error}")
            return None

    def after_work(self) -> None:
        """Save the files at the end of an iteration, unless a measurement follows."""
        if self._rules().measure is None:
            self.keep_files()

    def _measure(self, action: actions.Action) -> None:
        """Measure the result of an iteration, or report why it cannot be measured."""
        number, driver = action.iteration, self._driver
        assert number is not None
        driver.tell(
            f"measure {f'iteration {number}' if number else 'before the first one'}"
        )
        rules = driver.means.measure or self._rules().measure or judging.MeasureRules()
        capturer = Capturer(
            driver.workspace,
            order_of(rules, driver.sprint()),
            folder=driver.workspace.location.root,
            environment=driver.means.environment,
            pass_on=tuple(driver.means.measure_variables),
            sprint_id=driver.sprint_id,
            masks=driver.means.masks,
        )
        done = measure_by_rules(
            driver.workspace,
            driver.sprint_id,
            number,
            capturer,
            envelope=self._driver.envelope(),
            interruptible=driver.signals.interruptible,
        )
        for note in done.notes:
            driver.tell(f"       {note}")
        if isinstance(done.command, measurement.FailMeasurement):
            driver.tell(f"       not measured: {done.command.error}")
        if done.not_kept is not None:
            self._not_kept(number, done.not_kept)
        if done.taken is not None:
            self._tell_kept(done.taken)

    def _decide(self, action: actions.Action) -> None:
        """Record the decision on a claim, and the advice after an iteration."""
        driver = self._driver
        decide_claim(
            driver.workspace,
            driver.sprint_id,
            tell=driver.tell,
            envelope=driver.envelope(),
            interruptible=driver.signals.interruptible,
        )
        if self._rules().measure is None and not measurement.is_unchanged(driver.sprint()):
            return
        self._driver.handle(decisions.GiveRecommendation())
        sprint = self._driver.sprint()
        advice = sprint.knowledge.tracker.recommended
        if advice is not None:
            goes_on = advice.action != judging.CONTINUE and due(sprint) is None
            more = " (advice alone: the loop goes on)" if goes_on else ""
            self._driver.tell(f"decide iteration {advice.number}: {advice.reason}{more}")
            if advice.action in (judging.ROLLBACK, judging.ESCALATE):
                now, name = driver.workspace.now(), driver.sprint_id
                driver.notify(of_advice(name, advice.number, at=now, why=advice.reason))

    def _restore(self, action: actions.Action) -> None:
        """Restore the plan and the files of an iteration."""
        assert action.target is not None
        driver, point = self._driver, f"iter:{action.target}"
        workspace = driver.workspace
        held = snapshot.find_snapshot(workspace, driver.sprint(), point)
        driver.tell(f"back   to iteration {action.target}: {action.why}")
        done = restore.in_place(
            workspace,
            driver.sprint_id,
            RestoreOrder(held.snapshot, held.iteration),
            is_agreed=True,
            envelope=self._driver.envelope(),
            roll_back=RollBack(workspace.version_at(driver.sprint_id, point), action.why),
        )
        if done.placed is not None:
            written, removed = done.placed.written, done.placed.removed
            driver.tell(f"files  {written} written, {removed} removed")
        alike = done.plan.alike
        left = done.placed.skipped if done.placed is not None else done.plan.skipped
        if differing := [one for one in left if one.path not in alike]:
            said = ", ".join(map(snapshot.shown, dict(differing[:LEFT_SHOWN_MAX])))
            more = " …" if differing[LEFT_SHOWN_MAX:] else ""
            count = f"{len(differing)} path{'s' * (len(differing) > 1)}"
            driver.tell(f"warning: {count} not restored: {said}{more}")

    def select(self, last: actions.Action) -> actions.Action:
        """Select and restore the loop's result, if it has one; return the last action."""
        driver = self._driver
        is_over = last.do in (actions.DONE, actions.STOP)
        if not is_over or last.because not in SELECTS_AFTER or not self._rules().selects:
            return last
        try:
            chosen = driver.handle(decisions.SelectBest()).sprint.knowledge.tracker.selected
            assert chosen is not None
            driver.tell(f"select iteration {chosen.number}")
            self._apply(chosen.number)
        except RefusedError as error:
            driver.tell(f"warning: nothing was selected: {error.message}")
        driver.refresh()
        return last

    def _apply(self, number: int) -> None:
        driver = self._driver
        workspace, sprint = driver.workspace, driver.sprint()
        try:
            held = snapshot.find_snapshot(workspace, sprint, f"iter:{number}")
        except NotFoundError as error:
            driver.tell(f"warning: its files cannot be applied: {error.message}")
            return
        order = result_order(workspace, sprint, RestoreOrder(held.snapshot, held.iteration))
        done = restore.in_place(
            workspace, driver.sprint_id, order, is_agreed=True, envelope=driver.envelope()
        )
        if done.placed is not None:
            driver.tell(f"files  {done.placed.written} written in {order.into}/")

    def _not_kept(self, number: int, why: str) -> None:
        self._driver.tell(f"warning: the files of iteration {number} were not saved: {why}")

    def _tell_kept(self, taken: TakenSnapshot) -> None:
        self._driver.tell(f"files  {taken.files} kept, {taken.read} read")
        snapshot.report_left(taken, lambda said: self._driver.tell(f"warning: {said}"))
