"""`sprintlog best`: the best iteration so far."""

import click

from sprintlog.engine.iterations.exact import shown
from sprintlog.projections.judging import Judged

from ..judged import breakdown_lines, judged_at, judgement_answer, list_lines
from ..output import print_json, print_text
from ..wiring import open_workspace, with_json, with_point, with_sprint


@click.command("best", epilog="Example: sprintlog best --explain")
@click.option("--explain", is_flag=True, help="Say what its score was made from.")
@with_point
@with_sprint
@with_json
def command(explain: bool, at: str | None, sprint_id: str | None, as_json: bool) -> None:
    """Show the best iteration so far: the highest score, the earlier one of equals.

    `sprintlog rollback --to best` goes back to where it ended.
    """
    with open_workspace() as workspace:
        judged = judged_at(workspace, sprint_id, at)
        best = judged.tracker.best
        one = judged.one(best.number) if best is not None else None
        if as_json:
            answer = None
            if one is not None:
                answer = judgement_answer(judged, one, judged.off_path())
            print_json({"sprint": judged.sprint.id, "best": answer})
            return
        if one is None or best is None:
            print_text("no iteration is the best one yet")
            return
        print_text(f"iteration {best.number} (quality: {shown(best.value, 2)})")
        if explain:
            print_text(*_explained(judged))


def _explained(judged: Judged) -> list[str]:
    """Return the breakdown of the best score, and what it was chosen from."""
    best = judged.tracker.best
    assert best is not None
    measured = judged.all()
    one = next(found for found in measured if found.number == best.number)
    lines = ["", *breakdown_lines(one.score), "", *list_lines(judged, measured)]
    if one.score.is_given:
        lines[1:1] = ["its score is a judgement from elsewhere, not the formula's"]
    return lines
