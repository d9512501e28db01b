"""Every entry point masks every form of a secret: all forms in one text."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import sprintlog
from sprintlog.cli.agents.mcp import served
from sprintlog.cli.mcp.tools import call
from sprintlog.commands import AddNote
from sprintlog.engine.service.agent_sessions.hook import take_hook
from sprintlog.projections.workspace import Workspace

from ....docs.reference.masking import FORMS
from ....rpc.conftest import Here
from ....spec.trust.test_masking_forms import expanded
from ...conftest import Run
from .test_secrets import OBSERVATION, SECRET
from .test_secrets import told as told


def examples() -> Iterator[tuple[str, str]]:
    """Yield the text and the secret of each example of each form."""
    for form in FORMS:
        for example in form["tokens"]:
            before, secret, after = expanded(example).split("#")
            yield f"{before}{secret}{after}", secret


EXAMPLES = [*examples()]
ALL = "\n".join(text for text, _ in EXAMPLES)


def leaked(folder: Path) -> set[str]:
    """Return the secrets in the name or content of any file in the log's folder."""
    files = [path for path in (folder / ".sprintlog").rglob("*") if path.is_file()]
    held = b"\n".join(path.name.encode() + path.read_bytes() for path in files)
    return {
        secret
        for _, secret in EXAMPLES
        if secret.encode() in held or json.dumps(secret)[1:-1].encode() in held
    }


def hook(folder: Path, message: dict[str, Any], *, waits: bool) -> None:
    """Hand a hook's message to the program that an agent starts."""
    content = json.dumps({"session_id": "1", "cwd": str(folder), **message}).encode()
    taken = {"start": folder, "folder": None, "safe": folder / "safe"}
    environment = {"SPRINTLOG_CORRELATION": "work-1"}
    take_hook("claude", content, environment=environment, waits=waits, **taken)  # type: ignore[arg-type]


def messages(text: str) -> Iterator[dict[str, Any]]:
    """Yield messages of hooks with a text in every field that is recorded."""
    path = f"/x/{text}"
    common = {"transcript_path": path, "agent_id": text, "agent_type": text}
    given = {"file_path": path, "command": f"cat {text}"}
    calls = {"tool_name": text, "tool_use_id": text, "tool_response": {"error": text}}
    yield {"hook_event_name": "PostToolUse", "tool_input": given, **calls, **common}
    yield {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": given}
    yield {"hook_event_name": "SessionStart", "source": text, "model": text, **common}
    yield {"hook_event_name": "SubagentStop", **common}
    yield {"hook_event_name": "StopFailure", "error": text, **common}
    yield {"hook_event_name": "SessionEnd", "reason": text, **common}
    yield {"hook_event_name": text, **common}


def by_hooks(told: Path, run: Run) -> None:
    """Pass each secret to a hook in each field: some are recorded, others spooled."""
    for number, (text, _) in enumerate(EXAMPLES):
        call_, read, *others = messages(text)
        hook(told, read if number % 2 else call_, waits=number % 3 == 0)
        if number % 20 == 0:
            for message in (*others, {**read, "session_id": text}):
                hook(told, message, waits=False)


def by_append(told: Path, run: Run) -> None:
    """Pass events as JSON lines."""
    data = {"text": ALL}
    lines = [{"type": "note-added", "data": data}, {"type": "note-added", "data": {ALL: 1}}]
    command = [sys.executable, "-m", "sprintlog.cli", "append"]
    content = "".join(json.dumps(line) + "\n" for line in lines)
    subprocess.run(command, cwd=told, input=content, text=True, check=False)
    run("append", "note-added", "--data", json.dumps(data))


def by_wrap(told: Path, run: Run) -> None:
    """Wrap a command that receives and prints secrets."""
    words = [
        "wrap",
        "--measure",
        "cat said; false",
        "--",
        "sh",
        "-c",
        "cat said; exit 3",
        ALL,
    ]
    command = [sys.executable, "-m", "sprintlog.cli", *words]
    subprocess.run(command, cwd=told, capture_output=True, check=False)


def by_library(told: Path, run: Run) -> None:
    """Call the library, with secrets in envelopes and names of values."""
    with sprintlog.open(told) as workspace:
        workspace.handle(AddNote(ALL), sprint_id="auth")
        for text, _ in EXAMPLES:
            if len(text) < 100 and text.isprintable():
                workspace.handle(AddNote("x"), sprint_id="auth", key=text[:100])


def by_rpc(told: Path, run: Run) -> None:
    """Record over the protocol for programs."""
    with Here(sprint="auth") as client:
        client.record("add-note", text=ALL)


def by_mcp(told: Path, run: Run) -> None:
    """Call the tools offered to an agent."""
    pytest.importorskip("mcp")
    caller = served("mcp-session").caller("claude-code")
    call("report", {"outcome": "done", "summary": ALL}, caller)
    call("learn", {"learning": ALL, "type": "tool-usage"}, caller)


def pieces(longest: int) -> Iterator[str]:
    """Yield texts of limited length that contain all examples together."""
    held = ""
    for text, _ in EXAMPLES:
        if len(held) + len(text) >= longest:
            yield held
            held = ""
        held += f"{text}\n"
    yield held


def by_web(told: Path, run: Run) -> None:
    """Fill every field of every form of the live page, and confirm the preview."""
    pytest.importorskip("starlette")
    from ....web import conftest as web

    started = f"version:{run('status', '--json').json['version']}"

    def filled(command: str, text: str) -> dict[str, str]:
        fields = web.ACTIONS[command].fields
        given = {one.name: text for one in fields}
        given |= {one.name: one.choices[0] for one in fields if one.choices}
        given |= {one.name: "yes" for one in fields if one.is_flag}
        words = ("--type", "bug", "--priority", "low", "--json")
        request = run("queue", "add", "x", *words).json["request"]
        real = {"request": request, "to": started, "files": ""}
        return given | {x: real[x] for x in given.keys() & real.keys()}

    server = web.make_server(partial(Workspace.open, told), [], writes=True)
    with web.writing(server) as writer:
        for text in pieces(web.TEXT_CHARS_MAX):
            for command in web.ACTIONS:
                answer = web.agree(writer, command, filled(command, text))
                assert answer.status_code == 303, answer.text
        for text, _ in EXAMPLES:
            if len(text) < 100 and text.isprintable():
                server.settings = server.settings._replace(actor=f"operator:{text}")
                command = next(iter(web.ACTIONS))
                assert web.agree(writer, command, {}).status_code == 303


def typed(*words: str) -> Callable[[Path, Run], object]:
    """Return a function that runs a command line."""

    def door(told: Path, run: Run) -> object:
        return run(*words)

    return door


DOCUMENT = {"sprint-id": "theirs", "status": "in-progress", "env": {"DB_PASSWORD": "n4me"}}
PHASES = [{"id": "a", "status": "completed", "prompt": ALL, "summary": ALL}]
FILES = {
    "said": ALL,
    "plan.json": json.dumps(
        {"phases": [{"id": "a", "prompt": ALL}], "note": {EXAMPLES[0][0]: ALL}}
    ),
    "theirs.yaml": json.dumps({**DOCUMENT, "phases": PHASES}),
    "prd.json": json.dumps(
        {"userStories": [{"id": "S", "title": "t", "notes": ALL, "passes": False}]}
    ),
    "progress.txt": f"# Progress Log\n\n---\n\n## 2026-01-02 - S1\n- did\n{ALL}\n---\n",
}
DOORS: dict[str, Callable[[Path, Run], object]] = {
    "hooks": by_hooks,
    "append": by_append,
    "wrap": by_wrap,
    "library": by_library,
    "rpc": by_rpc,
    "mcp": by_mcp,
    "web": by_web,
    "note": typed("note", ALL),
    "run": typed("run", "--no-wait", "--", "cat", "said"),
    "agent's errors": typed("run", "--no-wait", "--", "sh", "-c", "cat said >&2; exit 3"),
    "words of an agent": typed("iteration", "end", "--from", "said", "--agent", "claude"),
    "gate": typed("gate", "run"),
    "plan": typed("sprint", "create", "b", "--plan", "plan.json", "--sprint-dir", "b"),
    "goal": typed("sprint", "create", "b", "--goal", ALL, "--sprint-dir", "b"),
    "document": typed("import", "progress", "theirs.yaml"),
    "task list": typed("import", "prd", "prd.json"),
    "journal": typed("journal", "migrate", "progress.txt"),
    "learning": typed(
        *("journal", "learning", "add", ALL, "--type", "tool-usage", "--prd", "auth")
    ),
    "entry": typed(
        *("journal", "entry", "record", "auth", "--status", "completed", "--summary", ALL),
        *("--observation", json.dumps({**OBSERVATION, "title": "t", "description": ALL})),
    ),
    "request": typed("queue", "add", "x", "--type", "bug", "--priority", "low",
                     "--description", ALL),
    "measurement": typed("iteration", "end", "--build", "cat said; exit 1"),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_no_form_passes_a_door(told: Path, run: Run, door: str) -> None:
    """Whatever a secret's form and entry point, no file contains it."""
    for name, content in FILES.items():
        (told / name).write_text(content)
    before = len(run("log", "--all", "--json").lines)
    answer = DOORS[door](told, run)
    shown = run("log", "--all", "--json").out
    assert leaked(told) == set()
    assert len(shown.splitlines()) > before, answer
    assert "[masked: " in shown
    assert SECRET not in shown
