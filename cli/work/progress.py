"""Output of a sprint's progress: status, pointer, phases, goal, quality and usage."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from msgspec.structs import replace

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.agent_sessions.at_work import others_at_work
from sprintlog.engine.service.lost_runs import is_alive
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.engine.sprint.agent.actions import STOP, Action
from sprintlog.engine.sprint.events.snapshots import left_words
from sprintlog.engine.sprint.iterations.budgets import said
from sprintlog.engine.sprint.iterations.loop_changes import reflection_is_due
from sprintlog.engine.sprint.phases.gate import attempts_of, gate_of
from sprintlog.engine.sprint.phases.gate_checks import run_of
from sprintlog.engine.sprint.state import completion, document_fields, transitions, words
from sprintlog.engine.sprint.state.notes import DELIVERED
from sprintlog.engine.sprint.state.queue import counts
from sprintlog.engine.sprint.state.sprint import Sprint, open_iteration
from sprintlog.engine.sprint.state.tree import Node, gate_is_open, gate_status
from sprintlog.projections.state_files.sprint_file import SprintFile
from sprintlog.projections.text.outcome import has_measurements
from sprintlog.projections.text.phrases import spent_said
from sprintlog.projections.text.stops import at_iteration, status_answer, worked
from sprintlog.projections.views import work as views
from sprintlog.projections.views.iteration_quality import brought_back
from sprintlog.projections.views.runs import all_standings, what_is_next
from sprintlog.projections.workspace import Workspace

from .. import context, output, settings, stops
from ..iterations.budgets import budget_lines
from ..iterations.status_lines import cut_short_lines, rules_said, standing_lines
from ..named_sprint import told
from ..screen import times
from ..screen.terminal import ATTENTION, BAD, GOOD, QUIET, terminal

OPEN_SHOWN_MAX = 20
LINES_MAX = 15
"""The maximum number of lines without `--verbose`."""
_KEPT = ("◀", "▶", "✗", "■")
"""The marks of running and failed phases, whose lines are omitted last."""
MARKS = {
    "completed": ("✓", GOOD),
    "in-progress": ("▶", ATTENTION),
    "failed": ("✗", BAD),
    "blocked": ("■", BAD),
    "skipped": ("-", QUIET),
    "pending": ("·", QUIET),
}
_QUEUED = {words.PENDING: "for you to decide"}
TONES = {"completed": GOOD, "failed": BAD, "blocked": BAD}


def print_status(reading: context.ReadOptions, *, is_watched: bool, is_whole: bool) -> None:
    """Print the progress of a sprint; with `is_watched`, again after each change."""
    with context.open_workspace() as workspace:
        if is_watched:
            # Imported here: only `--watch` requires it.
            from .watch import score_lines, watch

            watched = replace(reading, sprint_id=workspace.choose(reading.sprint_id))
            watch(
                workspace, lambda: [*chain(*status_blocks(workspace, watched, score_lines))]
            )
            return
        sprint = reading.sprint(workspace)
        transitions.check_exists(sprint)
        if reading.as_json:
            action = told(what_is_next(workspace, sprint, at=reading.at))
            output.print_json(
                status_answer(workspace, sprint, at=reading.at, action=action)
            )
            return
        blocks = status_blocks(workspace, reading)
        if reading.at is None:
            warn_of_file(workspace, sprint)
    output.print_styled("\n".join([*chain(*blocks)] if is_whole else shortened(blocks)))
    if settings.settings_file() is not None and (line := _differing(sprint)):
        output.note(line)


def warn_of_file(workspace: Workspace, sprint: Sprint) -> None:
    """Warn if PROGRESS.yaml is missing or was edited by hand."""
    file = SprintFile(workspace)
    if (path := file.path(sprint)) is None:
        return
    with suppress(SprintlogError):
        seen = workspace.files.look(path)
        if seen.content is None:
            output.warn(f"{path} is missing: run `sprintlog rebuild` to write it again")
        elif seen.is_foreign and file.check(sprint).state == "edited":
            also = "`sprintlog adopt` records the edit, `sprintlog rebuild` discards it"
            output.warn(f"{path} was edited by hand: {also}")


def status_blocks(
    workspace: Workspace,
    reading: context.ReadOptions,
    more: Callable[[Judged], Sequence[str]] | None = None,
) -> list[list[str]]:
    """Return the blocks of lines; `more` adds lines about the iterations."""
    sprint, at = reading.sprint(workspace), reading.at
    transitions.check_exists(sprint)
    action = told(what_is_next(workspace, sprint, at=at))
    found = views.status(workspace, sprint, action, at=at)
    judged = evaluate(workspace.log, sprint) if has_measurements(sprint) else None
    head = [": ".join(told) for told in stops.standing_told(sprint, found, action, judged)]
    starts = any("sprintlog run " in line for line in head)
    if starts and (kept := rules_said(sprint)) is not None:
        head.append(f"rules: {kept}")
    spent = spent_lines(sprint)
    if sprint.knowledge.spent.cut_short:
        spent[1:1] = cut_short_lines(workspace, sprint)
    # The first lines name the budget that stopped the sprint.
    budgets = all_standings(workspace, sprint, at=at)
    left = found.left_out
    return [
        _folded(head),
        _title(sprint, found, action, head),
        *_plan(sprint, found),
        goal_lines(sprint, head),
        _files_lines(sprint) if judged is None else standing_lines(judged, action),
        _folded(spent),
        [*_measures(workspace, sprint, at), *_lost_runs(sprint), *_needs(sprint)],
        [*budget_lines(x for x in budgets if said(x) not in "".join(head))],
        _folded([f"files: {left_words(left.paths, left.count)}"] if left else []),
        [*more(judged)] if more is not None and judged is not None else [],
    ]


def _folded(lines: Sequence[str]) -> list[str]:
    return [part for line in lines for part in output.wrapped(line, indent="  ")]


def shortened(blocks: Sequence[list[str]]) -> list[str]:
    """Return at most `LINES_MAX` lines, removing lines from the longest blocks.

    The first block is never shortened. Lines about finished and pending phases are removed
    before lines about phases in progress.
    """
    _, *others = blocks
    if (count := sum(map(len, blocks))) <= LINES_MAX:
        return [*chain(*blocks)]
    for _ in range(excess := count - LINES_MAX + 1):
        block = max(others, key=len)
        quiet = (i for i, line in enumerate(block) if not any(x in line for x in _KEPT))
        del block[max(quiet, default=-1)]
    return [*chain(*blocks), f"{excess} more lines: `sprintlog status --verbose`"]


def _files_lines(sprint: Sprint) -> list[str]:
    """Return a line about restored files, for a sprint without measurements."""
    said = brought_back(sprint) if sprint.knowledge.restored else None
    return [] if said is None else output.wrapped(f"files: {said}", indent="  ")


def _differing(sprint: Sprint) -> str | None:
    """Return how the settings file's rules differ from the recorded rules, or None."""
    # Imported here: most work trees have no settings file.
    from ..iterations.file_rules import differing

    return differing(sprint.knowledge.tracker.rules_at(sprint.version))


def _title(
    sprint: Sprint, found: views.Status, action: Action, head: Sequence[str]
) -> list[str]:
    """Return lines with the status, last activity, version and work tree."""
    status = str(sprint.document.get("status"))
    stands = status == words.IN_PROGRESS and any(x.startswith("stopped: ") for x in head)
    shown = f"{status}, stopped" if stands else status
    said_status = output.coloured(output.visible(shown), TONES.get(status))
    line = f"{output.visible(sprint.id)}  {said_status}"
    # Inactivity needs no explanation if the sprint has stopped.
    stale = found.stale and action.do != STOP and not stands
    silent = "  stale: silent for more than 15 minutes" if stale else ""
    seen = sprint.document.get("last-activity")
    if seen and not terminal().has_utc:
        silent = f"  {times.when(seen, is_relative=True)}{', stale' if stale else ''}"
    line += output.coloured(output.visible(silent), ATTENTION if stale else None)
    tree = [f"work tree  {output.visible(found.work_tree)}"] if found.work_tree else []
    return [f"{line}  version {sprint.version}", *tree]


def _plan(sprint: Sprint, found: views.Status) -> Iterator[list[str]]:
    """Yield a line of counts, and lines about the phases."""
    plan, stats = sprint.plan, sprint.document.get("stats") or {}
    pointed, tree = plan.pointed(), plan.tree
    parts = [
        f"{name} {done[words.COMPLETED]}/{total}"
        for name, done in (("phases", tree.phases), ("steps", tree.steps))
        if (total := sum(done.values()))
    ]
    if stats.get("current-iteration") is not None:
        parts.append(at_iteration(sprint, stats["current-iteration"]))
    parts += [f"elapsed {worked(found)}"] if stats.get("elapsed") else []
    parts += [f"at {pointed.address}"] if pointed and tree.open_leaf() else []
    yield [output.visible("  ".join(parts))] if parts else []
    phases = tree.root.children
    yield [line for phase in phases for line in _tree_lines(phase, pointed, "  ")]


def _needs(sprint: Sprint) -> Iterator[str]:
    """Yield lines about phases that need a person, and about the queue."""
    for needed in views.needs(sprint):
        if needed.phase is None:
            continue
        said = f"needs a person at {needed.phase}: {needed.reason}"
        yield from (
            output.coloured(line, ATTENTION) for line in output.wrapped(said, indent="  ")
        )
        if needed.details:
            yield from output.wrapped(f"  {needed.details}")
    if queued := counts(sprint.queue):
        said = ", ".join(f"{number} {_QUEUED.get(x, x)}" for x, number in queued.items())
        yield f"queue: {said}  (`sprintlog queue list`)"
    notes = sprint.knowledge.notes
    for identity, note in notes.items():
        if not note.is_certain:
            said = f"{identity} {note.state}: {note.text}"
            yield output.visible(output.fitting(f"note to the agent: {said}"))
    if unread := [i for i, note in notes.items() if note.state == DELIVERED]:
        yield f"delivered, but not acknowledged: {output.counted(len(unread), 'note')}"


def _measures(workspace: Workspace, sprint: Sprint, at: str | None) -> Iterator[str]:
    """Yield a line for each process that is measuring the last iteration after its end."""
    ended = at is None and open_iteration(sprint.plan) is None and sprint.plan.iteration
    for work in others_at_work(workspace.location) if ended else ():
        if (work.sprint, work.iteration) == (sprint.id, ended):
            yield output.visible(f"at work: {work.words}, since {times.when(work.since)}")


def _lost_runs(sprint: Sprint) -> Iterator[str]:
    """Yield a line for each gate whose run was killed, so its end cannot be recorded."""
    for node in dict.fromkeys(sprint.plan.tree.nodes.values()):
        started = run_of(sprint.plan, node)
        if started is not None and not is_alive(started):
            yield output.visible(
                f"the gate of {node.address} was being run by process {started.pid}, "
                "which is gone: `sprintlog gate run` runs it again"
            )


def _tree_lines(node: Node, pointed: Node | None, indent: str) -> list[str]:
    mark, tone = MARKS[node.status]
    text = node.address.rsplit("/", 1)[-1]
    stuck = ("failed", "blocked")
    # An error inherited from a child is shown at the child.
    is_own = not any(child.status in stuck for child in node.children)
    if node.status in stuck and is_own and node.data.get("error"):
        text += f": {node.data['error']}"
    # If other work continues, the first lines do not mention this retry.
    if node.status in stuck and node.data.get("next-retry-at"):
        text += f" (retry due {times.when(node.data['next-retry-at'])})"
    if gate_is_open(node.data) and node.status != "skipped":
        tried, most = attempts_of(node), gate_of(node).attempts_max
        text += f" (gate {gate_status(node.data)}"
        text += f", {tried} of {most} attempts)" if tried else ")"
    finished = node.status in ("completed", "skipped")
    if gate_status(node.data) == words.PASSED and not finished:
        text += " (gate passed)"
    here = "  ◀" if node is pointed and not finished else ""
    text = output.fitting(text, len(indent) + len(f"{mark} {here}"))
    lines = [f"{indent}{output.coloured(mark, tone)} {text}{here}"]
    # Finished and pending nodes take one line; nodes in progress are shown completely.
    holds_pointer = pointed is not None and pointed.address.startswith(f"{node.address}/")
    if holds_pointer or not (finished or node.status == "pending"):
        for child in node.children:
            lines.extend(_tree_lines(child, pointed, indent + "  "))
    return lines


def goal_lines(sprint: Sprint, head: Sequence[str]) -> list[str]:
    """Return lines about the goal, the open steps and the idle count.

    `head` contains the first lines, which may already state why a person is needed.
    """
    plan = sprint.plan
    if not plan.is_ralph:
        return []
    steps = document_fields.steps_of(plan.document)
    goal = document_fields.goal_said(plan.document)
    left = [(i, step) for i, step in steps.items() if step.get("status") != words.COMPLETED]
    counts = f"steps {len(steps) - len(left)}/{len(steps)}" if steps else ""
    if (idle := plan.turns.idle) and plan.status != words.COMPLETED:
        limit = document_fields.idle_threshold(plan.document)
        counts += f"  no step moved for {output.counted(idle, 'iteration')}"
        is_due = reflection_is_due(plan)
        counts += ": the next one reflects" if is_due else f" ({limit} are too many)"
    stands, known = completion.goal_standing(plan), " ".join(head)
    # The first line states the decision on a claim.
    stands = "" if stands.rpartition(": ")[2] in known else f" ({stands})"
    lines = [] if goal is None else [output.fitting(f"goal{stands}: {goal}")]
    lines.extend([counts.strip()] if counts else [])
    shown = []
    for identity, step in left:
        text = str(step.get("prompt")).partition("\n")[0]
        shown.append(output.fitting(f"  {identity} ({step.get('status')}): {text}"))
    lines += output.first(shown, OPEN_SHOWN_MAX, "  and {} more")
    summary = document_fields.mapping_of(plan.document, "ralph-exit").get("final-summary")
    if plan.status == words.COMPLETED and summary:
        lines.append(f"ended: {str(summary).strip().partition(chr(10))[0]}")
    needed = plan.document.get("human-needed")
    if isinstance(needed, dict) and str(needed.get("reason")) not in known:
        lines.append(f"needs a person: {needed.get('reason')}")
        if needed.get("details"):
            lines.append(f"  {needed['details']}")
    return [output.visible(line) for line in lines]


def spent_lines(sprint: Sprint) -> list[str]:
    """Return lines about the resources used by all agents, and recent failures, if any."""
    spent, failed = sprint.knowledge.spent, sprint.knowledge.loops.failures
    if not (spent.runs or spent.cut_short):
        return []
    lines = [f"agents: {', '.join(spent_said(spent))}"]
    if failed:
        which = "run" if failed == 1 else f"{failed} runs"
        lines.append(f"the last {which} did not complete  (`sprintlog list`)")
    return lines
