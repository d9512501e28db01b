"""The `sprintlog race` commands: several attempts at the same work, one winner."""

import os
import shlex
import sys
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from sprintlog.engine import hashes
from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.worktrees import OwnRepository, check_inside
from sprintlog.engine.adapters.processes.signals import InterruptedBySignal, Signals
from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.own_files import keep_ours
from sprintlog.engine.races import Entrant, Race, RaceStarted
from sprintlog.engine.service.driver.race import RaceSupervisor
from sprintlog.engine.service.driver.races import begin_race, choose_race
from sprintlog.engine.service.place.location import HIDDEN, spool_folders
from sprintlog.engine.sprint.state.document_fields import ITERATIONS_MAX
from sprintlog.engine.usage import dollars, plus
from sprintlog.projections.views.races import AttemptAnswer, RaceAnswer, race_answer
from sprintlog.projections.workspace import Workspace

from .. import output, record, settings, typed
from ..context import environment, here, open_workspace, with_json
from ..intake.files import read_bytes
from ..iterations.budgets import OPTIONS, budgets_and_price
from ..iterations.loop_rules import JudgingOptions
from ..work.run import check_exists
from ..work.run import command as run_command
from ..work.run_options import typed_again
from ..wrapping.recorder import open_or_make

_OF_RUN = {
    *JudgingOptions._fields,
    *(f"budget_{budget}" for budget in OPTIONS),
    *("timeout", "idle_timeout", "hook_command", "stops_on_request", "rest_seconds"),
    *("prompt_file", "goal", "limit", "fallback", "no_wait", "price", "actor", "no_mask"),
} - {"measures_not", "selects"}
"""The options of `run` with which every attempt is run."""
_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
PARALLEL = 3


class RaceGroup(typed.TypedGroup):
    """The `race` group, in which `start` may be omitted."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `start` before the number of attempts or an option."""
        first = args[0] if args else ""
        is_start = first.isdigit() or first.startswith("-")
        if is_start and first not in ctx.help_option_names:
            args = ["start", *args]
        return super().parse_args(ctx, args)


@typed.group(
    "race",
    cls=RaceGroup,
    lazy={"apply": "racing.files:apply", "clean": "racing.files:clean"},
)
def command() -> None:
    """Run several attempts at the same work, and choose the best.

    `sprintlog race N … -- COMMAND` is short for `sprintlog race start N … -- COMMAND`.

    Example: sprintlog race 3 --goal 'Login works' --measure ./test.sh -- claude -p
    """


@command.command()
@typed.argument("number", required=False, type=click.IntRange(1, 99), metavar="[N]")
@typed.argument("agent", nargs=-1, metavar="[COMMAND [ARGUMENT]…]", type=click.UNPROCESSED)
@typed.number_option(
    "--parallel", least=1, help=f"Run at most N attempts at the same time. [{PARALLEL}]"
)
@typed.file_option(
    "--attempts",
    help="Read the attempts' commands from this file, one per line, each with an optional "
    "`NAME:` before it; N attempts use them in turn.",
)
@typed.option(
    "--prepare", metavar="CMD", help="Run this shell command first in each worktree."
)
@typed.list_option(
    "--copy",
    "copies",
    metavar="PATH",
    help="Copy this uncommitted file or folder into each worktree.",
)
@typed.option("--name", "named", metavar="ID", help="The id of the race. [race-1 …]")
@typed.flag("--plan-only", help="Only record the race; `race join RACE` runs its attempts.")
@with_json
def start(
    number: int | None,
    agent: tuple[str, ...],
    parallel: int | None,
    attempts: Path | None,
    prepare: str | None,
    copies: tuple[str, ...],
    named: str | None,
    plan_only: bool,
    as_json: bool,
    actor: str,
    **given: Any,
) -> None:
    """Start a race, or continue the unfinished race with the same definition.

    Each attempt is a sprint that `sprintlog run` drives with COMMAND, in a worktree of the
    current commit outside of this work tree. The same measure judges all
    attempts. The race ends when a measurement confirms the goal of one attempt, or when all
    have ended; the others keep their work. If it is interrupted, the same command continues
    it.

    The options of `sprintlog run` apply to each attempt, such as --measure, --until, --goal
    or --timeout; but --budget-iterations, --budget-cost, --budget-tokens and --budget-time
    limit all attempts together.

    The exit status is 0 if an attempt is verified, 1 if all ended without that, 25 if a
    budget is spent, or that of the attempts that need a person, such as 22 for a pause.

    Example: sprintlog race 3 --goal 'Login works' --measure ./test.sh -- claude -p
    """
    _check(actor)
    entrants = _entrants(number, agent, attempts)
    budgets, _ = budgets_and_price({n: x for n, x in given.items() if "budget" in n})
    options = _options(click.get_current_context(), given)
    for one in () if plan_only else entrants:
        # --prepare may create a program in the worktree.
        if prepare is None or "/" not in one.command[0]:
            check_exists(one.command[0], "give what hands a prompt to your agent")
    keep_ours()
    with open_or_make(output.note) as workspace:
        own, folder = repository_of(workspace)
        commit, prompt = own.commit(), given["prompt_file"]
        for path in copies:
            check_inside(path, own.top)
        nearby = OwnRepository(here(), environment())
        if prompt and prompt not in copies and not nearby.has(f"{commit}:./{prompt}"):
            raise RefusedError(
                f"{prompt} is not part of commit {commit[:12]}",
                hint=f"commit it, or add `--copy {prompt}`",
            )
        most = parallel or PARALLEL
        fields = commit, entrants, options, budgets, most, prepare, copies
        folders = [one.name for one in folder.glob("*")]
        race, definition, is_new = begin_race(
            workspace, named, fields, actor=actor, folders=folders
        )
        if is_new and (left := own.uncommitted()):
            paths = output.counted(left, "uncommitted path")
            output.note(f"the attempts do not contain {paths} of this work tree")
        if not is_new:
            output.note(f"continuing race {race.id} of {race.at}")
        if plan_only:
            _print(workspace, race, as_json=as_json)
        else:
            _run(workspace, race, definition, as_json, parallel=most, actor=actor)


@command.command()
@typed.argument("race_id", metavar="RACE")
@typed.number_option("--attempt", "only", least=1, help="Run only this attempt.")
@typed.number_option(
    "--parallel", least=1, help="Run at most N attempts at the same time. [the race's]"
)
@with_json
def join(
    race_id: str, only: int | None, parallel: int | None, actor: str, as_json: bool
) -> None:
    """Run attempts of a recorded race here, until the race is decided.

    The log may be on PostgreSQL, and the race started on another machine or in CI. Each
    attempt runs once. With --attempt, the exit status is 0 if that attempt is verified,
    otherwise that of its run.

    Example: sprintlog race join race-1 --attempt 2
    """
    _check(actor)
    with open_workspace() as workspace:
        race, (own, _) = choose_race(workspace.log, race_id), repository_of(workspace)
        definition = race.defined
        if only is not None:
            race.attempt(only)
        if not own.has(definition.commit):
            said = f"this repository does not contain commit {definition.commit[:12]}"
            raise RefusedError(said, hint="run `git fetch` first")
        if "[masked: " in str(definition):
            said = "the recorded command contains a masked secret"
            raise RefusedError(said, hint="pass secrets in environment variables")
        own_ = {"parallel": parallel or definition.parallel, "only": only, "actor": actor}
        _run(workspace, race, definition, as_json, **own_)


@command.command()
@typed.argument("race_id", required=False, metavar="[RACE]")
@with_json
def show(race_id: str | None, as_json: bool) -> None:
    """Show a race, by default the latest: its attempts, winner and reason.

    Example: sprintlog race show
    """
    with open_workspace() as workspace:
        race = choose_race(workspace.log, race_id)
        others = _print(workspace, race, as_json=as_json).others
    if others and not as_json:
        output.note(f"other races: {', '.join(others[-5:])}")


def _run(
    workspace: Workspace, race: Race, definition: RaceStarted, as_json: bool, **own: Any
) -> None:
    """Run the attempts of a race, print the result, and exit with its status."""
    _, folder = repository_of(workspace)
    root, program = workspace.location.root, [sys.executable, "-P", "-m", "sprintlog.cli"]
    inside = str(here().relative_to(root)) if here().is_relative_to(root) else "."
    place = folder / race.id, inside, environment(), program
    means = workspace, race.id, definition, *place
    supervisor = RaceSupervisor(*means, _LiveRace(workspace), **own)
    with Signals() as signals:
        try:
            race = supervisor.run(signals)
        except InterruptedBySignal as signal:
            output.progress(f"ended by {signal}; the same command continues")
            sys.exit(128 + signal.number)
    _print(workspace, race, as_json=as_json)
    status = next(iter(supervisor.stops.values()), 0)
    only = supervisor.only
    if only is not None and (ended := race.attempt(only).ended) is not None:
        status = 0 if ended.is_verified else ended.status or output.REFUSED
    elif race.decided is not None:
        status = race.decided.status
    sys.exit(status)


class _LiveRace:
    """Shows a race: on a terminal as a table, otherwise one line for each change."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._height = 0
        self._said: dict[int, str] = {}

    def __call__(self, race: Race) -> None:
        """Show the current state of a race."""
        answer = race_answer(self._workspace, race)
        if output.shows_counting():
            lines = _table(answer)
            output.redraw(lines, self._height)
            self._height = len(lines)
            return
        for one in answer.attempts:
            found = [one.state, *(f"{n} {x}" for n, x in _figures(one).items() if x)]
            if one.status is not None and one.reason:
                found.append(one.reason)
            if self._said.get(one.attempt, "not-started") != (said := ", ".join(found)):
                self._said[one.attempt] = said
                output.progress(f"attempt {one.attempt} ({one.name}): {said}")


def _print(workspace: Workspace, race: Race, *, as_json: bool) -> RaceAnswer:
    """Print a race, with a table of its attempts and its budgets; return the answer."""
    answer = race_answer(workspace, race)
    head = f"{answer.race}: {answer.status}, from commit {answer.commit[:12]}"
    if answer.because is not None:
        won = "no winner"
        if answer.winner is not None:
            name = race.attempt(answer.winner).name
            won = f"attempt {answer.winner} ({name}), iteration {answer.iteration}"
            won = f"{'best' if answer.exit_code else 'winner'}: {won}"
        head = f"{answer.race}: {won}: {answer.reason}"
    spent = (f"budget: {x.budget} {x.spent:g} of {x.limit:g}" for x in answer.budgets)
    lines = [*output.wrapped(head, indent="  "), *_table(answer), *spent]
    output.print_answer(answer, lines, as_json=as_json)
    return answer


def _figures(one: AttemptAnswer) -> dict[str, object]:
    """Return the figures of an attempt as shown, with None for an unknown figure."""
    found, bound = one.figures, "" if one.figures.is_cost_exact else ">="
    return {
        "iteration": one.iterations or None,
        "score": None if found.score is None else f"{found.score:.2f}",
        "tests": found.test_count and f"{found.tests_passed}/{found.test_count}",
        "cost": found.cost_usd and bound + dollars(plus(None, found.cost_usd)),
        "lines": found.lines,
    }


def _table(answer: RaceAnswer) -> list[str]:
    rows = [["attempt", "state", "iteration", "score", "tests", "cost", "lines", "", ""]]
    for one in answer.attempts:
        found = _figures(one)
        found["iteration"] = one.figures.iteration or found["iteration"]
        cells = ("-" if cell is None else str(cell) for cell in found.values())
        rows.append([str(one.attempt), one.state, *cells, one.name, one.reason or ""])
    return output.table(rows, right=frozenset({0, 2, 3, 4, 5, 6}), spare=(6, 7))


def _entrants(
    number: int | None, agent: tuple[str, ...], file: Path | None
) -> tuple[Entrant, ...]:
    """Return the command of each attempt; raise an error if the arguments are invalid."""
    if (file is None) == (not agent):
        raise click.UsageError("specify either a COMMAND after `--` or --attempts FILE")
    given = [Entrant(agent)] if file is None else [*_lines_of(file)]
    if not given:
        raise InvalidInputError(f"{file} contains no command", field="--attempts")
    return tuple(given[n % len(given)] for n in range(number or len(given)))


def _lines_of(file: Path) -> Iterator[Entrant]:
    text = read_bytes(file).decode(errors="surrogateescape")
    for number, line in enumerate(text.splitlines(), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InvalidInputError(f"{error}", file=str(file), line=number) from error
        name = words[0][:-1] if words and words[0].endswith(":") else None
        words = words if name is None else words[1:]
        if name is not None and not words:
            raise InvalidInputError("missing command", file=str(file), line=number)
        if words:
            yield Entrant((*words,), name or None)


def _options(context: click.Context, given: dict[str, Any]) -> tuple[str, ...]:
    """Return the options of each run; raise `UsageError` if nothing states its aim."""
    if not (given["goal"] or given["prompt_file"] or given["until"]):
        raise click.UsageError(
            "specify --goal, --prompt-file or --until, which state when the work is done"
        )
    more = ("--snapshot",) if given["keeps_files"] is None else ()
    limit = ("--max-iterations", str(ITERATIONS_MAX)) if given["limit"] is None else ()
    return (*typed_again(context, _OF_RUN - {"actor"}, _GIVEN), *more, *limit)


def repository_of(workspace: Workspace) -> tuple[OwnRepository, Path]:
    """Return the repository of a workspace, and the folder for its worktrees.

    Raise `RefusedError` if the workspace cannot have worktrees.
    """
    location = workspace.location
    found = repository_around(location.root)
    _, *spools = spool_folders(location, environment())
    problem = None
    if found is None or found.top != location.root:
        problem = "this folder is not the work tree of a git repository"
    elif location.folder.name == HIDDEN:
        problem = f"the log {location.folder} belongs to this work tree alone"
    elif not spools:
        problem = "neither XDG_STATE_HOME nor HOME is set"
    if found is None or problem is not None:
        raise RefusedError(f"attempts need worktrees of a repository: {problem}")
    place = os.fsencode(found.common.resolve())
    name = hashes.sha256(place).hexdigest()[:16]
    folder = spools[0].parent.parent / "attempts" / name
    return OwnRepository(location.root, environment()), folder


def _check(actor: str) -> None:
    """Raise an error if the actor is invalid or recording is off."""
    record.check_actor(actor)
    if (off := settings.off_by()) is not None:
        raise RefusedError(f"no race can be run: {off}", hint=f"set {settings.OFF}=0")


_RUNS = [copy(one) for one in run_command.params if one.name in _OF_RUN]
for _option in _RUNS:
    # The help of `run` explains them.
    _option.hidden = True  # type: ignore[attr-defined]
start.params += _RUNS
join.params += [one for one in _RUNS if one.name == "actor"]
