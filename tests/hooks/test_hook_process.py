"""`sprintlog hook` as a process: it never disturbs the agent, whatever its input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sprintlog.engine.service.agent_sessions.spool import count_odd

from .conftest import SPRINTLOG, Hook, after_tool, events_of


def test_a_call_is_one_event_in_its_session(log: Path, hook: Hook) -> None:
    """A hook's call is recorded once, by the agent, however often it is sent."""
    hook("claude", after_tool())
    hook("claude", after_tool())
    (event,) = events_of(log)
    assert (event.stream, event.type) == ("session/claude-s-1", "tool-called")
    assert event.actor == "agent:claude"
    assert event.correlation_id == "session/claude-s-1"
    assert b"make test" in (event.payload or b"")
    assert b"fine" not in (event.payload or b"")


def test_without_a_log_nothing_is_left(folder: Path, hook: Hook) -> None:
    """Without a log, a hook records and creates nothing."""
    hook("claude", after_tool())
    assert list(folder.iterdir()) == []
    assert not Path(os.environ["XDG_STATE_HOME"]).exists()


@pytest.mark.parametrize("way", ["variable", "file"])
def test_where_recording_is_off_nothing_is_recorded(
    log: Path, hook: Hook, folder: Path, way: str
) -> None:
    """SPRINTLOG_OFF, and `off` in the work tree's settings, also apply to hooks."""
    if way == "file":
        (folder / "sprintlog.toml").write_text("[record]\noff = true\n")
        hook("claude", after_tool())
    else:
        hook("claude", after_tool(), SPRINTLOG_OFF="1")
    assert events_of(log) == []


def test_a_named_log_is_the_one(log: Path, hook: Hook, tmp_path: Path) -> None:
    """SPRINTLOG_DIR names the log from anywhere."""
    away = tmp_path / "away"
    log.rename(away)
    hook("claude", after_tool(), SPRINTLOG_DIR=str(away))
    assert len(events_of(away)) == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b"hello", after_tool()[:-4], b"x" * 99]
)
def test_what_nobody_understands_is_kept_aside(
    log: Path, hook: Hook, content: bytes
) -> None:
    """Invalid input records nothing; its beginning is stored once, for inspection."""
    hook("claude", content)
    hook("claude", content)
    assert events_of(log) == []
    assert count_odd(log) == 1
    kept = next((log / "not-understood").iterdir())
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_secret_in_odd_input_is_masked(log: Path, hook: Hook) -> None:
    """Quarantined input contains no known form of a secret."""
    hook("claude", b'{"a": "ghp_' + b"a1B2c3D4e5F6g7H8i9J0" * 2 + b'"')
    (kept,) = (log / "not-understood").iterdir()
    assert b"ghp_a1" not in kept.read_bytes()


def test_a_huge_input_is_read_away(log: Path, folder: Path) -> None:
    """Of 100 MiB the end is dropped: the writer does not fail."""
    process = subprocess.Popen(
        [*SPRINTLOG, "hook", "claude"], cwd=folder, stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    piece = b"[" + b"1," * (512 * 1024)
    for _ in range(100):
        process.stdin.write(piece)
    process.stdin.close()
    assert process.wait() == 0
    assert events_of(log) == []
    assert count_odd(log) == 1


def test_a_hook_imports_nothing_of_sprints(log: Path) -> None:
    """A hook's process imports neither click nor modules about sprints."""
    code = (
        "import os, sys\n"
        "end = os._exit\n"
        "def leave(code):\n"
        "    print(*sys.modules, flush=True)\n"
        "    end(code)\n"
        "os._exit = leave\n"
        "sys.argv = ['sprintlog', 'hook', 'claude']\n"
        "from pathlib import Path\n"
        "Path('.sprintlog/hook-beat').touch()\n"
        "from sprintlog.cli.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=after_tool(), capture_output=True, check=True
    )
    modules = set(done.stdout.decode().split())
    assert modules.isdisjoint({"click", "hashlib", "tomllib", "pydantic", "yaml"})
    engine = "sprintlog.engine."
    assert not {m for m in modules if m.startswith((engine + "sprint", engine + "journal"))}
    assert "sprintlog.engine.log.stores.sqlite.store" in modules
    assert "sprintlog.engine.service.workspace" not in modules


@pytest.mark.long
def test_a_hook_beats_for_the_sprint_once_a_minute(
    log: Path, hook: Hook, folder: Path
) -> None:
    """The running sprint gets one heartbeat, caused by the agent's action."""
    plan = folder / "plan.yaml"
    plan.write_text("phases:\n  - id: build\n    prompt: Build it\n")
    for words in (["sprint", "create", "demo", "--plan", str(plan)], ["sprint", "start"]):
        subprocess.run([*SPRINTLOG, *words], cwd=folder, check=True, capture_output=True)
    for call in ("one", "two", "three"):
        hook("claude", after_tool(call))
    beats = [e for e in events_of(log) if e.type == "activity-seen"]
    calls = [e for e in events_of(log) if e.type == "tool-called"]
    assert len(beats) == 1
    assert len(calls) == 3
    assert beats[0].causation_id == calls[0].id
    assert beats[0].correlation_id == calls[0].correlation_id
    assert beats[0].actor == "agent:claude"


def test_work_is_named_by_whoever_started_it(log: Path, hook: Hook) -> None:
    """Events contain the work of the `run` or `wrap` that started the agent."""
    hook("claude", after_tool("one"), SPRINTLOG_CORRELATION="work-1")
    hook("claude", after_tool("two"), SPRINTLOG_CORRELATION="no\nname")
    assert [e.correlation_id for e in events_of(log)] == ["work-1", "session/claude-s-1"]


@pytest.mark.parametrize(("session", "told"), [("s-1", (3, 20)), ("another", (None, None))])
def test_a_plugin_loop_is_read_while_its_file_is_there(
    log: Path, hook: Hook, folder: Path, session: str, told: tuple[int | None, int | None]
) -> None:
    """At the end of a turn, the `ralph-loop` plugin's count of its session is stored."""
    (folder / ".claude").mkdir()
    head = f"---\niteration: 3\nmax_iterations: 20\nsession_id: {session}\n---\n"
    (folder / ".claude" / "ralph-loop.local.md").write_text(f"{head}iteration: 9\n")
    hook("claude", after_tool(hook_event_name="Stop"))
    (event,) = events_of(log)
    said = json.loads(event.payload or b"")
    assert (said.get("loop_iteration"), said.get("loop_max")) == told


def test_a_link_in_the_place_of_the_plugins_file_is_not_followed(
    log: Path, hook: Hook, folder: Path, tmp_path: Path
) -> None:
    """Files outside the tree are not read for it."""
    (tmp_path / "secret.md").write_text("---\niteration: 3\n---\n")
    (folder / ".claude").mkdir()
    (folder / ".claude" / "ralph-loop.local.md").symlink_to(tmp_path / "secret.md")
    hook("claude", after_tool(hook_event_name="Stop"))
    (event,) = events_of(log)
    assert "loop_iteration" not in json.loads(event.payload or b"")
