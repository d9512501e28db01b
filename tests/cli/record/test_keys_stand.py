"""What an idempotency key stands for never changes: a repeated command is known."""

import shlex
from pathlib import Path

from sprintlog.projections.workspace import Workspace

from ..conftest import Run

KEYS = Path(__file__).parents[3] / "fixtures" / "keys.txt"
"""Commands, each behind the digest that a log keeps with its key."""
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


def test_every_command_keeps_its_digest(folder: Path, run: Run) -> None:
    """The same words give the digest that logs of earlier versions hold."""
    for name, text in PLANS.items():
        (folder / name).write_text(text)
    assert run("init", "--here").code == 0
    lines = [line.split(" ", 1) for line in KEYS.read_text().splitlines()]
    for number, (_, words) in enumerate(lines):
        actor = ("--actor", "operator:ana")
        result = run(*shlex.split(words), "--key", f"k{number}", *actor)
        assert result.code == 0, (words, result.err)
    with Workspace.open(folder) as workspace:
        found = [workspace.log.find_key(f"k{number}") for number in range(len(lines))]
    digests = [events[0].key_digest.hex() for events in found if events[0].key_digest]
    assert digests == [digest for digest, _ in lines]
