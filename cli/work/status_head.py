"""The head of `status`: what a sprint is doing, or why it stopped, and what leads on."""

from collections.abc import Iterator

from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.agent.ends import ENDS, LOST
from sprintlog.engine.sprint.iterations.loop import open_iteration
from sprintlog.engine.sprint.runs.budgets import options
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.tree import gate_status
from sprintlog.engine.sprint.state.words import RUNNING
from sprintlog.projections.views import runs as views
from sprintlog.projections.views.work import STOPPED, Status

from ..named_sprint import with_it
from ..screen import phrases
from ..stops import stopped_lines


def standing_lines(sprint: Sprint, found: Status, action: Action) -> Iterator[str]:
    """Yield what it is doing; or why it stopped, since when, and what leads on."""
    run = found.run or None
    if run is not None and run.state == views.RUNNING:
        yield f"running: {_doing(sprint, action, run)}"
        yield f"since: {phrases.when(run.since)}, by process {run.pid} on {run.host}"
        yield from stopped_lines(action)
        return
    stopped = stopped_lines(action)
    since = _since(found, run)
    if stopped or run is None:
        why = [line for line in stopped if not line.startswith("hint: ")]
        yield from why
        if stopped and since:
            yield f"since: {since}"
        yield from stopped[len(why) :]
        return
    if action.do == actions.DONE:
        yield f"done: since {since}"
        return
    yield f"stopped: {_ended(run)}"
    yield f"since: {since}"
    started = sprint.knowledge.loops.started
    budgets = options(started.budgets) if started is not None else ""
    command = " ".join(filter(None, ("sprintlog run", budgets, "-- COMMAND")))
    yield f"hint: {with_it(f'`{command}` goes on where it was')}"


def _doing(sprint: Sprint, action: Action, run: "views.LoopRun") -> str:
    """Return what is worked on, by the log."""
    plan = sprint.plan
    began = run.iteration_since or None
    at = f"iteration {plan.iteration}" if plan.iteration else "the beginning"
    if began is not None and open_iteration(plan) is not None:
        at += f", begun {phrases.when(began, is_relative=True)}"
    if action.do == actions.WAIT:
        return f"{at} waits until {phrases.when(action.until)}: {action.why}"
    if action.do not in (*STOPPED, actions.DONE) and not plan.is_at_goal:
        leaf = plan.pointed()
        if leaf is not None:
            checks = gate_status(leaf.data) == RUNNING
            what = "the gate of " if checks else ""
            return f"{what}{leaf.address} ({at})"
    return at


def _since(found: Status, run: "views.LoopRun | None") -> str | None:
    """Return when it came to a standstill, and with what the run ended, if that was it."""
    last = found.last_activity if isinstance(found.last_activity, str) else None
    if run is None:
        return phrases.when(last) if last else None
    ended = run.last_seen or run.ended_at or None
    if ended is None or (last is not None and last > ended):
        return phrases.when(last) if last else None
    said = phrases.when(ended)
    if run.because == LOST or run.state != views.ENDED:
        return f"{said}, the time of its last event"
    code = f" with exit code {run.exit_code}" if run.exit_code is not None else ""
    return f"{said}, when the run of process {run.pid} on {run.host} ended{code}"


def _ended(run: "views.LoopRun") -> str:
    """Return how the last run ended, of a sprint that could go on."""
    if run.state == views.GONE or run.because == LOST:
        return (
            f"process {run.pid} on {run.host} is gone: it was killed, or the machine "
            "went down"
        )
    if run.state != views.ENDED:
        return (
            f"process {run.pid} on {run.host} began a run; whether it goes on cannot be "
            "known here"
        )
    because, why = str(run.because), str(run.why or "")
    if because == actions.BUDGET:
        return why
    if because in actions.STOPS:
        # What it stood still at is resolved.
        return f"{why or ENDS[because]} (it can go on now)"
    return ": ".join(filter(None, (ENDS.get(because, because), why)))
