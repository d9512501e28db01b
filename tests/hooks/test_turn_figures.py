"""The figures, texts and measurements of turns."""

import json
from pathlib import Path

import pytest

from sprintlog.cli import settings
from sprintlog.cli.intake.transcript import read_transcript
from sprintlog.cli.settings import trust
from sprintlog.engine.adapters.hooks.transcript_calls import session_in
from sprintlog.engine.adapters.measurement.capture import Capture
from sprintlog.engine.adapters.measurement.figures import Measured
from sprintlog.engine.judging.events import (
    IterationMeasured,
    MeasurementFailed,
    MeasurementRetracted,
)
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.document_fields import ralph_fields
from sprintlog.engine.usage import FIGURES, Usage
from sprintlog.projections.workspace import Workspace

from ..adapters.trees import git
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
    """The messages of a turn are masked in the session and in its iteration."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    session.ask(f"use {token}")
    session.call()
    session.stop(f"I used {token}.")
    (ran,) = tree.runs()
    assert ran.output.startswith("I used ")
    for file in tree.log.rglob("*"):
        assert not file.is_file() or token.encode() not in file.read_bytes()


def measure(tree: Tree, script: str, *, is_trusted: bool = True, more: str = "") -> None:
    """Let a script measure the iterations in the work tree."""
    git(tree.root, "init", "-q")
    file = tree.root / "m.sh"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    text = f'{more}\n[measure]\nrun = ["./m.sh"]\n'
    (tree.root / "sprintlog.toml").write_text(text)
    tree.write(a="before")
    git(tree.root, "add", "-A")
    git(tree.root, "commit", "-qm", "first")
    found = settings.settings_file()
    assert found is not None
    tree.patch.setenv("XDG_CONFIG_HOME", str(tree.root.with_name("settings")))
    if is_trusted:
        trust.trust(found.folder, found.digest)


def measured(tree: Tree) -> list[str]:
    """Return the measurements of iterations, in the order of the log."""
    found = tree.events(IterationMeasured, MeasurementFailed, MeasurementRetracted)
    return [f"{type(one).__name__} {one.number}" for one in found]


def test_a_trusted_measure_runs_at_the_end(tree: Tree, session: HookedSession) -> None:
    """The measure of a trusted settings file runs after each turn that is an iteration."""
    measure(tree, "echo 3 passed")
    session.work(a="one")
    session.ask()
    session.stop()
    session.work(a="two")
    assert measured(tree) == ["IterationMeasured 1", "IterationMeasured 2"]


def test_an_untrusted_measure_never_runs(tree: Tree, session: HookedSession) -> None:
    """The measure of an untrusted settings file does not run; the turn is recorded."""
    measure(tree, "touch ran", is_trusted=False)
    session.work(a="one")
    session.end()
    assert (tree.iterations(), measured(tree)) == (["+1", "-1"], [])
    assert not (tree.root / "ran").exists()


def test_a_turn_that_goes_on_is_measured_again(tree: Tree, session: HookedSession) -> None:
    """If the agent goes on after its answer, the iteration's measurement is replaced."""
    measure(tree, "echo 3 passed")
    session.work(a="one")
    session.call(a="two")
    session.stop(stop_hook_active=True)
    known = ["IterationMeasured 1", "MeasurementRetracted 1", "IterationMeasured 1"]
    assert measured(tree) == known


def test_a_measurement_during_the_next_turn(tree: Tree, session: HookedSession) -> None:
    """If an agent changes files during a measurement, it failed, with the reason."""
    measure(tree, "echo 3 passed")
    real = Capture.measure

    def during(capture: Capture) -> Measured:
        tree.patch.setattr(Capture, "measure", real)
        tree.settles = False
        session.ask()
        session.call(a="next")
        tree.settles = True
        return real(capture)

    tree.patch.setattr(Capture, "measure", during)
    session.work(a="one")
    (failed,) = tree.events(MeasurementFailed)
    assert failed.number == 1
    assert failed.error == "an agent changed files while the iteration was measured"
    session.stop()
    assert measured(tree) == ["MeasurementFailed 1", "IterationMeasured 2"]


CLAIM = '{"status": "goal-complete", "summary": "all tests pass"}'


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_a_refused_claim_continues_the_turn(tree: Tree, agent: str) -> None:
    """With `block-stop`, an agent whose claim is refused goes on in the same iteration."""
    measure(tree, "test -e done.txt", more="[hooks]\nblock-stop = true")
    with Workspace.open(tree.root) as workspace:
        create = CreateSprint(ralph_fields("all tests pass"))
        workspace.handle(create, sprint_id="goal")
    session = HookedSession(tree, agent)
    session.ask()
    session.call(a="one")
    session.stop(CLAIM)
    (answer,) = map(json.loads, tree.answers)
    assert answer["decision"] == ("deny" if agent == "gemini" else "block")
    if agent == "gemini":
        session.say("BeforeAgent", prompt=answer["reason"])
    session.call(done="yes")
    session.stop(CLAIM, stop_hook_active=agent != "gemini")
    assert len(tree.answers) == 1
    assert tree.iterations() == ["+1", "-1", "-1"]
    assert tree.sprint().plan.status == "completed"


def test_the_third_refusal_ends_the_turn(tree: Tree, session: HookedSession) -> None:
    """After three refused claims in a row, an agent is not made to go on."""
    measure(tree, "false", more="[hooks]\nblock-stop = true")
    with Workspace.open(tree.root) as workspace:
        create = CreateSprint(ralph_fields("all tests pass"))
        workspace.handle(create, sprint_id="goal")
    session.ask()
    for _ in range(4):
        session.call()
        session.stop(CLAIM, stop_hook_active=True)
    assert len(tree.answers) == 2
    assert tree.sprint().plan.status == "needs-human"
