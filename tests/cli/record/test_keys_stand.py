"""An idempotency key's meaning never changes: a repeated command is recognized."""

import shlex
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect
from msgspec.structs import asdict

from sprintlog.engine.command import Command, KeyDigest, digest
from sprintlog.engine.commands import registered
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.port import Log
from sprintlog.engine.service import handle
from sprintlog.engine.service.port import Envelope
from sprintlog.projections.workspace import Workspace

from ..conftest import Run

KEYS = Path(__file__).parents[3] / "fixtures" / "keys.txt"
"""Commands, each behind the digest that versions up to 0.1.0 recorded with its key."""
WITHOUT_DEFAULTS = KEYS.with_name("keys-without-defaults.txt")
"""Their digests without fields at their defaults, in the same order."""
PLANS = {
    "plan.yaml": """\
phases:
  - {id: a, prompt: A}
  - {id: b, prompt: B, gate: {script: "true"}}
  - {id: c, prompt: C}
  - {id: d, prompt: D}
  - {id: e, prompt: E}
""",
    "hooked.yaml": """\
mode: ralph
goal: Win
per-iteration-hooks:
  - {id: docs, prompt: Write, parallel: false, enabled: true}
  - {id: tests, prompt: Try, parallel: false, enabled: true}
phases:
  - id: build
    steps:
      - {id: one, prompt: Do one}
""",
}


def test_every_command_keeps_its_digest(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same arguments have the recorded digest, as have earlier versions'."""
    asked: list[KeyDigest] = []
    look = handle._first_answer

    def listening(log: Log, envelope: Envelope) -> list[RecordedEvent]:
        if isinstance(digest := envelope.get("key_digest"), KeyDigest):
            asked.append(digest)
        return look(log, envelope)

    monkeypatch.setattr(handle, "_first_answer", listening)
    for name, text in PLANS.items():
        (folder / name).write_text(text)
    assert run("init", "--here").code == 0
    lines = [line.split(" ", 1) for line in KEYS.read_text().splitlines()]
    for number, (earlier, words) in enumerate(lines):
        actor = ("--actor", "operator:ana")
        result = run(*shlex.split(words), "--key", f"k{number}", *actor)
        assert result.code == 0, (words, result.err)
        assert bytes.fromhex(earlier) in asked[-1].older, words
    with Workspace.open(folder) as workspace:
        found = [workspace.log.find_key(f"k{number}") for number in range(len(lines))]
    digests = [events[0].key_digest.hex() for events in found if events[0].key_digest]
    assert digests == WITHOUT_DEFAULTS.read_text().split()


class Described(Command, frozen=True):
    """A command as an earlier version had it."""

    number: int
    note: str | None = None


class DescribedInFull(Command, frozen=True, tag="described"):
    """The same with fields that were added since."""

    number: int
    by: str = "runtime"
    tags: tuple[str, ...] = ()
    note: str | None = None


@pytest.mark.parametrize("value", ["x", None])
def test_a_key_does_not_know_fields_that_were_added(value: str | None) -> None:
    """Fields with defaults change no digest; of earlier versions all fields are known."""
    earlier, today = Described(1, value), DescribedInFull(1, note=value)
    every = msgspec.json.encode(["described", asdict(earlier)], order="sorted")
    assert digest(today) == digest(earlier)
    assert sha256(every).digest() in digest(today).older
    for other in (DescribedInFull(2, note=value), DescribedInFull(1, "ana", note=value)):
        assert not {sha256(every).digest(), digest(earlier)} & {*digest(other).older}
        assert digest(other) != digest(earlier)


IN_FULL = {*("GateResult", "Redo", "RequestOrigin", "RollBack", "SubmittedRequest", "Undo")}
"""Parts of commands that keys of earlier versions hold with all their fields."""


def parts_in(info: object, found: dict[str, type[msgspec.Struct]]) -> None:
    """Collect the structs below the type of a field, by name."""
    if isinstance(info, inspect.StructType):
        if info.cls.__name__ not in found:
            found[info.cls.__name__] = info.cls
            for field in info.fields:
                parts_in(field.type, found)
        return
    for name in ("types", "item_types", "item_type", "value_type"):
        inner = getattr(info, name, ())
        for one in inner if isinstance(inner, tuple) else (inner,):
            parts_in(one, found)


def test_parts_of_commands_leave_out_their_defaults() -> None:
    """A field that is added to a part of a command changes no digest of a key."""
    found: dict[str, type[msgspec.Struct]] = {}
    for command in registered().values():
        for field in inspect.type_info(command).fields:  # type: ignore[attr-defined]
            parts_in(field.type, found)
    assert len(found) > 20
    whole = {n for n, kind in found.items() if not kind.__struct_config__.omit_defaults}
    assert whole == IN_FULL
