"""The `sprintlog iteration compare` command: iterations of one or more sprints."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import click
from msgspec.structs import replace

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.exact import Number, plain, short
from sprintlog.engine.races import rank
from sprintlog.engine.service.driver.races import candidate, chosen_iteration, size_of
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.sprint.iterations.described import PROMPT, Description
from sprintlog.projections.views.quality import comparison
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading
from ..output import hint, print_answer, table
from .judgements import TOOK, files_lines, judged_at, took_cells
from .snapshots import files_between

SIDES_MAX = 20
"""The maximum number of iterations shown side by side; more are refused."""
_NAMED = re.compile(r"(?:(?P<sprint>.+):)?(?P<number>[0-9]{1,10}|best)", re.ASCII)
_HERE = "iter"


@typed.command("compare")
@typed.argument("first", metavar="A")
@typed.argument("others", metavar="B…", nargs=-1, required=True)
@with_reading
def command(first: str, others: tuple[str, ...], reading: ReadOptions) -> None:
    """Compare iterations side by side: N, iter:N, SPRINT:N or SPRINT:best.

    Iteration 0 is the baseline. For iterations of several sprints, the best one is named,
    with the reason: verified, score on what all have, tests, cost, or size of the change.

    The table shows metrics, scores, parameters and costs. For two iterations, the output
    also shows the differences, and the changed files if both iterations have a snapshot.

    Examples: sprintlog iteration compare 2 3

    sprintlog iteration compare 2 3 other:5 --json
    """
    iterations = (first, *others)
    if len(iterations) > SIDES_MAX:
        raise click.UsageError(f"pass 2 to {SIDES_MAX} iterations, not {len(iterations)}")
    with open_workspace() as workspace:
        known: dict[str | None, Any] = {}
        sides = [_side(workspace, reading, text, known) for text in iterations]
        files = None
        (here, one), (there, other) = sides[0], sides[-1]
        if len(sides) == 2 and here.sprint.id == there.sprint.id:
            files = files_between(workspace, here.sprint, one.number, other.number)
        answer, lines = comparison(sides, files), [*side_lines(sides), *files_lines(files)]
        if len({of.sprint.id for of, _ in sides}) > 1:
            names = [f"{of.sprint.id}:{one.number}" for of, one in sides]
            rivals = [
                candidate(of, one.number, n, size_of(workspace, of.sprint, one.number))
                for n, (of, one) in enumerate(sides)
            ]
            found = rank(rivals, names.__getitem__)
            best = None if found.best is None else names[found.best.attempt]
            answer = replace(answer, best=best, reason=found.reason)
            lines.append(f"best: {best or 'none'}: {found.reason}")
    print_answer(answer, lines, as_json=reading.as_json)
    if files and not reading.as_json:
        first, second = f"iter:{one.number}", f"iter:{other.number}"
        hint(f"use `sprintlog iteration diff {first} {second} --patch` for changed lines")


def _side(
    workspace: Workspace, reading: ReadOptions, text: str, known: dict[str | None, Judged]
) -> tuple[Judged, Judgement]:
    """Return an iteration and its judgement; each sprint is read only once."""
    named = _NAMED.fullmatch(text)
    if named is None:
        raise InvalidInputError(
            f"invalid iteration {text[:60]!r}: must be N, SPRINT:N or SPRINT:best"
        )
    sprint_id = named["sprint"] if named["sprint"] != _HERE else None
    if sprint_id not in known:
        asked = replace(reading, sprint_id=sprint_id) if sprint_id else reading
        known[sprint_id] = judged_at(workspace, asked)
    judged, text = known[sprint_id], named["number"]
    number = chosen_iteration(judged) if text == "best" else int(text)
    if number is None:
        raise NotFoundError(f"sprint {judged.sprint.id} has no iteration to choose")
    return judged, judged.one(number)


COMMIT_CHARS = 12
"""The number of characters shown of a commit id or a digest."""

Side = tuple[Judged, Judgement]


def side_lines(sides: Sequence[Side]) -> list[str]:
    """Return a table of measurements, scores, parameters and costs.

    For two iterations it also contains the differences.
    """
    judged = {id(one): one for one, _ in sides}
    has_one = len({one.sprint.id for one in judged.values()}) == 1
    head = [
        str(one.number) if has_one else f"{of.sprint.id}:{one.number}" for of, one in sides
    ]
    is_pair = len(sides) == 2
    rows = [("", *head, *(("delta",) if is_pair else ()))]
    rows += _figures([one for _, one in sides], is_pair=is_pair)
    described = {key: one.described() for key, one in judged.items()}
    spent = {key: one.spent() for key, one in judged.items()}
    said = [described[id(of)].get(one.number, Description({})) for of, one in sides]
    took = [took_cells(spent[id(of)].get(one.number)) for of, one in sides]
    pad = ("",) if is_pair else ()
    rows += [(*row, *pad) for row in (*_said(said), *_took(took))]
    return table(rows, right=frozenset(range(1, len(rows[0]))))


def _figures(found: Sequence[Judgement], *, is_pair: bool) -> list[tuple[str, ...]]:
    """Return table rows with the class, the score, its parts and all measurements."""
    classes = (one.classification or "-" for one in found)
    rows = [("class", *classes, *(("",) if is_pair else ()))]
    values: dict[str, tuple[list[Any], int]] = {
        "score": ([one.score.value for one in found], 4),
        "  measured, %": ([100 * one.score.share for one in found], 1),
    }
    points = [{part.name: part.points for part in one.score.dimensions} for one in found]
    for name in dict.fromkeys(name for known in points for name in known):
        values[f"  {name}"] = ([known.get(name) for known in points], 2)
    figures = [one.figures.known() for one in found]
    for name in dict.fromkeys(name for known in figures for name in known):
        cells = [known.get(name) for known in figures]
        if any(cell is not None for cell in cells):
            is_own = any(name in one.figures.own for one in found)
            values[name] = (cells, -1 if is_own else 1)
    for name, (cells, places) in values.items():
        texts = tuple(_cell(cell, places) for cell in cells)
        changed = (_change(cells[0], cells[1], places),) if is_pair else ()
        rows.append((name, *texts, *changed))
    return rows


def _said(said: Sequence[Description]) -> list[tuple[str, ...]]:
    """Return a table row for each parameter, and rows for commits and tags."""
    rows = [
        (name, *(_param(name, one.params.get(name)) for one in said))
        for name in dict.fromkeys(name for one in said for name in one.params)
    ]
    if any(one.git for one in said):
        rows.append(("commit", *map(_commit, said)))
    if any(one.tags for one in said):
        rows.append(("tags", *(", ".join(one.tags) or "-" for one in said)))
    return rows


def _took(took: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return table rows with the resources used by agents, if known."""
    rows = zip(TOOK, *took, strict=True)
    return [row for row in rows if any(cell != "-" for cell in row[1:])]


def _param(name: str, value: str | None) -> str:
    if value is None:
        return "-"
    return value[:COMMIT_CHARS] if name == PROMPT else value


def _commit(said: Description) -> str:
    if said.git is None:
        return "-"
    dirty = "+" if said.git.is_dirty else ""
    return f"{(said.git.head or 'none')[:COMMIT_CHARS]}{dirty}"


def _cell(value: Any, places: int) -> str:
    if value is None or isinstance(value, str):
        return value or "-"
    return plain(value) if places < 0 else short(value, places)


def _change(mine: Any, theirs: Any, places: int) -> str:
    """Return the difference between two numbers, or an empty string for other values."""
    numbers = (Fraction, int)
    if not (isinstance(mine, numbers) and isinstance(theirs, numbers)):
        return ""
    by: Number = theirs - mine
    text = plain(by) if places < 0 else short(by, places)
    return f"+{text}" if by > 0 else text
