"""Recorded hooks of every agent: the same sessions in any order, repeated or parallel."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from os import environ
from pathlib import Path
from random import Random

import pytest

from sprintlog.engine.service.agent_sessions.hook import take_hook
from sprintlog.engine.service.agent_sessions.spool import append
from sprintlog.projections.workspace import Workspace

from .conftest import RECORDED, SPRINTLOG, Hook, after_tool, sessions_of

Told = list[tuple[str, bytes]]


def told() -> Told:
    """Return the inputs of all recorded hooks, with their agents."""
    return [
        (file.stem.partition("-")[0], line)
        for file in RECORDED
        for line in file.read_bytes().splitlines()
    ]


def record(folder: Path, hooks: Told) -> dict[str, set[tuple[str, str, bytes]]]:
    """Return the sessions of a new log in which hooks are recorded."""
    Workspace.init(folder, here=True).close()
    for agent, content in hooks:
        take_hook(
            agent,
            content,
            start=folder,
            folder=None,
            safe=folder / "safe",
            environment=environ,
        )
    return events_in(folder / ".sprintlog")


def events_in(log: Path) -> dict[str, set[tuple[str, str, bytes]]]:
    """Return the events of sessions, without keys that depend on the number of calls."""
    return {
        stream: {(tag, "" if tag == "turn-ended" else key, data) for tag, key, data in told}
        for stream, told in sessions_of(log).items()
    }


def ways(hooks: Told) -> Iterator[Told]:
    """Yield possible orders of hooks."""
    yield [*hooks, *hooks]
    for seed in range(3):
        mixed = [*hooks, *Random(seed).sample(hooks, len(hooks) // 2)]
        Random(seed).shuffle(mixed)
        yield mixed


@pytest.mark.long
def test_sessions_are_the_same_in_any_order(folder: Path) -> None:
    """In order, shuffled or repeated, the hooks record the same sessions."""
    hooks = told()
    as_it_was = record(folder / "first", hooks)
    assert len(as_it_was) == len(RECORDED)
    for number, way in enumerate(ways(hooks)):
        assert record(folder / str(number), way) == as_it_was


@pytest.mark.long
def test_sessions_are_the_same_from_many_processes(
    folder: Path, log: Path, hook: Hook
) -> None:
    """Processes that record at the same time lose and duplicate nothing."""
    name = next(file for file in RECORDED if file.stem == "claude-2.1.330")
    hooks = [("claude", line) for line in name.read_bytes().splitlines()]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: hook(*one), [*hooks, *hooks]))
    # Spooled input is still waiting; the next command records it.
    hook("claude", after_tool("last", session_id="other"))
    found = events_in(log)
    found.pop("session/claude-other")
    assert found == record(folder / "alone", hooks)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("count", [2, 5])
def test_each_resumption_is_a_start_and_an_end(
    folder: Path, log: Path, hook: Hook, count: int
) -> None:
    """A session that is resumed has as many starts and ends as there were."""

    def one(name: str, **fields: str) -> None:
        for _ in range(2):
            hook("claude", after_tool("c", hook_event_name=name, **fields))

    one("SessionStart", source="startup")
    for number in range(count):
        if number:
            one("SessionStart", source="resume")
        one("UserPromptSubmit", prompt="go on", prompt_id=f"p-{number}")
        one("SessionEnd", reason="other")
    (events,) = sessions_of(log).values()
    types = [kind for kind, *_ in events]
    assert types.count("session-started") == count
    assert types.count("session-ended") == count


def test_a_session_has_a_limit(
    folder: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its limit, a session accepts no more events except its end."""
    monkeypatch.setattr(f"{append.__module__}.SESSION_EVENTS_MAX", 3)
    hooks = [("claude", after_tool(str(number))) for number in range(6)]
    hooks.append(("claude", after_tool(hook_event_name="SessionEnd", prompt_id="p")))
    for agent, content in hooks:
        take_hook(agent, content, start=folder, folder=None, safe=log, environment=environ)
    (events,) = sessions_of(log).values()
    assert sorted(kind for kind, *_ in events) == ["session-ended", *["tool-called"] * 3]


def test_what_hooks_record_is_sound(folder: Path, log: Path, hook: Hook) -> None:
    """A log with sessions verifies, is exported, and imported unchanged."""
    hook("claude", after_tool())

    def ask(*words: str, **environment: str) -> bytes:
        return subprocess.run(
            [*SPRINTLOG, *words],
            cwd=folder,
            env={**environ, **environment},
            check=True,
            stdout=subprocess.PIPE,
        ).stdout

    ask("verify")
    ask("doctor")
    lines = ask("store", "export")
    (folder / "log.jsonl").write_bytes(lines)
    other = str(folder / "other")
    ask("init", SPRINTLOG_DIR=other)
    ask("store", "import", "log.jsonl", SPRINTLOG_DIR=other)
    assert ask("store", "export", SPRINTLOG_DIR=other) == lines
    assert b"tool-called" in lines
