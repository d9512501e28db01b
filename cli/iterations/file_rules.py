"""The rules in `sprintlog.toml`, compared with the recorded rules."""

from msgspec.structs import asdict

from sprintlog.engine.judging.events import RulesSet
from sprintlog.engine.sprint.iterations.decisions import ChangeRules

from .. import settings


def rules_of_file() -> ChangeRules | None:
    """Return the settings file's rules, or None if it contains no rules."""
    said = {
        name: value
        for name in ("weights", "thresholds", "verification", "progress-edits")
        if (value := settings.setting(f"rules.{name}")) is not None
    }
    if not said:
        return None
    limits = {n.replace("-", "_"): x for n, x in said.get("thresholds", {}).items()}
    return ChangeRules(
        {n.replace("-", "_"): x for n, x in said.get("weights", {}).items()},
        {name: None if x == "none" else x for name, x in limits.items()},
        said.get("verification"),
        said.get("progress-edits"),
    )


def differing(rules: RulesSet) -> str | None:
    """Return a line about differences between the file and the recorded rules, or None."""
    told = rules_of_file()
    if told is None:
        return None
    pairs = [
        *_pairs("weight", told.weights, asdict(rules.weights)),
        *_pairs("threshold", told.thresholds, asdict(rules.thresholds)),
    ]
    if told.verification_required not in (None, rules.verification_required):
        pairs.append("verification")
    if told.progress_edits not in (None, rules.progress_edits):
        pairs.append("progress-edits")
    if not pairs:
        return None
    names = ", ".join(pairs)
    return (
        f"{settings.NAME} differs from the recorded rules: {names}; "
        "`sprintlog iteration rules set --from-config` records them"
    )


def _pairs(
    word: str, told: dict[str, float] | dict[str, float | None], now: dict[str, object]
) -> list[str]:
    return [f"{word} {n}" for n, value in told.items() if now.get(n) != value]
