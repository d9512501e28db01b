"""The loop's result where a person says which it is, whatever the scores say."""

from collections.abc import Sequence

from .evaluation import Judgement
from .events import RulesSet
from .select import Selection, describe, lost, said_score


def chosen_by_a_person(
    chosen: Judgement,
    last: Judgement,
    judged: Sequence[Judgement],
    reason: str | None,
    *,
    rules: RulesSet,
) -> Selection:
    """Return a person's selection with its comparison to the last iteration."""
    found = describe(chosen, last, judged, rules=rules)
    name = "the baseline" if found.is_baseline else f"iteration {chosen.number}"
    said = [f"A person chose {name} ({said_score(chosen.score)})"]
    if reason is not None:
        said.append(f"Their reason: {reason}")
    comparison = found.comparison
    if comparison is not None and comparison.reason is not None:
        comparison = comparison._replace(reason=said[0])
    return found._replace(
        rationale=(*said, *lost(found.degradation)),
        comparison=comparison,
        is_chosen=True,
        reason=reason,
    )
