"""A target for each reader of foreign input: any bytes cause at worst a message.

`read` receives any bytes. It returns, or raises an error that a caller prints as one line;
anything else is a defect.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from sprintlog.cli.begin.import_path import recognise
from sprintlog.cli.importers import markdown
from sprintlog.cli.importers.aiwg import read_aiwg
from sprintlog.cli.importers.orchestrator import read_orchestrator
from sprintlog.cli.importers.ralph_loop import read_ralph_loop
from sprintlog.cli.importers.task_lists import read_task_lists
from sprintlog.cli.intake import files, journal, metrics, progress, queue
from sprintlog.cli.intake.definition import compile_files
from sprintlog.cli.settings.file import read_settings
from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.adapters.hooks.hook_calls import HookPlace
from sprintlog.engine.adapters.hooks.hook_input import OddHookError, hear_hook
from sprintlog.engine.adapters.hooks.transcript_calls import READERS, TranscriptCalls
from sprintlog.engine.adapters.measurement import formats
from sprintlog.engine.adapters.reports import parsers
from sprintlog.engine.adapters.reports.report import Report
from sprintlog.engine.adapters.snapshots.without_text import unzipped, without
from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.journal import rules as of_journal
from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.lines import read_lines
from sprintlog.engine.masking import mask, secrets_in
from sprintlog.engine.service.agent_sessions.spool import DamagedDraftError, unpack
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sessions.names import AGENTS, session_stream
from sprintlog.engine.sprint import commands as of_sprint
from sprintlog.engine.sprint.plan.templates import read_template
from sprintlog.engine.sprint.state.patch import parse_path
from sprintlog.projections.health.proofs import parse_head, problems, read_proof
from sprintlog.projections.state_files.yaml.reader import AsWritten, load

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
KEPT = FIXTURES / "fuzz"
"""Inputs of our own, and what broke something once, in a folder for each target."""
SEED_BYTES_MAX = 12_000
LINES_MAX = 8
Read = Callable[[bytes], object]


class Target(NamedTuple):
    """A reader, and its first inputs."""

    name: str
    open: Callable[[Path], Read]
    """Returns the reader; the folder is its own."""
    seeds: tuple[str, ...]
    """Patterns of files below `fixtures`."""
    by_line: bool = False
    """Whether each line of a seed is one."""

    def corpus(self) -> list[bytes]:
        """Return the reader's first inputs, and those that once broke it."""
        found = [b"", *(path.read_bytes() for path in self.kept())]
        for path in (path for one in self.seeds for path in sorted(FIXTURES.glob(one))):
            content = path.read_bytes()
            parts = content.splitlines() if self.by_line else [content]
            found += [part[:SEED_BYTES_MAX] for part in parts[:LINES_MAX]]
        return found

    def kept(self) -> list[Path]:
        """Return the files that exist for this reader only."""
        return sorted((KEPT / self.name).glob("*"))


def _plain(read: Read) -> Callable[[Path], Read]:
    return lambda folder: read


def text_of(content: bytes) -> str:
    """Return bytes as Python receives them from a command line."""
    return content.decode("utf-8", "surrogateescape")


def run(read: Read, content: bytes) -> None:
    """Feed a reader; it may answer with a refusal."""
    try:
        read(content)
    except (SprintlogError, OddHookError, DamagedDraftError):
        return


def _yaml(content: bytes) -> object:
    load(content, file="PROGRESS.yaml")
    return load(content, file="PROGRESS.yaml", builder=AsWritten())


def _events(content: bytes) -> object:
    tag, _, data = content.partition(b"\n")
    given = files.load(data, field="--data")
    name = text_of(tag)
    reader = of_journal if name in of_journal.BY_TAG else of_sprint
    return reader.to_event(name, given)


def _stored(content: bytes) -> object:
    tag, _, data = content.partition(b"\n")
    name, _, version = text_of(tag).partition(" ")
    number = int(version[:9]) if version[:9].isdecimal() else 1
    at, none = "2026-01-15T09:00:00Z", bytes(32)
    event = RecordedEvent(
        position=1, stream="sprint/x", version=1, id="id", type=name, schema_version=number,
        at=at, recorded_at=at, actor="operator", correlation_id="c", causation_id="c",
        key=None, key_digest=None, remaining=0, observed=False, salt=b"salt", payload=data,
        payload_digest=none, hash=none,
    )  # fmt: skip
    return encode(CODEC.decode(event).remains())


def _definition(folder: Path) -> Read:
    file = folder / "SPRINT.yaml"

    def read(content: bytes) -> object:
        file.write_bytes(content)
        return compile_files(file, workflows=FIXTURES / "definitions" / "workflows")

    return read


def _workflow(folder: Path) -> Read:
    file = folder / "SPRINT.yaml"
    file.write_text("sprint-id: s\nworkflow: it\nsteps:\n  - prompt: Do it\n")
    workflow = folder / "it.yaml"

    def read(content: bytes) -> object:
        workflow.write_bytes(content)
        return compile_files(file, workflows=folder)

    return read


def _settings(folder: Path) -> Read:
    file = folder / "sprintlog.toml"

    def read(content: bytes) -> object:
        file.write_bytes(content)
        found = read_settings(os.open(file, os.O_RDONLY), file, in_project=False)
        return found and [found.checked(key) for key in found.given]

    return read


def _others(folder: Path) -> Read:
    file = folder / "session-state.json"
    loop = folder / "ralph-loop.local.md"
    history = folder / "history.jsonl"

    def read(content: bytes) -> None:
        for path in (file, loop, history):
            path.write_bytes(content)
        readers: list[tuple[Callable[[Path], object], Path]] = [
            (lambda path: read_task_lists(content, file=str(path)), file),
            (read_ralph_loop, loop),
            (read_orchestrator, history),
            (read_aiwg, file),
            *((reader, loop) for reader in markdown.READERS.values()),
            (recognise, loop),
        ]
        for reader, at in readers:
            try:
                reader(at)
            except SprintlogError:
                continue

    return read


def _reports(content: bytes) -> object:
    report = Report("report", content, Path("/nowhere"))
    for reader in formats.READERS.values():
        try:
            reader(report)
        except SprintlogError:
            continue
    with contextlib.suppress(SprintlogError):
        parsers.read(report, {"speed": "/a/0/b"})
    return formats.format_of(report)


def _hooks(content: bytes) -> object:
    for agent in AGENTS:
        try:
            hear_hook(agent, content, HookPlace("/tree", "/people/ann"))
        except OddHookError:
            continue
    return None


def _streams(content: bytes) -> object:
    hearing = OutputReader(told="do it")
    half = len(content) // 2
    hearing.feed(content[:half])
    hearing.feed(content[half:])
    return hearing.answer()


def _transcripts(content: bytes) -> None:
    for agent in READERS:
        calls = TranscriptCalls(agent, session_stream(agent, "s-1"), HookPlace("/tree"))
        calls.take(content.split(b"\n"))
        assert len(calls.calls) <= len(content)


def _exchange(content: bytes) -> object:
    return [*read_lines(content.splitlines(keepends=True), file="log.jsonl")]


def _head(content: bytes) -> object:
    return parse_head(text_of(content), file="HEAD.txt")


def _proof(folder: Path) -> Read:
    file = folder / "proof.json"

    def read(content: bytes) -> object:
        file.write_bytes(content)
        return problems(read_proof(file), file="proof.json")

    return read


def _masking(content: bytes) -> object:
    text = text_of(content)
    secrets_in(text)
    return mask(text)


def _packed(content: bytes) -> object:
    assert len(unzipped(content)) <= 64 << 20
    return without(content, lambda given: given.replace(b"secret", b"[erased]"))


def _requests(content: bytes) -> object:
    return queue.read_requests(text_of(content), file="requests.jsonl")


def _served(folder: Path) -> Read:
    """Return a client of the live page; the answer is never an internal error."""
    from sprintlog.projections.workspace import Workspace
    from tests.web.conftest import HOST, TOKEN, make_app, make_log, make_server

    make_log(folder)
    app = make_app(make_server(lambda: Workspace.open(folder), [], writes=True))

    async def ask(scope: Any, body: bytes) -> int:
        status = 0
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return given.pop() if given else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]

        await asyncio.wait_for(app(scope, receive, send), 30)
        return status

    def read(content: bytes) -> None:
        head, _, body = content.partition(b"\n\n")
        first, *lines = head.split(b"\n")
        method, _, address = first.partition(b" ")
        path, _, query = address.partition(b"?")
        if not (path.isascii() and query.isascii() and method.isalpha()):
            return
        asked = unquote(path.decode()) or "/"
        if "/events" in asked or asked.startswith("/healthz"):
            # Endless streams are not started here; `tests/web` tests them.
            return
        headers = [
            (b"host", HOST.encode()),
            (b"authorization", b"Bearer " + TOKEN.encode()),
        ]
        headers += [
            (name.strip().lower(), value.strip())
            for name, _, value in (line.partition(b":") for line in lines[:20])
        ]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1",
            "method": method.decode().upper(), "scheme": "http",
            "path": asked, "raw_path": path, "root_path": "",
            "query_string": query, "headers": headers, "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8642), "state": {},
        }  # fmt: skip
        with ThreadPoolExecutor(1) as thread:
            # A browser in other tests may run an event loop in this thread.
            status = thread.submit(lambda: asyncio.run(ask(scope, body))).result()
        assert status < 500, status

    return read


TARGETS = {
    target.name: target
    for target in (
        Target("yaml", _plain(_yaml), ("expected/*.yaml", "yaml/*")),
        Target("json", _plain(files.load), ("documents/*.json", "yaml/*")),
        Target(
            "progress",
            _plain(lambda given: progress.read_progress(given, file="PROGRESS.yaml")),
            ("documents/every-field.yaml", "expected/*PROGRESS.yaml"),
        ),
        Target(
            "plan",
            _plain(lambda given: progress.read_plan(given, file="plan.yaml")),
            ("documents/every-field.yaml", "expected/definition-*.yaml"),
        ),
        Target(
            "nodes",
            _plain(lambda given: progress.read_nodes(given, file="x.yaml", key="phases")),
            ("expected/gates*.yaml", "expected/injected*.yaml"),
        ),
        Target("definition", _definition, ("definitions/*/SPRINT.yaml",)),
        Target("workflow", _workflow, ("definitions/workflows/*.yaml",)),
        Target(
            "journal",
            _plain(lambda given: journal.read_journal(given, file="progress.json")),
            ("documents/journal.json", "expected/*.progress.json"),
        ),
        Target(
            "metrics",
            _plain(lambda given: metrics.check_metrics_file(given, file="m.json")),
            ("expected/*best.yaml",),
        ),
        Target("requests", _plain(_requests), ()),
        Target(
            "queue-rules",
            _plain(lambda given: queue.read_rules(given, file="rules.yaml")),
            (),
        ),
        Target("settings", _settings, ()),
        Target(
            "others", _others, ("loops/**/*.json*", "loops/**/*.md", "loops/**/.aider*")
        ),
        Target("append", _plain(_events), ()),
        Target("stored", _plain(_stored), ()),
        Target("exchange", _plain(_exchange), ("logs/*.jsonl",)),
        Target("hooks", _plain(_hooks), ("hooks/*.json*",), by_line=True),
        Target("streams", _plain(_streams), ("agents/*.json*",)),
        Target(
            "transcripts", _plain(_transcripts), ("agents/*transcript*", "agents/*.jsonl")
        ),
        Target("spool", _plain(unpack), ()),
        Target("reports", _plain(_reports), ("reports/*",)),
        Target("head", _plain(_head), ()),
        Target("proof", _proof, ()),
        Target(
            "prompt",
            _plain(lambda given: read_template(text_of(given), file="prompt.md")),
            ("expected/prompts/*",),
        ),
        Target("field-path", _plain(lambda given: parse_path(text_of(given))), ()),
        Target(
            "masking", _plain(_masking), ("keys.txt", "agents/gemini-refused-errors.txt")
        ),
        Target("packed", _plain(_packed), ()),
        Target("served", _served, ()),
    )
}
"""Every reader of foreign input, by its name."""
