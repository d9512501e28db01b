"""The package is replaced while one of its processes works: no finished work is lost.

In each test the agent, the script or the client replaces every module with one that raises,
and deletes everything else. An installer does no worse.
"""

import json
import os
import select
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sprintlog.engine.adapters.processes import supervised
from sprintlog.engine.adapters.processes.programs import run_agent
from sprintlog.engine.sprint.answers.verdict import Answer, judge

from .conftest import Installed

PLAN = """\
phases:
  - id: build
    prompt: Build it
    gate: {script: "SCRIPT", max-retries: 1}
  - {id: ship, prompt: Ship it}
"""
SAID = '{"type":"result","subtype":"success","is_error":false,"result":"done"}'


@contextmanager
def beside(installed: Installed, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a command that stays, and end it."""
    with subprocess.Popen(
        installed.command(*words),
        cwd=installed.tree,
        env=installed.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


def line_of(process: "subprocess.Popen[str]") -> str:
    """Return the next line that a process prints; fail after a minute."""
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 60)[0]
    return process.stdout.readline()


def replace(installed: Installed) -> None:
    """Replace the package now."""
    subprocess.run(["/bin/sh", "-c", installed.upgrade()], check=True)


@pytest.mark.parametrize("keeping", [(), ("--snapshot",)])
def test_wrapped_command_outlives_an_upgrade(
    installed: Installed, keeping: tuple[str, ...]
) -> None:
    """An iteration is recorded and measured, with its files, whatever was replaced."""
    command = f"{installed.upgrade()}; echo made > made.txt; echo '{SAID}'"
    words = (*keeping, "--measure", "echo 3/4", "--", "sh", "-c", command)
    done = installed.run("wrap", *words)
    assert done.returncode == 0
    assert "not recorded" not in done.stderr
    told = {event["type"]: event["data"] for event in installed.events()}
    assert told["iteration-ended"]["number"] == 1
    assert told["agent-ran"]["status"] == "completed"
    assert told["iteration-measured"]["metrics"]["tests_passed"] == 3
    assert ("snapshot-taken" in told) == bool(keeping)


def test_loop_outlives_an_upgrade(installed: Installed) -> None:
    """Every phase and gate after an upgrade is completed by the version that started."""
    script = f"cat > /dev/null; {installed.upgrade()}; echo '{SAID}'"
    (installed.tree / "plan.yaml").write_text(PLAN.replace("SCRIPT", "echo sound"))
    installed.run("init")
    installed.run("sprint", "create", "s", "--plan", "plan.yaml")
    words = ("--snapshot", "--measure", "echo 3/4", "--", "sh", "-c", script)
    done = installed.run("run", *words)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    runs = [event["data"]["status"] for event in installed.events("agent-ran")]
    assert runs == ["completed", "completed"]
    assert len(installed.events("gate-checked", "sprint-completed")) == 2


def test_gate_outlives_an_upgrade(installed: Installed) -> None:
    """The verdict of a gate's script that replaced the package is recorded."""
    script = installed.upgrade().replace('"', '\\"')
    (installed.tree / "plan.yaml").write_text(PLAN.replace("SCRIPT", script))
    installed.run("init")
    installed.run("sprint", "create", "s", "--plan", "plan.yaml")
    for words in (("sprint", "start"), ("phase", "start", "build")):
        assert installed.run(*words).returncode == 0
    done = installed.run("gate", "run", "--phase", "build")
    assert done.returncode == 0, done.stderr
    (checked,) = installed.events("gate-checked")
    assert checked["data"]["exit_code"] == 0


def test_rpc_outlives_an_upgrade(installed: Installed) -> None:
    """A server of JSON-RPC records and answers after the package was replaced."""
    installed.run("init")
    installed.run("sprint", "create", "s", "--goal", "g")

    def ask(process: "subprocess.Popen[str]", method: str, **params: object) -> object:
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        return json.loads(line_of(process))["result"]

    with beside(installed, "rpc") as process:
        ask(process, "initialize", protocol=1)
        replace(installed)
        note = {"type": "add-note", "text": "after"}
        ask(process, "record", command=note, sprint="s")
        assert ask(process, "ask", question="status")
    assert len(installed.events("note-added")) == 1


def test_live_page_outlives_an_upgrade(installed: Installed) -> None:
    """A page server continues completely after the package was replaced."""
    pytest.importorskip("starlette", reason="needs starlette: pip install starlette")
    installed.run("wrap", "--", "true")
    with beside(installed, "serve", "--json") as process:
        url = json.loads(line_of(process))["url"]
        replace(installed)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        base, _, query = url.partition("?")
        for path in ("", "static/page.css", "api/status"):
            with opener.open(f"{base}{path}?{query}", timeout=60) as answer:
                assert answer.status == 200
                assert answer.read()


def test_hooked_session_goes_on_after_an_upgrade(installed: Installed) -> None:
    """The hooks of a session that started before an upgrade belong to the same session."""
    installed.run("init")
    for name in ("SessionStart", "Stop"):
        told = {"session_id": "1", "hook_event_name": name, "cwd": str(installed.tree)}
        assert installed.run("hook", "claude", given=json.dumps(told)).returncode == 0
        # The new version is in another folder.
        moved = installed.site.with_name("new")
        if installed.site.exists():
            installed.site.rename(moved)
            installed.environment["PYTHONPATH"] = str(moved)
    assert len({event["stream"] for event in installed.events()}) == 1
    assert len(installed.events()) == 2


def test_unknown_answer_of_a_supervisor_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose supervisor answers in another format has an unknown outcome."""
    changed = supervised._SOURCE.replace('"format": FORMAT', '"format": 2, "how": "well"')
    assert changed != supervised._SOURCE
    monkeypatch.setattr(supervised, "_SOURCE", changed)
    ran = run_agent(
        ["/bin/sh", "-c", "echo done"],
        prompt="",
        folder=tmp_path,
        environment=os.environ,
        timeout_seconds=60,
    )
    assert ran.output.text() == "done\n"
    verdict = judge(Answer("done"), exit_code=ran.exit_code, unknown=ran.unknown)
    assert verdict.status == "needs-human"
    assert str(verdict.reason).startswith("ended, outcome unknown")
