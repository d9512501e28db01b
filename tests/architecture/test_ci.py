"""CI runs the commands that the README and CONTRIBUTING name."""

import re

import pytest
import yaml

from .tree import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
SCRIPT = (ROOT / ".ci" / "run").read_text()
TARGETS = {*re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE)}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_each_command_of_a_page_exists(page: str) -> None:
    """Pages name only existing make targets."""
    named = {*re.findall(r"\bmake ([a-z][a-z-]*)", (ROOT / page).read_text())}
    assert named
    assert named <= TARGETS


def test_contributing_names_each_command() -> None:
    """CONTRIBUTING names every make target that has a help text."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert {name for name in TARGETS if f"make {name}" not in page} == {"help"}


def test_ci_runs_every_part_of_check_in_full() -> None:
    """CI runs the demo and each part of `make check`, without selecting tests."""
    parts = re.search(r"^check: (.*?) ##", MAKEFILE, re.MULTILINE)
    loop = re.search(r"^for target in (.*); do$", SCRIPT, re.MULTILINE)
    assert parts is not None
    assert loop is not None
    assert {*loop[1].split()} == {"demo", *parts[1].split()}
    assert "ARGS" not in SCRIPT


def test_the_workflow_runs_the_same_on_each_version() -> None:
    """The workflow runs `.ci/run` on every Python version that the package declares."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    declared = re.findall(
        r'"Programming Language :: Python :: (3\.\d+)"',
        (ROOT / "pyproject.toml").read_text(),
    )
    assert jobs["check"]["strategy"]["matrix"]["python"] == declared
    assert jobs["check"]["steps"][-1] == {"run": ".ci/run"}
    assert jobs["quick"]["steps"][-1] == {"run": "make quick"}
