"""The sections of the help: each has a page whose examples work."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from sprintlog.cli.help.help import LINES, PAGES, SECTIONS, page
from sprintlog.cli.main import COMMANDS, cli
from sprintlog.cli.suggest import ALIASES

from ...conftest import PLAN, Run
from .test_help import ALL

AGENT = "#!/bin/sh\ncat > /dev/null\necho 'it is done'\n"
SCRIPTS = {
    "agent.sh": "echo 'it is done'\n",
    "test.sh": "echo 7/8\n",
    "tests.sh": "echo '<testsuite><testcase name=\"a\"/></testsuite>' > junit.xml\n",
}
EXAMPLE = "  $ "
WIDTH = 80


def examples(section: str) -> list[list[str]]:
    """Return the words of each example on a section's page."""
    lines = page(section).splitlines()
    return [shlex.split(x.removeprefix(EXAMPLE)) for x in lines if x.startswith(EXAMPLE)]


@pytest.fixture
def prepared(request: pytest.FixtureRequest, section: str) -> None:
    """Prepare the data for a section's examples."""
    if section in ("plan", "set-up"):
        folder: Path = request.getfixturevalue("folder")
        (folder / "plan.yaml").write_text(PLAN)
        (folder / "old").mkdir()
        document = Path(__file__).parents[4] / "fixtures/documents/every-field.yaml"
        (folder / "old" / "PROGRESS.yaml").write_bytes(document.read_bytes())
    elif section in ("record", "journal"):
        folder = request.getfixturevalue("sprint")
        agent = folder / "bin" / "claude"
        agent.parent.mkdir()
        agent.write_text(AGENT)
        agent.chmod(0o755)
        for name, text in SCRIPTS.items():
            (folder / name).write_text(text)
        path = f"{agent.parent}{os.pathsep}{os.environ['PATH']}"
        request.getfixturevalue("monkeypatch").setenv("PATH", path)
    else:
        request.getfixturevalue("tree")
    if section == "look":
        measure = ("iteration", "measure", "--number", "1", "--metric", "test_count=1")
        request.getfixturevalue("done")(*measure)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("section", SECTIONS)
def test_examples_of_a_section_work(section: str, prepared: None, done: Run) -> None:
    """Each example of a page can be typed, one after another."""
    found = examples(section)
    assert found
    for name, *words in found:
        assert name == "sprintlog"
        if words[0] in ("wrap", "rpc"):
            # `wrap` replaces its process with the command, and `rpc` handles SIGTERM.
            program = [sys.executable, "-m", "sprintlog.cli", *words]
            subprocess.run(program, stdin=subprocess.DEVNULL, check=True)
        else:
            done(*words)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_one_page(done: Run, section: str) -> None:
    """A section is explained on one page of 80 columns, with its commands."""
    out = done("help", *section.split("-")).out
    assert out == done("help", section).out
    assert max(map(len, out.splitlines())) <= WIDTH
    assert all(line in out for line in SECTIONS[section].commands.values())
    assert page(section).rstrip("\n") in out


def test_each_command_is_in_one_section() -> None:
    """Every command is in exactly one section."""
    named = [name for one in SECTIONS.values() for name in one.commands]
    assert sorted(named) == sorted([*COMMANDS, *ALIASES])
    assert len(LINES) == len(named)


def test_every_page_is_a_section() -> None:
    """`help WORD` is unambiguous; `journal` is a section and its only command."""
    assert {*SECTIONS} & {*COMMANDS} == {"journal"}
    assert {one.stem for one in PAGES.iterdir()} == {*SECTIONS}


@pytest.mark.parametrize("name", ["status", "phase", "phase complete", "store import"])
def test_help_of_a_command_is_what_it_says_itself(done: Run, name: str) -> None:
    """`help COMMAND` shows the output of the command's -h."""
    assert done("help", *name.split()).out == done(*name.split(), "-h").out


def test_help_alone_is_the_first_screen(done: Run) -> None:
    """`help` alone shows the output of --help."""
    assert done("help").out == done("--help").out


def test_the_whole_names_every_command(done: Run) -> None:
    """`help --all` lists each command and subcommand on one line."""
    lines = [line.strip() for line in done("help", "--all").out.splitlines()]
    for name in ALL:
        assert any(line.startswith(f"{name}  ") for line in lines), name


def test_a_section_is_no_command_with_options(run: Run) -> None:
    """Extra or unknown words are refused with a suggestion."""
    result: Any = run("help", "go-bakc")
    assert (result.code, "did you mean `go-back`?" in result.err) == (2, True)
    assert run("help", "status", "more").code == 2
    assert isinstance(cli, click.Group)
