"""The topics of the help: each has a page with working examples."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from sprintlog.cli.help.help import DAILY, LINES, PAGES, TOPICS, page
from sprintlog.cli.main import COMMANDS, cli

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


def examples(topic: str) -> list[list[str]]:
    """Return the words of each example of a topic's page."""
    lines = page(topic).splitlines()
    return [shlex.split(x.removeprefix(EXAMPLE)) for x in lines if x.startswith(EXAMPLE)]


@pytest.fixture
def prepared(request: pytest.FixtureRequest, topic: str) -> None:
    """Prepare what a topic's examples are about."""
    if topic == "beginning":
        folder: Path = request.getfixturevalue("folder")
        (folder / "plan.yaml").write_text(PLAN)
        (folder / "old").mkdir()
        document = Path(__file__).parents[4] / "fixtures/documents/every-field.yaml"
        (folder / "old" / "PROGRESS.yaml").write_bytes(document.read_bytes())
    elif topic in ("working", "judging", "lessons"):
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


@pytest.mark.sampled(6)
@pytest.mark.parametrize("topic", TOPICS)
def test_examples_of_a_topic_work(topic: str, prepared: None, done: Run) -> None:
    """Each example of a page can be typed, one after another."""
    found = examples(topic)
    assert found
    for name, *words in found:
        assert name == "sprintlog"
        if words[0] in ("wrap", "rpc"):
            # `wrap` replaces its process by the command, `rpc` handles SIGTERM.
            program = [sys.executable, "-m", "sprintlog.cli", *words]
            subprocess.run(program, stdin=subprocess.DEVNULL, check=True)
        else:
            done(*words)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_one_page(done: Run, topic: str) -> None:
    """A topic is explained on one page of 80 columns, with its commands."""
    out = done("help", topic).out
    assert max(map(len, out.splitlines())) <= WIDTH
    assert all(line in out for line in TOPICS[topic].commands.values())
    assert page(topic).rstrip("\n") in out


def test_each_command_is_in_one_topic() -> None:
    """No command is missing in the topics, and none is in two of them."""
    named = [name for topic in TOPICS.values() for name in topic.commands]
    assert sorted(named) == sorted(COMMANDS)
    assert len(LINES) == len(named)
    assert {*DAILY} <= {*COMMANDS}


def test_no_topic_has_the_name_of_a_command() -> None:
    """`help WORD` means one thing, and every page is a topic's."""
    assert not {*TOPICS} & {*COMMANDS}
    assert {one.stem for one in PAGES.iterdir()} == {*TOPICS}


@pytest.mark.parametrize("name", ["status", "phase", "phase complete", "import log"])
def test_help_of_a_command_is_what_it_says_itself(done: Run, name: str) -> None:
    """`help COMMAND` shows what -h of the command shows."""
    assert done("help", *name.split()).out == done(*name.split(), "-h").out


def test_help_alone_is_the_first_screen(done: Run) -> None:
    """`help` without a word shows what --help shows."""
    assert done("help").out == done("--help").out


def test_the_whole_names_every_command(done: Run) -> None:
    """`help --all` has each command and each one below it, with a line."""
    lines = [line.strip() for line in done("help", "--all").out.splitlines()]
    for name in ALL:
        assert any(line.startswith(f"{name}  ") for line in lines), name


def test_a_topic_is_no_command_with_options(run: Run) -> None:
    """More words than a topic, or another word, are refused with similar ones."""
    result: Any = run("help", "going-bakc")
    assert (result.code, "did you mean `going-back`?" in result.err) == (2, True)
    assert run("help", "status", "more").code == 2
    assert isinstance(cli, click.Group)
