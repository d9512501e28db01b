"""What a sprint came to, for the summary of a CI job: Markdown with a Mermaid timeline."""

import re

from .gantt import WAITS
from .layout import Timeline

BYTES_MAX = 1024 * 1024
"""A job's summary may not be longer."""
MERMAID_BYTES_MAX = 40_000
"""Mermaid draws no longer text than 50,000 characters by itself."""
_TAGS = {"good": "done, ", "bad": "crit, ", "open": "active, "}
_NAME_CHARS_MAX = 60
_LEFT_OUT = "\n\nThe rest is left out: `sprintlog report` has all of it.\n"


def job_summary(report: str, found: Timeline) -> str:
    """Return a report with its timeline behind it, as long as a summary may be."""
    drawn = "\n".join(mermaid(found)) + "\n" if found.rows else ""
    whole = f"{report}{drawn}"
    if len(whole.encode()) <= BYTES_MAX:
        return whole
    room = BYTES_MAX - len(_LEFT_OUT.encode())
    head = whole.encode()[:room].decode(errors="ignore")
    return f"{head[: head.rfind(chr(10)) + 1].rstrip()}{_LEFT_OUT}"


def mermaid(found: Timeline) -> list[str]:
    """Return the timeline as a Gantt diagram of Mermaid; of many bars the last ones."""
    rows: dict[str, list[str]] = {name: [] for name in found.rows}
    size = 0
    for bar in reversed(found.bars):
        work = bar.work
        tag = _TAGS.get(work.tone.partition(" ")[0], "")
        label = _plain(work.labels[0] if work.labels else "") or "work"
        end = max(work.end, work.begin + 1)
        line = f"    {label} :{tag}{work.begin}, {end}"
        size += len(line) + 1
        if size > MERMAID_BYTES_MAX:
            break
        rows[found.rows[bar.row]].insert(0, line)
    for gap in reversed(found.gaps):
        wait = gap.wait
        line = f"    {_plain(wait.who)} :{wait.begin}, {max(wait.end, wait.begin + 1)}"
        size += len(line) + 1
        if size <= MERMAID_BYTES_MAX:
            rows.setdefault(WAITS, []).insert(0, line)
    lines = ["", "### Timeline", "", "```mermaid", "gantt", "    dateFormat x"]
    lines.append("    axisFormat %H:%M")
    for name, bars in rows.items():
        if bars:
            lines += [f"    section {_plain(name) or 'work'}", *bars]
    return [*lines, "```"]


def _plain(said: str) -> str:
    """Return a name in which nothing means anything to Mermaid or Markdown."""
    return re.sub(r"[^\w $./-]+", " ", said, flags=re.ASCII).strip()[:_NAME_CHARS_MAX]
