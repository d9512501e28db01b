"""Labelled lines about a sprint's current work, or why it stopped and how to continue."""

from collections.abc import Callable, Iterator

from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.agent.stops import ENDS, LOST, SPENT
from sprintlog.engine.sprint.iterations.budgets import OF_SPRINT, WHOSE, amount, run_again
from sprintlog.engine.sprint.state.document_fields import max_iterations
from sprintlog.engine.sprint.state.sprint import Sprint, open_iteration
from sprintlog.engine.sprint.state.times import elapsed
from sprintlog.engine.sprint.state.tree import gate_status
from sprintlog.engine.sprint.state.words import COMPLETED, IN_PROGRESS, RUNNING, WAITS_FOR
from sprintlog.engine.usage import plus

from ..views import runs as views
from ..views.work import STOPPED, Status

Told = tuple[str, str]
"""A label such as `why` or `since`, and its text."""
When = Callable[..., str]
"""Formats a recorded time; with `is_relative`, it may state how long ago that was."""


def standing(sprint: Sprint, found: Status, action: Action, when: When) -> Iterator[Told]:
    """Yield lines about the current work, or about why and when the sprint stopped."""
    run = found.run or None
    if run is not None and run.state == views.RUNNING:
        yield "running", _doing(sprint, action, run, when)
        yield "since", f"{when(run.since)}, by process {run.pid} on {run.host}"
        yield from stopped(action, when)
        return
    said = stopped(action, when)
    since = _since(sprint, found, run, action, when)
    if said or run is None:
        # Next to `in-progress`, the reason alone would not show that work has stopped.
        stands = action.do == actions.STOP and sprint.plan.status == IN_PROGRESS
        why = "stopped" if stands else "why"
        for word, text in said:
            if word != "hint":
                yield why if word == "why" else word, text
        if said and since:
            yield "since", since
        yield from (told for told in said if told[0] == "hint")
        # The tree already marks the current phase of a plan.
        is_bare = sprint.plan.is_ralph and sprint.plan.iteration
        if is_bare and not said and sprint.plan.status == IN_PROGRESS:
            yield "now", _between_runs(sprint, found, when)
        return
    if action.do == actions.DONE:
        yield "done", f"since {since}"
        return
    yield "stopped", _ended(found, run, when)
    yield "since", str(since)
    started = sprint.knowledge.loops.started
    yield "hint", f"`{run_again(started)}` continues the work"


def at_iteration(sprint: Sprint, current: object) -> str:
    """Return the current iteration and, if some were discarded, how many were started."""
    most, begun = max_iterations(sprint.document), sprint.knowledge.iteration_max
    of = f" of {most}" if most is not None else ""
    if not begun or begun == current:
        return f"iteration {current}{of}"
    return f"iteration {current} ({begun}{of} began, the next is {begun + 1})"


def stopped(action: Action, when: When) -> list[Told]:
    """Return the reasons why a sprint has stopped; empty if it has not stopped."""
    # The tree shows when a failed leaf is retried.
    is_retry = action.do == actions.WAIT and action.phase and not action.waits_for
    if action.do not in STOPPED or is_retry:
        return []
    until = f"waits {waited_for(action, when)}: " if action.until else ""
    return reasons(action, before=until)


def reasons(action: Action, *, before: str = "") -> list[Told]:
    """Return the reason, error, details and hint of an action as labelled lines."""
    named = (
        ("why", f"{before}{action.why}" if before else action.why),
        ("error", action.error),
        ("details", action.details),
        ("hint", action.hint),
    )
    return [(name, text) for name, text in named if text]


def waited_for(wait: Action, when: When) -> str:
    """Return a wait's end and reason, such as `until 05:00 for the usage limit`."""
    what = WAITS_FOR.get(wait.waits_for or "")
    return f"until {when(wait.until)}" + (f" for {what}" if what else "")


def _between_runs(sprint: Sprint, found: Status, when: When) -> str:
    """Return a note on whether an iteration is open, for a loop not driven by `run`."""
    at = open_iteration(sprint.plan)
    if at is None:
        said = f"iteration {sprint.plan.iteration} ended, none is running"
    else:
        said = f"iteration {at} is running"
    last = found.last_activity
    return said if not isinstance(last, str) else f"{said}; last event {when(last)}"


def _doing(sprint: Sprint, action: Action, run: views.LoopRun, when: When) -> str:
    """Return the current work according to the log."""
    plan = sprint.plan
    began = run.iteration_since or None
    at = f"iteration {plan.iteration}" if plan.iteration else "the beginning"
    if began is not None and open_iteration(plan) is not None:
        at += f", begun {when(began, is_relative=True)}"
    if action.do == actions.WAIT:
        return f"{at} waits until {when(action.until)}: {action.why}"
    if action.is_fallback:
        at += f", by the fallback `{run.fallback}` until {when(action.until)}: {action.why}"
    if action.do not in (*STOPPED, actions.DONE) and not plan.is_at_goal:
        leaf = plan.pointed()
        if leaf is not None:
            checks = gate_status(leaf.data) == RUNNING
            what = "the gate of " if checks else ""
            return f"{what}{leaf.address} ({at})"
    return at


def _since(
    sprint: Sprint, found: Status, run: views.LoopRun | None, action: Action, when: When
) -> str | None:
    """Return when a sprint stopped, and how its run ended if that was the cause.

    A later decision by a person counts only if it stops the sprint.
    """
    last, ended = stood_since(found), work_ended(run) if run else None
    is_stopped_since = action.do == actions.STOP and sprint.plan.status != IN_PROGRESS
    if (
        run is None
        or ended is None
        or (
            (action.do == actions.DONE and run.because != actions.DONE)
            or (is_stopped_since and run.why != action.why and last and last > ended)
        )
    ):
        return when(last) if last else None
    said = when(ended)
    if run.because == LOST or run.state != views.ENDED:
        return f"{said}, the time of its last event"
    code = ""
    if run.exit_code is not None:
        word = f" ({run.because})" if run.exit_code else ""
        code = f" with exit code {run.exit_code}{word}"
    return f"{said}, when the run of process {run.pid} on {run.host} ended{code}"


def stood_since(found: Status) -> str | None:
    """Return when a sprint was completed, or else the time of its last event."""
    stats = found.stats if isinstance(found.stats, dict) else {}
    ended = stats.get("completed-at") if found.status == COMPLETED else None
    last = ended or found.last_activity
    return last if isinstance(last, str) else None


def work_ended(run: views.LoopRun) -> str | None:
    """Return when the last run's work ended, or None if work continues or has resumed."""
    return None if run.worked_since else run.last_seen or run.ended_at or None


def worked(found: Status) -> str | None:
    """Return the time from the start to the end of work, ignoring later decisions."""
    stats = found.stats if isinstance(found.stats, dict) else {}
    ended = work_ended(found.run) if found.run else None
    return elapsed(stats.get("started-at"), ended) or stats.get("elapsed")


def _was_spent(found: Status, why: str) -> str:
    """Return the budget that ended a run, and the remaining amount."""
    then, is_of_sprint, _ = why.removeprefix(SPENT).partition(f" in {WHOSE[OF_SPRINT]}")
    # A new run has a new budget.
    for one in (found.budgets or ()) if is_of_sprint else ():
        if one.of == OF_SPRINT and one.left > 0 and then.startswith(f"{one.budget} "):
            now, left = (
                amount(one.budget, plus(None, number)) for number in (one.limit, one.left)
            )
            return f"the budget was spent: {then}; now it is {now}, with {left} left"
    return why


def _ended(found: Status, run: views.LoopRun, when: When) -> str:
    """Return how the last run ended, for a sprint that can continue."""
    who = f"process {run.pid} on {run.host}"
    if run.state == views.GONE or run.because == LOST:
        return f"{who} is gone: it was killed, or the machine went down"
    if (heard := run.heartbeat or None) is not None:
        left = f"for {run.lease_seconds} s more" if run.lease_seconds else "no longer"
        then = "then run `sprintlog run -- COMMAND` to continue here"
        return f"{who} was last seen {when(heard)} and has the lease {left}; {then}"
    if run.state != views.ENDED:
        return f"{who} started a run, whose state is unknown on this machine"
    because, why = str(run.because), str(run.why or "")
    if because == actions.BUDGET:
        return _was_spent(found, why)
    if because in actions.STOPS:
        # The cause is resolved.
        return f"{why or ENDS[because]} (resolved: it can continue)"
    return ": ".join(filter(None, (ENDS.get(because, because), why)))
