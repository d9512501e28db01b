"""A race of two users with one log on PostgreSQL, and races on the page."""

import json
import time
from pathlib import Path

import pytest

from sprintlog.engine.errors import ConflictError
from sprintlog.engine.races import AttemptStarted, Entrant
from sprintlog.engine.service.driver.races import begin_race, record
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.document_fields import ralph_fields
from sprintlog.projections.page.live_pages import part
from sprintlog.projections.workspace import Workspace

from ..adapters.trees import git
from ..postgres.server import server, why_not
from .racing import COMMAND, Scene, race_words


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_two_clones_run_a_race_together(tmp_path: Path) -> None:
    """Each attempt runs once, in one of the clones, and both pages show the decision."""
    url = server().new_url()
    scene = Scene(tmp_path, SPRINTLOG_LOG=url, AGENT_SECONDS="0.3", AGENT_3="good")
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(scene.main), str(other))
    words = race_words("--parallel", 1, "--name", "fix")
    first = scene.start(*words, "--", *COMMAND)
    until = time.monotonic() + 30
    while scene.run("race", "show", "fix")[0] != 0:
        assert time.monotonic() < until
    second = scene.start("race", "join", "fix", "--parallel", 1, "--json", folder=other)
    answers = [json.loads(one.communicate(timeout=120)[0]) for one in (first, second)]
    assert [one.returncode for one in (first, second)] == [0, 0]
    here, there = scene.shown("fix"), scene.shown("fix", folder=other)
    assert here == there
    for name in ("winner", "iteration", "reason", "ranking"):
        assert answers[0][name] == answers[1][name] == here[name]
    assert not [one for one in here["attempts"] if one["state"] == "running"]
    for folder in (scene.main, other):
        with Workspace.open(folder, address=url) as workspace:
            page = str(part(workspace))
        assert 'href="sprint?id=fix-1"' in page
        assert here["reason"] in page
    _, out, _ = scene.run("log", "--json", "--all")
    events = [e for e in map(json.loads, out.splitlines()) if e["stream"] == "race/fix"]
    started = [e["data"] for e in events if e["type"] == "attempt-started"]
    assert len({e["number"] for e in started}) == len(started) > 1
    assert len({Path(e["path"]).parent for e in started}) == 2
    assert [e["type"] for e in events].count("race-decided") == 1
    # Nothing ran twice: a finished run of an agent is recorded once.
    ran = [e["data"] for e in map(json.loads, out.splitlines()) if e["type"] == "agent-ran"]
    assert sum(scene.calls().values()) <= len(ran) + len(started)


def test_the_page_lists_races_and_links_their_sprints(tmp_path: Path) -> None:
    """A log with a race shows its attempts, and links those whose sprints exist."""
    with Workspace.in_memory(tmp_path) as workspace:
        assert "Races" not in part(workspace)
        for name in ("old", "<b>"):
            commands = Entrant(("claude", "-p")), Entrant(("codex",), "the <i>other</i>")
            begin_race(workspace, name, ("c0ffee", commands), actor="runtime")
        goal = CreateSprint(ralph_fields("Win"))
        workspace.handle(goal, sprint_id="old-1")
        shown = str(part(workspace))
    assert shown.index("&lt;b&gt;-1") < shown.index("old-1")
    assert 'href="sprint?id=old-1"' in shown
    assert "the &lt;i&gt;other&lt;/i&gt;" in shown
    assert shown.count("<td>not-started</td>") == 4


def test_an_attempt_is_started_by_one_process(tmp_path: Path) -> None:
    """Of two processes that know the same state of a race, only one starts an attempt."""
    with Workspace.in_memory(tmp_path) as workspace:
        fields = "c0ffee", (Entrant(("claude", "-p")),)
        race, _, _ = begin_race(workspace, None, fields, actor="runtime")
        assert race.id == "race-1"
        started = AttemptStarted(1, "race-1-1", "/tree", "host", "c0ffee")
        record(workspace, race, started, actor="runtime")
        with pytest.raises(ConflictError):
            record(workspace, race, started, actor="runtime")
        _, _, is_new = begin_race(workspace, None, fields, actor="runtime")
        assert not is_new
