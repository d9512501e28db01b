"""The report on the selected output, with the fields of the tracker's document."""

from typing import Any

from ..markdown import bare, code, table
from .iteration_report import MISSING, section
from .tracker import Data


def selection_markdown(data: Data) -> str:
    """Return the report on a selection, with its fields in order."""
    lines = [
        "## Output Selection Report",
        "",
        f"- **Loop**: {bare(data['loop_id'])}",
        f"- **Total Iterations**: {data['total_iterations']}",
        f"- **Selected Iteration**: {data['selected_iteration']}",
        f"- **Final Iteration**: {data['final_iteration']}",
        *_trajectory(data),
        *_section("Selection Criteria", data["selection_criteria"]),
        *_details(data["selected_iteration_details"]),
        *_section("Comparison to Final", data.get("comparison_to_final")),
        *section("Selection Rationale", map("- {}".format, data["selection_rationale"])),
        *_section("Degradation Analysis", data.get("degradation_analysis")),
        *_applied(data.get("artifacts_applied")),
        *section("Report Generated", [code(data["report_generated"])]),
    ]
    return "\n".join(lines) + "\n"


def _trajectory(data: Data) -> list[str]:
    marks = {
        f"iteration_{data['final_iteration']}": "final",
        f"iteration_{data['selected_iteration']}": "selected",
    }
    if data["final_iteration"] == data["selected_iteration"]:
        marks = dict.fromkeys(marks, "selected, final")
    rows = [
        (name.removeprefix("iteration_"), _said("quality", value), marks.get(name, ""))
        for name, value in data["quality_trajectory"].items()
    ]
    return section("Quality Trajectory", table(("Iteration", "Quality", ""), rows))


def _details(details: Data) -> list[str]:
    flat: Data = {}
    for name, value in details.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return _section("Selected Iteration Details", flat)


def _section(title: str, fields: Data | None) -> list[str]:
    if fields is None:
        return []
    names = {name: name.replace("_", " ").title() for name in fields}
    return section(title, [f"- **{names[x]}**: {_said(x, fields[x])}" for x in fields])


def _applied(applied: list[Data] | None) -> list[str]:
    if applied is None:
        return []
    fields: Data = {name: value for one in applied for name, value in one.items()}
    lines = [f"- **{x.title()}**: {code(fields[x])}" for x in ("source", "destination")]
    copied = (f"  - {code(path)}" for path in fields["files_copied"])
    return section("Artifacts Applied", [*lines, "- **Files Copied**:", *copied])


_SCORES = {
    *("quality", "quality_score", "measured_share", "threshold"),
    *("final_quality", "selected_quality", "delta", "final_measured_share"),
}
_RATES = {"pass_rate", "coverage_percentage", "improvement_percentage"}


def _said(name: str, value: Any) -> str:
    """Return a value as text: scores with two decimal places, rates with one."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in ("timestamp", "build_status"):
        return bare(value)
    if name == "artifacts_path":
        return code(value)
    if name in _SCORES:
        return f"{'+' if name == 'delta' and value > 0 else ''}{value:.2f}"
    return f"{value:.1f}%" if name in _RATES else str(value)
