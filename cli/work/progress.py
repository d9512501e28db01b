"""The progress of a sprint as a screen: status, pointer, phases, goal, quality, usage."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from sprintlog.engine.service.lost_runs import is_alive
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.sprint.agent.actions import COMPLETE, STOP, Action
from sprintlog.engine.sprint.events.snapshots import left_words
from sprintlog.engine.sprint.iterations.budgets import said
from sprintlog.engine.sprint.iterations.goal import goal_standing
from sprintlog.engine.sprint.iterations.loop_changes import reflection_is_due
from sprintlog.engine.sprint.phases.gate import attempts_of, gate_of
from sprintlog.engine.sprint.phases.gate_checks import run_of
from sprintlog.engine.sprint.plan.goal_steps import steps_of
from sprintlog.engine.sprint.state.document_fields import (
    goal_said,
    idle_threshold,
    mapping_of,
)
from sprintlog.engine.sprint.state.queue import counts
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.engine.sprint.state.tree import Node, gate_is_open, gate_status
from sprintlog.engine.sprint.state.words import COMPLETED, IN_PROGRESS, PASSED, PENDING
from sprintlog.projections.text.phrases import spent_said
from sprintlog.projections.text.stops import at_iteration, worked
from sprintlog.projections.views import work as views
from sprintlog.projections.views.iteration_quality import brought_back
from sprintlog.projections.views.runs import all_standings, what_is_next
from sprintlog.projections.workspace import Workspace

from .. import settings
from ..context import ReadOptions, open_workspace
from ..iterations.budgets import budget_lines
from ..iterations.status_lines import cut_short_lines, goal_hint, rules_said, standing_lines
from ..named_sprint import told
from ..output import (
    coloured,
    counted,
    fitting,
    note,
    print_json,
    print_styled,
    visible,
    wrapped,
)
from ..screen import times
from ..screen.terminal import ATTENTION, BAD, GOOD, QUIET, terminal
from ..stops import standing_told

OPEN_SHOWN_MAX = 20
MARKS = {
    "completed": ("✓", GOOD),
    "in-progress": ("▶", ATTENTION),
    "failed": ("✗", BAD),
    "blocked": ("■", BAD),
    "skipped": ("-", QUIET),
    "pending": ("·", QUIET),
}
_QUEUED = {PENDING: "for you to decide"}
TONES = {"completed": GOOD, "failed": BAD, "blocked": BAD}


def print_status(reading: ReadOptions, *, is_watched: bool) -> None:
    """Print the progress of a sprint, and with `is_watched` again after each change."""
    with open_workspace() as workspace:
        if is_watched:
            # Imported here: it stays, and needs more than what is asked once.
            from .watch import plot_lines, watch

            watched = replace(reading, sprint_id=workspace.choose(reading.sprint_id))
            watch(workspace, lambda: status_lines(workspace, watched, plot_lines))
            return
        sprint = reading.sprint(workspace)
        check_exists(sprint)
        if reading.as_json:
            action = told(what_is_next(workspace, sprint, at=reading.at))
            answer = views.status(workspace, sprint, action, at=reading.at)
            if (judged := _judged(workspace, sprint)) is not None:
                # Imported here: many sprints measure nothing.
                from sprintlog.projections.views.quality import with_iterations

                answer = with_iterations(answer, judged)
            print_json(answer)
            return
        lines = status_lines(workspace, reading)
    print_styled("\n".join(lines))
    if settings.settings_file() is not None and (line := _differing(sprint)):
        note(line)


def status_lines(
    workspace: Workspace,
    reading: ReadOptions,
    more: Callable[[Judged], Sequence[str]] | None = None,
) -> list[str]:
    """Return all lines for people; `more` adds what follows from the iterations."""
    sprint, at = reading.sprint(workspace), reading.at
    check_exists(sprint)
    action = told(what_is_next(workspace, sprint, at=at))
    found = views.status(workspace, sprint, action, at=at)
    judged = _judged(workspace, sprint)
    quality = _files_lines(sprint) if judged is None else standing_lines(judged)
    head = [": ".join(told) for told in standing_told(sprint, found, action)]
    starts = any("sprintlog run " in line for line in head)
    if starts and (kept := rules_said(sprint)) is not None:
        head.append(f"rules: {kept}")
    spent = spent_lines(sprint)
    if sprint.knowledge.spent.cut_short:
        spent[1:1] = cut_short_lines(workspace, sprint)
    goal = goal_lines(sprint)
    if judged is not None and (said_of_goal := goal_hint(judged)) is not None:
        goal[1:1] = wrapped(f"  {said_of_goal}", indent="  ")
    lines = _lines(sprint, found, action, head, [*goal, *quality], spent)
    # The head names the budget that stopped the sprint.
    budgets = all_standings(workspace, sprint, at=at)
    lines.extend(budget_lines(x for x in budgets if said(x) not in "".join(head)))
    if left := found.left_out:
        lines.extend(wrapped(f"files: {left_words(left.paths, left.count)}", indent="  "))
    if more is not None and judged is not None:
        lines.extend(more(judged))
    return lines


def _judged(workspace: Workspace, sprint: Sprint) -> Judged | None:
    """Return the judged iterations; None without any measurement."""
    tracker = sprint.knowledge.tracker
    if not (tracker.highest or tracker.baseline or tracker.failed):
        return None
    return evaluate(workspace.log, sprint)


def _files_lines(sprint: Sprint) -> list[str]:
    """Return a line about restored files, for a sprint without measurements."""
    if not sprint.knowledge.restored:
        return []
    said = brought_back(sprint)
    return [] if said is None else wrapped(f"files: {said}", indent="  ")


def _differing(sprint: Sprint) -> str | None:
    """Return how the work tree's file differs from the rules in force, if it does."""
    # Imported here: most work trees have no settings file.
    from ..iterations.file_rules import differing

    return differing(sprint.knowledge.tracker.rules_at(sprint.version))


def _lines(
    sprint: Sprint,
    found: views.Status,
    action: Action,
    head: Sequence[str],
    judged: Sequence[str],
    spent: Sequence[str],
) -> list[str]:
    document, plan = sprint.document, sprint.plan
    stats = document.get("stats") or {}
    status = str(document.get("status"))
    stands = status == IN_PROGRESS and any(x.startswith("stopped: ") for x in head)
    shown = f"{status}, stopped" if stands else status
    lines = [f"{visible(sprint.id)}  {coloured(visible(shown), TONES.get(status))}"]
    # Silence needs no explanation if the sprint is known to have stopped.
    stale = found.stale and action.do != STOP and not stands
    silent = "  stale: silent for more than 15 minutes" if stale else ""
    seen = document.get("last-activity")
    if seen and not terminal().has_utc:
        silent = f"  {times.when(seen, is_relative=True)}{', stale' if stale else ''}"
    lines[0] += coloured(visible(silent), ATTENTION if stale else None)
    lines[0] += f"  version {sprint.version}"
    if found.work_tree:
        lines.append(f"work tree  {visible(found.work_tree)}")
    for line in head:
        lines.extend(wrapped(line, indent="  "))
    pointed = plan.pointed()
    at = f"at {visible(pointed.address)}" if pointed and plan.tree.open_leaf() else ""
    figures = _figures(sprint, found, stats)
    if figures or at:
        lines.append("  ".join(filter(None, (figures, at))))
    for phase in plan.tree.root.children:
        lines.extend(_tree_lines(phase, pointed, "  "))
    lines.extend(judged)
    for line in spent:
        lines.extend(wrapped(line, indent="  "))
    lines.extend(_lost_runs(sprint))
    for needed in views.needs(sprint):
        if needed.phase is None:
            continue
        said = f"needs a person at {needed.phase}: {needed.reason}"
        lines.extend(coloured(line, ATTENTION) for line in wrapped(said, indent="  "))
        if needed.details:
            lines.extend(wrapped(f"  {needed.details}"))
    if queued := counts(sprint.queue):
        said = ", ".join(f"{number} {_QUEUED.get(x, x)}" for x, number in queued.items())
        lines.append(f"queue: {said}  (`sprintlog queue list`)")
    if action.do == COMPLETE:
        lines.append("everything is finished: `sprintlog sprint complete` closes it")
    return lines


def _lost_runs(sprint: Sprint) -> Iterator[str]:
    """Yield a line for each gate whose run was killed: nobody will record its end."""
    for node in dict.fromkeys(sprint.plan.tree.nodes.values()):
        started = run_of(sprint.plan, node)
        if started is not None and not is_alive(started):
            yield visible(
                f"the gate of {node.address} was being run by process {started.pid}, "
                "which is gone: `sprintlog gate run` runs it again"
            )


def _figures(sprint: Sprint, found: views.Status, stats: dict[str, Any]) -> str:
    # An imported document need not have all of them, or says that they are unknown.
    said = {key: "?" if stats.get(key) is None else stats[key] for key in _FIGURES}
    parts = []
    if stats.get("total-phases") != 0:
        parts.append(f"phases {said['completed-phases']}/{said['total-phases']}")
    if stats.get("total-steps", 0) != 0:
        parts.append(f"steps {said['completed-steps']}/{said['total-steps']}")
    if stats.get("current-iteration") is not None:
        parts.append(at_iteration(sprint, stats["current-iteration"]))
    if stats.get("elapsed"):
        parts.append(f"elapsed {worked(found)}")
    return visible("  ".join(parts))


_FIGURES = ("completed-phases", "total-phases", "completed-steps", "total-steps")


def _tree_lines(node: Node, pointed: Node | None, indent: str) -> list[str]:
    mark, tone = MARKS[node.status]
    text = node.address.rsplit("/", 1)[-1]
    stuck = ("failed", "blocked")
    # An error that a parent has from a child is shown at the child.
    is_own = not any(child.status in stuck for child in node.children)
    if node.status in stuck and is_own and node.data.get("error"):
        text += f": {node.data['error']}"
    # The head names the wait of work that continues.
    if node.status in stuck and node.data.get("next-retry-at"):
        text += f" (retry due {times.when(node.data['next-retry-at'])})"
    if gate_is_open(node.data) and node.status != "skipped":
        text += f" (gate {gate_status(node.data)}"
        tried = attempts_of(node)
        text += f", {tried} of {gate_of(node).attempts_max} attempts)" if tried else ")"
    finished = node.status in ("completed", "skipped")
    if gate_status(node.data) == PASSED and not finished:
        text += " (gate passed)"
    here = "  ◀" if node is pointed and not finished else ""
    text = fitting(text, len(indent) + len(f"{mark} {here}"))
    lines = [f"{indent}{coloured(mark, tone)} {text}{here}"]
    # Finished and pending nodes take one line; nodes in progress are shown completely.
    holds_pointer = pointed is not None and pointed.address.startswith(f"{node.address}/")
    if holds_pointer or not (finished or node.status == "pending"):
        for child in node.children:
            lines.extend(_tree_lines(child, pointed, indent + "  "))
    return lines


def goal_lines(sprint: Sprint) -> list[str]:
    """Return goal, open steps and idle count for people."""
    plan = sprint.plan
    if not plan.is_ralph:
        return []
    steps = steps_of(plan.document)
    goal = goal_said(plan.document)
    exit_ = mapping_of(plan.document, "ralph-exit")
    done = [i for i, step in steps.items() if step.get("status") == COMPLETED]
    counts = f"steps {len(done)}/{len(steps)}" if steps else ""
    if idle := plan.turns.idle:
        limit = idle_threshold(plan.document)
        counts += f"  no step moved for {counted(idle, 'iteration')}"
        is_due = reflection_is_due(plan) and plan.status != COMPLETED
        counts += ": the next one reflects" if is_due else f" ({limit} are too many)"
    left = [(i, step) for i, step in steps.items() if step.get("status") != COMPLETED]
    lines = [] if goal is None else [fitting(f"goal ({goal_standing(plan)}): {goal}")]
    lines.extend([counts.strip()] if counts else [])
    for identity, step in left[:OPEN_SHOWN_MAX]:
        text = str(step.get("prompt")).partition("\n")[0]
        lines.append(fitting(f"  {identity} ({step.get('status')}): {text}"))
    if (more := len(left) - OPEN_SHOWN_MAX) > 0:
        lines.append(f"  and {more} more")
    summary = exit_.get("final-summary")
    if plan.status == COMPLETED and summary:
        ended = str(summary).strip().partition("\n")[0]
        lines.append(f"ended: {ended}")
    needed = plan.document.get("human-needed")
    if isinstance(needed, dict):
        lines.append(f"needs a person: {needed.get('reason')}")
        if needed.get("details"):
            lines.append(f"  {needed['details']}")
    return [visible(line) for line in lines]


def spent_lines(sprint: Sprint) -> list[str]:
    """Return what all runs of agents took, for people, and whether the last ones failed."""
    spent, failed = sprint.knowledge.spent, sprint.knowledge.loops.failures
    if not (spent.runs or spent.cut_short):
        return []
    lines = [f"agents: {', '.join(spent_said(spent))}"]
    if failed:
        which = "run" if failed == 1 else f"{failed} runs"
        lines.append(f"the last {which} did not complete  (`sprintlog list`)")
    return lines
