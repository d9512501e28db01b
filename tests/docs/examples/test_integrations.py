"""The files to copy work as documented: the parts without the service are tested."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.sql.read_model import refreshed
from sprintlog.projections.sql.schema import TABLES
from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.text.openmetrics import METRICS
from sprintlog.projections.workspace import Workspace
from tests import needs

from ...exports.test_formats import damage
from ...exports.told import told_log
from ..sessions import ROOT

FILES = ROOT / "docs" / "integrations"
SHIM = FILES / "npm" / "bin" / "sprintlog.js"
NODE = shutil.which("node")
needs_node = needs.unless(NODE, "node", needs.INSTALL["node"])
SAYS = """#!/bin/sh
echo "$(basename "$0")" "$@"
exit 7
"""
WAITS = """#!/bin/sh
trap 'echo ended; exit 9' TERM
echo ready
for _ in $(seq 400); do sleep 0.05; done
"""


def program(folder: Path, name: str, text: str = SAYS) -> Path:
    """Create a program in a folder; return the folder."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return folder


def shim(*words: str, path: str, at: Path) -> subprocess.CompletedProcess[str]:
    """Run the shim in a folder, with a PATH."""
    assert NODE is not None
    done = (NODE, str(SHIM), *words)
    env = {"PATH": path}
    return subprocess.run(
        done, cwd=at, env=env, capture_output=True, text=True, check=False, timeout=300
    )


def version() -> str:
    """Return the version of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def test_they_are_of_the_same_version() -> None:
    """The shim and the formula have the version in pyproject.toml."""
    package = json.loads((FILES / "npm" / "package.json").read_text())
    assert package["version"] == version()
    formula = (FILES / "homebrew" / "sprintlog.rb").read_text()
    assert f'version "{version()}"' in formula
    assert f"sprintlog-{version()}.tar.gz" in formula


@needs_node
def test_the_shim_runs_what_is_installed(tmp_path: Path) -> None:
    """Output passes unchanged, and the exit code is the program's."""
    folder = program(tmp_path / "bin", "sprintlog")
    done = shim("note", "a  b", "$c", path=f"{folder}:/usr/bin:/bin", at=tmp_path)
    assert (done.stdout, done.returncode) == ("sprintlog note a  b $c\n", 7)


@needs_node
def test_the_shim_fetches_nothing(tmp_path: Path) -> None:
    """If the program is not installed, no other program is asked to download it."""
    for name in ("uvx", "uv", "pipx", "pip"):
        folder = program(tmp_path / "bin", name)
    done = shim("status", path=f"{folder}:/usr/bin:/bin", at=tmp_path)
    assert (done.stdout, done.returncode) == ("", 1)
    assert "error: sprintlog is not on the PATH\nhint: in a checkout" in done.stderr


@needs_node
def test_the_shim_runs_nothing_of_the_project(tmp_path: Path) -> None:
    """No program of the work tree or its node_modules is run, whatever PATH contains."""
    program(tmp_path, "sprintlog")
    own = program(tmp_path / "node_modules", "sprintlog")
    done = shim("status", path=f".:{own}:", at=tmp_path)
    assert (done.stdout, done.returncode) == ("", 1)
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")


@needs_node
def test_the_shim_passes_signals_on(tmp_path: Path) -> None:
    """Ending the shim ends the program, which prints its end."""
    folder = program(tmp_path / "bin", "sprintlog", WAITS)
    assert NODE is not None
    with subprocess.Popen(
        (NODE, str(SHIM)),
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        started.send_signal(signal.SIGTERM)
        assert started.stdout.readline() == "ended\n"
        assert started.wait() == 9


@needs.unless(shutil.which("ruby"), "ruby", needs.INSTALL["ruby"])
def test_the_formula_is_ruby() -> None:
    """Homebrew can read it."""
    subprocess.run(("ruby", "-c", FILES / "homebrew" / "sprintlog.rb"), check=True)


def test_the_image_is_of_a_python_that_we_support() -> None:
    """The image specifies a Python version and contains the results of the build."""
    text = (FILES / "container" / "Containerfile").read_text()
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    (base,) = (line for line in text.splitlines() if line.startswith("FROM "))
    python = base.rpartition(":")[2].partition("-")[0]
    assert f"Programming Language :: Python :: {python}" in named
    assert "COPY dist/*.whl" in text
    assert os.path.basename(text.split("ENTRYPOINT")[1].strip()) == '["sprintlog"]'


def board() -> dict[str, Any]:
    """Return the board of Grafana."""
    read: dict[str, Any] = json.loads((FILES / "grafana" / "sprintlog.json").read_text())
    return read


def test_the_board_asks_for_figures_that_there_are() -> None:
    """Each panel queries metrics that `/metrics` provides under the same names."""
    suffixes = {"counter": "_total"}
    known = {f"sprintlog_{x.name}{suffixes.get(x.kind, '')}" for x in METRICS}
    asked = [target["expr"] for panel in board()["panels"] for target in panel["targets"]]
    named = {name for text in asked for name in re.findall(r"sprintlog_\w+", text)}
    assert named - known == set()
    assert len(named) > 10
    (_, sprints) = board()["templating"]["list"]
    assert re.findall(r"sprintlog_\w+", sprints["query"]) == [
        "sprintlog_sprint_events_total"
    ]


def test_the_panels_of_the_board_stand_side_by_side() -> None:
    """No two panels share an id or a position, and none exceeds the 24 columns."""
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    spots: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not spots & own, panel["title"]
        spots |= own


def steps() -> dict[str, dict[str, Any]]:
    """Return the steps of the action by their names."""
    action = load((FILES / "github" / "action.yml").read_bytes())
    return {step["name"]: step for step in action["runs"]["steps"]}


def step(name: str, at: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as a runner does, with its files."""
    programs = Path(sys.executable).parent
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    files = {f"GITHUB_{x}": str(at.parent / x) for x in ("OUTPUT", "STEP_SUMMARY")}
    env = {"PATH": path, "HOME": str(at.parent), "LC_ALL": "C.UTF-8", **files, **given}
    done = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps()[name]["run"]]
    return subprocess.run(
        done, cwd=at, env=env, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a folder with a log of two sprints."""
    place = tmp_path / "tree"
    place.mkdir()
    with told_log(place) as workspace:
        for name in workspace.sprints():
            workspace.refresh(name)
    return place


def test_the_action_verifies_and_reports(log: Path) -> None:
    """It prints the head, adds each sprint to the summary, and writes the traces."""
    verified = step("Verify", log)
    assert verified.returncode == 0, verified.stderr
    assert re.fullmatch(r"head=[0-9a-f]{64}\n", (log.parent / "OUTPUT").read_text())
    reported = step("Report", log, SPRINT="")
    assert reported.returncode == 0, reported.stderr
    summary = (log.parent / "STEP_SUMMARY").read_text()
    assert "auth" in summary
    assert "other" in summary
    assert step("Traces", log, TRACES="traces.jsonl").returncode == 0
    assert '"resourceSpans"' in (log / "traces.jsonl").read_text()


def test_the_action_fails_where_the_log_is_damaged(log: Path) -> None:
    """A changed event ends the job, and no head is printed."""
    damage(log)
    assert step("Verify", log).returncode == 4
    assert not (log.parent / "OUTPUT").exists()


def test_the_action_reports_one_sprint(log: Path) -> None:
    """Only the named sprint is reported; an unknown sprint makes the step fail."""
    assert step("Report", log, SPRINT="other").returncode == 0
    summary = (log.parent / "STEP_SUMMARY").read_text()
    assert "other" in summary
    assert "auth" not in summary
    assert step("Report", log, SPRINT="nobody").returncode != 0


def test_the_action_installs_the_repository_it_is_part_of(tmp_path: Path) -> None:
    """It is installed from the folder that the runner fetched at the commit."""
    says = '#!/bin/sh\nprintf "%s\\n" "$1"\nrealpath "$2"\n'
    programs = program(tmp_path / "bin", "pipx", says)
    path = f"{programs}:/usr/bin:/bin"
    done = step("Install", tmp_path, PATH=path, GITHUB_ACTION_PATH=str(FILES / "github"))
    assert done.stdout.splitlines() == ["install", str(ROOT)]


def test_nothing_given_is_run_by_the_action() -> None:
    """Inputs reach a script only as variables, so that none of their text is code."""
    for name, one in steps().items():
        assert "${{" not in one["run"], name


@pytest.mark.long
def test_datasette_shows_the_tables(log: Path) -> None:
    """The real program serves the tables with the descriptions of the metadata."""
    needs.package("datasette", "datasette")
    with Workspace.open(log) as workspace:
        tables = refreshed(workspace)
    metadata = FILES / "datasette" / "metadata.yaml"
    known = load(metadata.read_bytes())["databases"]["query"]
    words = [sys.executable, "-m", "datasette", str(tables), "--metadata", str(metadata)]
    done = subprocess.run(
        [*words, "--get", "/query.json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    shown = json.loads(done.stdout)
    counts = {x["name"]: x["count"] for x in shown["tables"] if not x["hidden"]}
    assert {*counts} == {*TABLES}
    assert counts["v_events"] == 24
    assert {*known["tables"]} - {"upto", "follow_ups", "open_troubles"} <= {*TABLES}
    assert {x["name"] for x in shown["queries"]} == {*known["queries"]}
    with closing(sqlite3.connect(tables)) as connection:
        for query in known["queries"].values():
            connection.execute(query["sql"]).fetchall()
