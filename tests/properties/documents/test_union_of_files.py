"""A session is the union of its files, however its lines are distributed."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.service.agent_sessions.ran import kept
from sprintlog.engine.sprint.answers.verdict import judge
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.iterations.session_runs import runs_of, session_ended
from sprintlog.engine.sprint.state.sprint import Spent, Sprint
from sprintlog.engine.usage import FIGURES

from ..history.test_exchange_laws import laws

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
FILES = {
    "claude": (0, "agents/claude-2.1.330-transcript.jsonl"),
    "claude-subagent": (
        *(0, "agents/claude-2.1.197-transcript.jsonl"),
        "agents/claude-2.1.197-subagent.jsonl",
    ),
    "claude-partial": (0, "transcripts/B1/session.jsonl"),
    "claude-repeated": (0, "transcripts/B1-again/session.jsonl"),
    "claude-progress": (0, "transcripts/B3/session.jsonl"),
    "claude-durations": (0, "transcripts/C5/session.jsonl"),
    "codex": (1, "agents/codex-rollout.jsonl"),
    "codex-fork": (1, "transcripts/A2/rollout-child.jsonl"),
    "gemini": (1, "agents/gemini-session.jsonl"),
    "copilot": (1, "agents/copilot-events.jsonl"),
}
"""The files of a session, and how many lines begin each of them: those that name it."""


class Split(NamedTuple):
    """Which lines are in which files, and in which order those are imported."""

    order: list[int]
    """The lines, by their numbers."""
    files: list[int]
    """For each of them a bit for each file that it is in."""
    imports: list[int]


@cache
def lines_of(name: str) -> tuple[list[bytes], list[bytes]]:
    """Return the first lines of each file of a session, and its other lines."""
    count, *files = FILES[name]
    lines = [line for x in files for line in (FIXTURES / str(x)).read_bytes().splitlines()]
    return lines[: int(count)], lines[int(count) :]


@st.composite
def splits(draw: st.DrawFn, lines: int) -> Split:
    """Return a way to distribute lines over up to four files."""
    count = draw(st.integers(1, 4))
    masks = st.integers(1, 2**count - 1)
    files = draw(st.lists(masks, min_size=lines, max_size=lines))
    again = draw(st.lists(st.integers(0, count - 1), max_size=3))
    imports = [*draw(st.permutations(range(count))), *again]
    return Split(draw(st.permutations(range(lines))), files, imports)


def reading(lines: Sequence[bytes], name: str) -> AgentRan:
    """Return the run that a file with these lines states."""
    hearing = OutputReader()
    content = b"\n".join((*lines, b""))
    hearing.feed(content)
    answer, activity = hearing.heard()
    verdict = judge(answer, exit_code=0)
    return kept(activity, verdict, size=len(content), sha256=name, last_at=None)


def totals(runs: Sequence[AgentRan]) -> dict[str, Any]:
    """Return the sums of some runs, with their marks."""
    spent = Spent()
    for run in runs:
        spent.add_run(run)
    found = {name: getattr(spent, name, None) for name in FIGURES}
    found |= {"marks": spent.at_least, "cost": spent.cost, "tokens": spent.tokens}
    return found | {"runs": spent.runs, "calls": sum(run.tool_calls or 0 for run in runs)}


def recorded(readings: Sequence[AgentRan]) -> list[AgentRan]:
    """Return the runs that are recorded when some readings are imported in turn."""
    runs: list[AgentRan] = []
    for one in readings:
        events = session_ended(Sprint("x"), one, before=runs_of(one, runs), summary=None)
        runs += [event for event in events if isinstance(event, AgentRan)]
    return runs


@cache
def whole(name: str) -> dict[str, Any]:
    """Return the totals of a session that is imported as one file."""
    head, lines = lines_of(name)
    return totals(recorded([reading([*head, *lines], "whole")]))


@pytest.mark.parametrize("name", FILES)
def test_files_add_up_to_the_session(name: str) -> None:
    """Any distribution of a session's lines over files results in the same totals."""
    head, lines = lines_of(name)

    @laws
    @given(splits(len(lines)))
    def check(split: Split) -> None:
        files = []
        for file in range(max(split.files).bit_length()):
            own = [at for at in split.order if split.files[at] >> file & 1]
            files.append(reading([*head, *(lines[at] for at in own)], f"{file}"))
        readings = [files[file] for file in split.imports if file < len(files)]
        # A file without a line that names the session cannot be assigned to it.
        named = [one for one in readings if one.sessions]
        assert totals(recorded(named)) == whole(name)

    check()
