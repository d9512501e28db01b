"""The `sprintlog iteration decide` command: advice based on the latest measurement."""

import sys
from typing import Any

import click

from sprintlog.engine.judging.events import RecommendationGiven
from sprintlog.engine.service.reviews import decide_claim
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint.iterations.decisions import GiveRecommendation, GoOn
from sprintlog.projections.views import iterations as views

from .. import context, output, record, typed
from .judgements import recommendation_lines, subject_line

EXIT_CODES = {"continue": 0, "stop": 10, "rollback": 11, "escalate": 12}
"""The exit status for each action."""


@typed.command("decide")
@typed.flag(
    "--exit-code",
    "says_by_code",
    help="Exit with 0 (continue), 10 (stop), 11 (rollback) or 12 (escalate).",
)
@typed.flag("--go-on", help="Override the advice and continue the loop.")
@typed.option("--reason", help="Why the loop continues.")
@typed.flag("--explain", help="Show every reason and its confidence.")
@context.with_recording
def command(
    says_by_code: bool, explain: bool, go_on: bool, reason: str | None, **given: Any
) -> None:
    """Decide on a claimed goal, and whether to continue, stop, roll back or ask a person.

    The advice is about the latest iteration that is not discarded; if it is unmeasured, the
    advice is to ask a person. Advice is recorded once per state.

    If a loop stopped because of the advice, --go-on lets the loop continue until the next
    measurement, or for five more iterations that change no file.

    Example: sprintlog iteration decide --exit-code || break
    """
    if reason is not None and not go_on:
        raise click.UsageError("--reason requires --go-on")
    with record.recording("decide", given) as run:
        asked = GoOn(run.options.masked({"reason": reason})["reason"])
        claimed, envelope = None, run.following().envelope()
        if not go_on:
            claimed = decide_claim(
                run.workspace, run.sprint_id, tell=output.note, envelope=envelope
            )
        if claimed is not None and claimed.sprint.knowledge.tracker.is_empty:
            run.answer(claimed)
            return
        outcome = run.handle_with(asked if go_on else GiveRecommendation())
        event = outcome.sprint.knowledge.tracker.recommended
        if outcome.duplicate:
            first = CODEC.decode(outcome.events[0])
            event = first if isinstance(first, RecommendationGiven) else event
        assert event is not None
        judged = evaluate(run.workspace.log, outcome.sprint)
        # A person can continue a loop that was never measured; such a loop has no advice.
        advice = None if go_on else judged.recommendation()
        if advice is not None and advice.event != event:
            advice = None
        if run.options.as_json:
            told = event if advice is None else views.advice(advice)
            output.print_json(views.decided(record.answer_of(outcome), told))
        elif advice is None:
            output.print_text(event.reason, f"iteration {event.number}")
        else:
            lines = recommendation_lines(advice) if explain else []
            output.print_text(advice.message, subject_line(judged, advice), *lines)
        run.refresh()
    if says_by_code:
        sys.exit(EXIT_CODES[event.action])
