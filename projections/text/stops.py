"""Labelled lines about a sprint's current work, or why it stopped and how to continue."""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.agent.stops import ENDS, LOST, SPENT
from sprintlog.engine.sprint.iterations.budgets import OF_SPRINT, WHOSE, amount, run_again
from sprintlog.engine.sprint.state.completion import refusal_of
from sprintlog.engine.sprint.state.document_fields import max_iterations
from sprintlog.engine.sprint.state.sprint import Sprint, open_iteration
from sprintlog.engine.sprint.state.times import elapsed
from sprintlog.engine.sprint.state.tree import gate_status
from sprintlog.engine.sprint.state.words import COMPLETED, IN_PROGRESS, RUNNING, WAITS_FOR
from sprintlog.engine.usage import plus

from ..views import runs as views
from ..views.work import STOPPED, OutcomeAnswer, Status, status
from . import outcome as results

HINT = "hint"
NEXT = "; next: "
"""Precedes the next command in a sentence."""
Told = tuple[str, str]
"""A label such as `why` or `since`, and its text."""
When = Callable[..., str]
"""Formats a recorded time; with `is_relative`, it may state how long ago that was."""


TYPED = {
    actions.START: "`sprintlog sprint start`",
    actions.WORK: "`sprintlog run -- AGENT`",
    actions.ITERATE: "`sprintlog run -- AGENT`",
    actions.HOOKS: "`sprintlog run -- AGENT`",
    actions.MEASURE: "`sprintlog iteration measure --by-rules`",
    actions.DECIDE: "`sprintlog iteration decide`",
    actions.RESTORE: "`sprintlog rollback best`",
    actions.GATE: "`sprintlog gate run`",
    actions.END: "`sprintlog phase complete`",
    actions.RETRY: "`sprintlog phase retry`",
    actions.RESUME: "`sprintlog sprint resume`",
    actions.COMPLETE: "`sprintlog sprint complete`",
    actions.DONE: "`sprintlog log`",
}
"""The next command to type for each action."""


def standing(
    sprint: Sprint, found: Status, action: Action, when: When, judged: Judged | None
) -> Iterator[Told]:
    """Yield lines about the current work, or about why and when the sprint stopped.

    The first line also states the result, its evidence and the iteration to use.
    """
    said = [*_standing(sprint, found, action, when)]
    lines = [told for told in said if told[0] != HINT]
    if not lines:
        yield from said
        return
    (word, text), *others = lines
    result = [part for part in results.result_said(sprint, judged) if part not in text]
    if (why := refusal_of(sprint.plan)) is not None:
        # The person who is needed learns the reason from the first line.
        told = [one for one in others if one[0] == "details" and one[1].endswith(why)]
        others = [one for one in others if one not in told]
        result = [text for _, text in told] or result
    use = [] if word == "running" else [*filter(None, [results.use_said(sprint, judged)])]
    parts = [*result, *use, text] if word == "done" else [text, *result, *use]
    yield word, "; ".join(parts)
    yield from others
    then = None if word == "running" else results.continues(sprint, action, judged)
    yield from _hints(said) if then is None else [(HINT, then)]


def _hints(told: Iterable[Told]) -> list[Told]:
    """Return the lines that state how to continue."""
    return [one for one in told if one[0] == HINT]


def headline(
    sprint: Sprint, told: Iterable[Told], action: Action, when: When
) -> tuple[list[Told], str | None]:
    """Return the lines of a standing, the first with the next command; and the command."""
    said = [*told]
    hints = [text for _, text in _hints(said)] or _after_end(sprint, action)
    lines = [one for one in said if one[0] != HINT]
    if not lines:
        word, text = _current(action, when)
        return [(word, text)], text if word == "next" else None
    (word, text), *others = lines
    then = NEXT.join(hints)
    return [(word, NEXT.join(filter(None, [text, then]))), *others], then or None


def status_answer(
    workspace: ServiceWorkspace,
    sprint: Sprint,
    *,
    at: str | None = None,
    action: Action | None = None,
) -> Status:
    """Return a sprint's status with its outcome, and with its iterations if measured."""
    action = action or views.what_is_next(workspace, sprint, at=at)
    found, judged = status(workspace, sprint, action, at=at), None
    if results.has_measurements(sprint):
        judged = evaluate(workspace.log, sprint)
        # Imported here: many sprints have no measurements.
        from ..views.quality import iterations_standing

        found = replace(found, iterations=iterations_standing(judged))
    told = standing(sprint, found, action, _recorded, judged)
    lines, then = headline(sprint, told, action, _recorded)
    goal, use = results.goal_word(sprint), results.usable(sprint, judged)
    return replace(found, outcome=OutcomeAnswer(": ".join(lines[0]), goal, use, then))


def _after_end(sprint: Sprint, action: Action) -> list[str]:
    """Return what to do after the end of the work."""
    if action.do != actions.DONE:
        return [TYPED[action.do]] if action.do == actions.COMPLETE else []
    typed = "`sprintlog report`" if sprint.knowledge.tracker.highest else TYPED[action.do]
    is_claim = results.goal_word(sprint) == results.CLAIMED
    return [f"check the work, for example with {typed}" if is_claim else typed]


def _recorded(at: object, *, is_relative: bool = False) -> str:
    return str(at)


def _current(action: Action, when: When) -> Told:
    """Return a line with the current phase or the next command."""
    if action.resumed and action.phase:
        return "now", f"{action.phase} is in progress"
    then = f"wait until {when(action.until)}" if action.do == actions.WAIT else ""
    where = f" for {action.phase}" if action.phase else ""
    return "next", f"{then or TYPED[action.do]}{where}"


def _standing(sprint: Sprint, found: Status, action: Action, when: When) -> Iterator[Told]:
    run = found.run or None
    if run is not None and run.state == views.RUNNING:
        yield "running", _doing(sprint, action, run, when)
        yield "since", f"{when(run.since)}, by process {run.pid} on {run.host}"
        yield from stopped(action, when)
        return
    said = stopped(action, when)
    since = _since(sprint, found, run, action, when)
    if action.do == actions.DONE:
        yield "done", f"since {since}"
        return
    if said or run is None:
        # Next to `in-progress`, the reason alone would not show that work has stopped.
        stands = action.do == actions.STOP and sprint.plan.status == IN_PROGRESS
        why = "stopped" if stands else "why"
        for word, text in said:
            if word != HINT:
                yield why if word == "why" else word, text
        if said and since:
            yield "since", since
        yield from _hints(said)
        # The tree already marks the current phase of a plan.
        is_bare = sprint.plan.is_ralph and sprint.plan.iteration
        if is_bare and not said and sprint.plan.status == IN_PROGRESS:
            yield "now", _between_runs(sprint, found, when)
        return
    yield "stopped", _ended(found, run, when)
    yield "since", str(since)
    yield HINT, f"`{run_again(sprint.knowledge.loops.started)}` continues the work"


def at_iteration(sprint: Sprint, current: object) -> str:
    """Return the current iteration, how many were started, and how many in sessions.

    The number started is omitted if no iteration was discarded.
    """
    most, begun = max_iterations(sprint.document), sprint.knowledge.iteration_max
    # Turns of sessions have numbers, but do not count towards the maximum.
    turns = sprint.knowledge.in_sessions
    of = f" of {most + turns}" if most is not None else ""
    is_last = not begun or begun == current
    notes = [] if is_last else [f"{begun}{of} began, the next is {begun + 1}"]
    notes += [f"{turns} in sessions"] if turns else []
    said = f"iteration {current}{of * is_last}"
    return f"{said} ({'; '.join(notes)})" if notes else said


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
            what = "the gate of " if gate_status(leaf.data) == RUNNING else ""
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
    is_done = action.do == actions.DONE
    if (
        run is None
        or ended is None
        or (
            (is_done and run.because != actions.DONE)
            or (is_stopped_since and run.why != action.why and last and last > ended)
        )
    ):
        return when(last) if last else None
    said = when(ended)
    if is_done:
        return said
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
