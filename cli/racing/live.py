"""The display of a race: a live table or lines of changes, and the result."""

from collections.abc import Iterator

from sprintlog.engine.races import Race
from sprintlog.engine.usage import dollars, plus
from sprintlog.projections.views.races import AttemptAnswer, RaceAnswer, race_answer
from sprintlog.projections.workspace import Workspace

from .. import output


class LiveRace:
    """Shows a race: on a terminal as a table, otherwise one line for each change."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lines = 0
        self._said: dict[int, str] = {}

    def __call__(self, race: Race) -> None:
        """Show the current state of a race."""
        answer = race_answer(self._workspace, race)
        if output.shows_counting():
            lines = _table(answer)
            output.redraw(lines, self._lines)
            self._lines = len(lines)
            return
        for one in answer.attempts:
            said = ", ".join(filter(None, _said(one)))
            if self._said.get(one.attempt, "not-started") != said:
                self._said[one.attempt] = said
                output.progress(f"attempt {one.attempt} ({one.name}): {said}")


def _said(one: AttemptAnswer) -> Iterator[str]:
    found = one.figures
    yield one.state
    yield f"iteration {one.iterations}" if one.iterations else ""
    yield "" if found.score is None else f"score {found.score:.2f}"
    is_tested = found.test_count is not None
    yield f"tests {found.tests_passed}/{found.test_count}" if is_tested else ""
    yield one.reason or "" if one.status is not None else ""


def print_race(workspace: Workspace, race: Race, *, as_json: bool) -> RaceAnswer:
    """Print a race, and return the answer."""
    answer = race_answer(workspace, race)
    output.print_answer(answer, race_lines(answer), as_json=as_json)
    return answer


def race_lines(answer: RaceAnswer) -> list[str]:
    """Return a race as lines: its result, a table of its attempts, and its budgets."""
    head = f"{answer.race}: {answer.status}, from commit {answer.commit[:12]}"
    names = {one.attempt: one.name for one in answer.attempts}
    if answer.because is not None:
        won = "no winner"
        if answer.winner is not None:
            won = f"attempt {answer.winner} ({names[answer.winner]}), iteration "
            won = f"{'winner' if not answer.exit_code else 'best'}: {won}{answer.iteration}"
        head = f"{answer.race}: {won}: {answer.reason}"
    budgets = (
        f"budget: {one.budget} {one.spent:g} of {one.limit:g}" for one in answer.budgets
    )
    return [*output.wrapped(head, indent="  "), *_table(answer), *budgets]


def _table(answer: RaceAnswer) -> list[str]:
    head = ("attempt", "state", "iteration", "score", "tests", "cost", "lines", "", "")
    rows = [[*head]]
    for one in answer.attempts:
        found, bound = one.figures, "" if one.figures.is_cost_exact else ">="
        shown = (
            None if found.score is None else f"{found.score:.2f}",
            found.test_count and f"{found.tests_passed}/{found.test_count}",
            found.cost_usd and bound + dollars(plus(None, found.cost_usd)),
            found.lines,
        )
        number = found.iteration or one.iterations or None
        cells = ("-" if cell is None else str(cell) for cell in (number, *shown))
        rows.append([str(one.attempt), one.state, *cells, one.name, one.reason or ""])
    return output.table(rows, right=frozenset({0, 2, 3, 4, 5, 6}), spare=(6, 7))
