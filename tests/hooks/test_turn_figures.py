"""The figures, texts and measurements of turns."""

from pathlib import Path

import pytest

from sprintlog.cli.intake.transcript import read_transcript
from sprintlog.engine.adapters.hooks.transcript_calls import session_in
from sprintlog.engine.usage import FIGURES, Usage

from .conftest import FIXTURES
from .hooked import HookedSession, Tree

TRANSCRIPTS = {
    "claude-2.1.330-transcript": ".claude/projects/-w",
    "claude-2.1.197-transcript": ".claude/projects/-w",
    "codex-rollout": ".codex/sessions",
    "gemini-session": ".gemini/tmp",
    "copilot-events": ".copilot/session-state",
}
"""The recorded transcripts, and the folders of their agents."""


def totals(*used: Usage | None) -> dict[str, float]:
    """Return the sums of known figures."""
    found = {name: [getattr(one, name) or 0 for one in used if one] for name in FIGURES}
    return {name: round(sum(values), 9) for name, values in found.items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("parts", [(0.3, 0.6, 0.8, 1), (0.5, 0.5, 0.9, 1), (0, 0.1, 1, 1)])
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_usage_of_turns_is_that_of_the_transcript(
    tree: Tree, tmp_path: Path, name: str, parts: tuple[float, ...]
) -> None:
    """The usage of all turns, with questions and interruptions, is that of the session."""
    agent = name.partition("-")[0]
    lines = (FIXTURES / "agents" / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    session = HookedSession(tree, agent, session_in(agent, lines)[0])
    file = tmp_path / TRANSCRIPTS[name] / f"{session.session}.jsonl"
    file.parent.mkdir(parents=True)
    tree.patch.setenv("HOME", str(tmp_path))
    session.transcript = str(file)
    for kind, part in zip(("work", "question", "interrupted", "work"), parts, strict=True):
        session.ask()
        file.write_bytes(b"".join(lines[: round(part * len(lines))]))
        if kind != "question":
            session.call()
        if kind != "interrupted":
            session.stop()
    session.end()
    whole = read_transcript(file).ran()[0]
    runs = tree.runs()
    assert [run.iteration for run in runs] == [1, None, 2, 3]
    assert totals(*(run.usage for run in runs)) == totals(whole.usage)
    called = {call.key for run in runs for call in run.calls}
    assert called == {call.key for call in whole.calls}


def test_an_answer_is_recorded_without_secrets(tree: Tree, session: HookedSession) -> None:
    """The final message of a turn is masked in the log, in the session and its iteration."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    session.ask(f"use {token}")
    session.call()
    session.stop(f"I used {token}.")
    (ran,) = tree.runs()
    assert ran.output.startswith("I used ")
    for file in tree.log.rglob("*"):
        assert not file.is_file() or token.encode() not in file.read_bytes()
