"""What a loop does by the sprint's rules, whatever it is started with."""

from sprintlog.engine.judging.loop_rules import CONTINUE, ROLLBACK, STOP, LoopRules
from sprintlog.engine.sprint.iterations.follow_up import loop_rules
from sprintlog.engine.sprint.state.sprint import Sprint

_ON_REGRESSION = {
    ROLLBACK: "goes back on a regression",
    STOP: "stops at a regression",
    CONTINUE: "goes on after a regression",
}


def rules_said(sprint: Sprint) -> str | None:
    """Return what a loop does by the sprint's rules, whatever it is started with."""
    loop = loop_rules(sprint)
    if loop == LoopRules():
        return None
    words = []
    if loop.measure is not None:
        by = [f"`{line}`" for line in loop.measure.runs] or [*loop.measure.reports]
        words.append(f"measured by {', '.join(by)}" if by else "measured")
    words += ["files kept"] if loop.keeps_files else []
    words += [_ON_REGRESSION[loop.on_regression]] if loop.measure is not None else []
    words += ["selects the best at its end"] if loop.selects else []
    return f"{', '.join(words)}: kept for every run  (`sprintlog rules show`)"
