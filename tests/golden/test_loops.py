"""The events of each third-party loop in `fixtures/loops`.

`python -m tests.golden.test_loops` writes the expected events again; inspect them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
EXPECTED = FIXTURES / "expected" / "loops"
LOOPS = {
    "aiwg": "aiwg",
    "orchestrator": "orchestrator",
    "prd": "ralph/prd.json",
    "ralph-loop": "ralph-loop/ralph-loop.local.md",
}
"""The arguments of each import."""
WRITTEN = 1_780_388_400
"""The modification time of a file without stated times."""
UNDATED = ("prd",)
"""Sources without times: their events have the time of the import."""


def imported(kind: str, folder: Path) -> str:
    """Return the events of an import as lines, without values that always differ."""
    source = FIXTURES / "loops" / LOOPS[kind]
    given = folder / source.name
    if source.is_dir():
        shutil.copytree(source, given)
    else:
        shutil.copy(source, given)
        os.utime(given, (WRITTEN, WRITTEN))
    log = folder / "log"
    log.mkdir()
    _sprintlog(log, "init", "--here")
    _sprintlog(log, "import", kind, str(given))
    lines = []
    for line in _sprintlog(log, "store", "export").splitlines():
        event = json.loads(line)
        if "position" not in event:
            # The first and last line belong to the export itself.
            continue
        said = {name: event[name] for name in ("stream", "type", "at", "actor")}
        said |= {
            "observed": event.get("observed", False),
            "data": json.loads(event["payload"]),
        }
        said["data"].pop("work_tree", None)
        if kind in UNDATED:
            del said["at"]
        lines.append(json.dumps(said, ensure_ascii=False))
    text = "\n".join(lines) + "\n"
    return text.replace(str(folder), "…")


def _sprintlog(folder: Path, *words: str) -> str:
    hidden = {n: x for n, x in os.environ.items() if not n.startswith("SPRINTLOG_")}
    command = [sys.executable, "-m", "sprintlog.cli", *words]
    done = subprocess.run(
        command, cwd=folder, env=hidden, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_comes_to_the_expected_events(kind: str, tmp_path: Path) -> None:
    """The events of a source never change by accident."""
    expected = (EXPECTED / f"{kind}.jsonl").read_text()
    assert imported(kind, tmp_path) == expected


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for name in LOOPS:
        with tempfile.TemporaryDirectory() as place:
            (EXPECTED / f"{name}.jsonl").write_text(imported(name, Path(place)))
