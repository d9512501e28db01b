"""The `sprintlog iteration best` command: the best iteration so far."""

from sprintlog.engine.judging.exact import HOW_TO_MEASURE
from sprintlog.engine.judging.score import Score, unknown_parts
from sprintlog.engine.service.streams.evaluation import Judged, evaluate
from sprintlog.projections.state_files.iteration_report import said
from sprintlog.projections.state_files.loop_files import tracker_yaml
from sprintlog.projections.state_files.tracker import tracker_data
from sprintlog.projections.views import iteration_quality
from sprintlog.projections.views import iterations as views

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading
from ..output import hint, print_json, print_rendered, print_text, wrapped
from .judgements import breakdown_lines, judged_at, list_lines


@typed.command("best")
@typed.flag("--explain", help="Explain its score.")
@with_reading
def command(explain: bool, reading: ReadOptions) -> None:
    """Show the iteration with the highest score; if several share it, the earliest.

    `sprintlog rollback best` goes back to the latest verified iteration that is as good and
    not discarded; if that is a different iteration, it is shown as well.

    Example: sprintlog iteration best --explain
    """
    with open_workspace() as workspace:
        judged = judged_at(workspace, reading)
        best = judged.tracker.best
        one = judged.one(best.number) if best is not None else None
        if reading.as_json:
            print_json(views.best(judged))
            return
        if one is None or best is None:
            print_text("there is no best iteration yet")
            hint(HOW_TO_MEASURE)
            return
        print_text(f"iteration {best.number} (quality: {said(one.score.value, 2)})")
        if unknown := unknown_parts(one.score):
            print_text(*wrapped(f"of the score: {unknown}", indent="  "))
        if equals := iteration_quality.equals_by_exit_code(judged):
            print_text(*wrapped(equals, indent="  "))
        if removed := iteration_quality.removed_tests(judged, one):
            print_text(f"tests: {removed}")
        if (target := judged.target()) not in (best.number, None):
            which = iteration_quality.as_the_best(judged, target)
            why = f": {which}, and later" if which else ""
            way = f"a rollback to the best targets iteration {target}{why}"
            print_text(*wrapped(way, indent="  "))
            if which and not judged.has_same_files(best.number, target or 0):
                print_text(
                    "  as good: verified, and its score is not lower "
                    f"(`sprintlog iteration compare {best.number} {target}`)"
                )
        if explain:
            print_text(*_explained(judged, one.score))


def _explained(judged: Judged, score: Score) -> list[str]:
    """Return the breakdown of the best score, and a list of all iterations."""
    origin = ["its score is a judgement from elsewhere, not the formula's"]
    listed = list_lines(judged, views.ListedIterations(judged.all()))
    return ["", *origin * score.is_given, *breakdown_lines(score), "", *listed]


@typed.command("best")
@with_reading
def show_records(reading: ReadOptions) -> None:
    """Print all iteration records: measurements, judgements, advice and selection.

    Example: sprintlog show best --at iter:3
    """
    with open_workspace() as workspace:
        judged = evaluate(workspace.log, reading.sprint(workspace))
        data = tracker_data(judged)
        print_rendered(data, lambda: tracker_yaml(judged), as_json=reading.as_json)
