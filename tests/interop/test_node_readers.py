"""Values that TypeScript readers load from our files: js-yaml 4 and 5, and yaml 2.

Runs if Node is installed and the packages of `package.json` are in `node_modules` next to
it (`npm install` installs them there) or in `SPRINTLOG_NODE_MODULES`.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sprintlog.projections.state_files.yaml.writer import dump
from tests import needs

HERE = Path(__file__).parent
FIXTURE = HERE.parents[1] / "fixtures" / "yaml" / "nasty.json"
PACKAGES = ("js-yaml-4", "js-yaml-5", "yaml")
SECONDS_MAX = 300


class Readings(NamedTuple):
    """The differences of each reader, and js-yaml 4's text for the same data."""

    failures: list[str]
    dumps: list[str]


def node_modules(packages: Sequence[str] = PACKAGES) -> Path:
    """Return the folder with these packages; skip the test if there is none."""
    folder = Path(os.environ.get("SPRINTLOG_NODE_MODULES") or HERE / "node_modules")
    needs.program("node")
    missing = [name for name in packages if not (folder / name).is_dir()]
    if missing:
        needs.skip(f"the npm packages {missing}", "npm install in tests/interop")
    return folder


def read_with_node(pairs: Sequence[tuple[str, str]], modules: Path) -> Readings:
    """Read each YAML text with every reader and compare it to the JSON next to it."""
    done = subprocess.run(
        ["node", str(HERE / "read.mjs"), str(modules)],
        input=json.dumps([{"yaml": text, "json": data} for text, data in pairs]),
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    failures = [f"pair {f['index']}, {f['reader']}: {f['got']}" for f in answer["failures"]]
    return Readings(failures, answer["dumps"])


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    """Return the nasty documents and their texts."""
    content: dict[str, Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def readings(table: dict[str, Any]) -> Readings:
    """Return Node's results for our texts of unusual documents."""
    documents = [case["document"] for case in [*table["same"], *table["differing"]]]
    pairs = [(dump(document), json.dumps(document)) for document in documents]
    return read_with_node(pairs, node_modules())


def test_every_node_reader_gets_the_values_back(readings: Readings) -> None:
    """No TypeScript reader mistakes an unusual value for something else."""
    assert readings.failures == []


def test_node_confirms_what_js_yaml_writes(
    table: dict[str, Any], readings: Readings
) -> None:
    """The table's texts are those that js-yaml 4 writes."""
    same = [case["yaml"] for case in table["same"]]
    differing = [case["js_yaml"] for case in table["differing"]]
    assert readings.dumps == [*same, *differing]


def test_node_notices_a_wrong_value() -> None:
    """The comparison detects a type that JSON would hide: a date for a string."""
    pairs = [("a: 2026-01-15T09:00:00Z\n", '{"a": "2026-01-15T09:00:00.000Z"}')]
    assert len(read_with_node(pairs, node_modules()).failures) == len(PACKAGES)
