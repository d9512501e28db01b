"""Every answer by a `call` of `rpc` and by a process, in two copies of one work tree.

Each answer requires two processes, so only `make accept` runs this.
"""

import difflib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.agents.subprocess_commands import arguments_of
from sprintlog.projections.views.answers import ANSWERS, LINES
from tests.cli.answers import command_of
from tests.cli.conftest import done as done
from tests.cli.conftest import folder as folder
from tests.cli.conftest import made as made
from tests.cli.conftest import made_once as made_once
from tests.cli.conftest import run as run
from tests.cli.conftest import tree as tree
from tests.cli.plumbing.test_answers import QUESTIONS
from tests.cli.plumbing.test_answers import life as life
from tests.rpc.conftest import Beside, RefusedAnswer

MORE = (
    ("adopt", "1"),
    ("compile", "plan.yaml"),
    ("gate", "run", "build"),
    ("gate", "record", "build", "--exit-code", "0"),
    ("verify", "head"),
    ("store", "import", "all.jsonl"),
    ("import", "prd", "prd.json"),
    ("init",),
    ("journal", "migrate"),
    ("verify", "prove", "1"),
    ("redact", "2", "--reason", "no", "--yes"),
    ("run", "--", "true"),
    ("scan",),
    ("schema", "answers"),
    ("schema", "commands"),
    ("schema", "events"),
    ("session", "reconcile"),
)
"""Commands with answers that need more than there is; then it is their refusal."""
UNASKED = {
    "extensions project": "needs an extension",
    "serve": "does not end",
    "import aiwg": "needs a folder of another tool",
    "import orchestrator": "needs a folder of another tool",
    "import ralph-loop": "needs a folder of another tool",
    "import transcript": "needs a transcript",
}
_BY_ITSELF = re.compile(
    r"[0-9a-f]{32,64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z?|\b[0-9a-f]{7,16}\b"
)
"""Digests, salts, ids and times: they differ from one log to the next."""
_COUNTED = re.compile(
    r'"(pid|bytes|read|milliseconds|seconds|duration_ms|size|[a-z_]*age[a-z_]*)": [\d.]+'
)


def plain(answer: Any, folder: Path) -> str:
    """Return an answer without values that differ between copies."""
    text = json.dumps(answer, indent=1).replace(str(folder.parent), "PARENT")
    return _COUNTED.sub(r'"\1": N', _BY_ITSELF.sub("X", text))


def typed(words: list[str], folder: Path) -> tuple[int, Any]:
    """Return the exit code and the answer, or the error, of a command as a process."""
    command = [sys.executable, "-P", "-m", "sprintlog.cli", *arguments_of(words)]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, check=False, timeout=300
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    if ended.returncode and not lines:
        return ended.returncode, json.loads(ended.stderr.splitlines()[-1])
    is_list = command_of(words) in LINES
    return ended.returncode, lines if is_list else next(iter(lines), None)


def called(words: list[str], server: Beside) -> tuple[int, Any]:
    """Return the same answer from a `call`."""
    try:
        answer = server.client.ask("call", words=words)
    except RefusedAnswer as error:
        return -32000 - error.code, error.data
    return answer["exit_code"], answer["answer"]


def test_every_answer_is_the_same(life: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both methods return the same answers, exit statuses and refusals."""
    there = life.parent / "there" / life.name
    shutil.copytree(life.parent, there.parent, symlinks=True, copy_function=shutil.copy2)
    asked, different = set(), []
    monkeypatch.chdir(life)
    with Beside() as server:
        for words in (*QUESTIONS, *MORE):
            monkeypatch.chdir(there)
            by_process = typed([*words], there)
            monkeypatch.chdir(life)
            by_call = called([*words], server)
            asked.add(command_of(words))
            one, other = plain(by_call, life), plain(by_process, there)
            if one != other:
                lines = difflib.unified_diff(one.splitlines(), other.splitlines(), n=0)
                different.append((words, [*lines][:8]))
    print(f"{len(asked)} of {len(ANSWERS)} commands with a special answer")
    assert not different, "\n".join(map(str, different))
    assert asked | UNASKED.keys() >= ANSWERS.keys()
    assert not asked & UNASKED.keys()
