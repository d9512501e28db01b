"""Pages only show existing commands and options."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from sprintlog.cli.help.help import PAGES
from sprintlog.cli.main import cli
from sprintlog.cli.typed import READING, RECORDING
from tests.cli.typed import commands_in, typed

from .generate import commands, shared_options
from .sessions import ROOT

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
QUOTED = re.compile(r"`([^`\n]+)`")
OTHERS = {"--prompt", "--stream", "--every", "--coverage", "--output", "--output-format"}
"""Options of other programs that our pages name."""
PAGES_OF_TODAY = sorted(
    [
        ROOT / "README.md",
        *PAGES.glob("*.txt"),
        *(p for p in (ROOT / "docs").rglob("*.md") if "adr" not in p.parts),
    ]
)


def prose(path: Path) -> str:
    """Return a page without its blocks of code, which are played elsewhere."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def lines_to_type(path: Path) -> Iterator[list[str]]:
    """Yield the words of every sprintlog command on a page, if it has several words."""
    for quoted in QUOTED.findall(prose(path)):
        if quoted.startswith("sprintlog ") and not re.search(r"[…$|<>&=;*]", quoted):
            found = commands_in(f"`{quoted}`")
            # A path alone is imported according to its content; no command has that name.
            yield from (x for x in found if len(x) > 1 and x != ["import", "PATH"])


@pytest.mark.parametrize("path", PAGES_OF_TODAY, ids=lambda p: p.name)
def test_every_command_of_a_page_can_be_typed(path: Path) -> None:
    """Pages name no removed command, and no argument that a command does not accept."""
    wrong = {}
    for words in lines_to_type(path):
        try:
            typed(list(words))
        except (click.MissingParameter, click.BadOptionUsage):
            pass  # A command named in a sentence may lack required arguments.
        except click.ClickException as error:
            wrong[" ".join(words)] = error.format_message()
        except click.exceptions.Exit:
            pass  # The example requests help.
    assert wrong == {}


@pytest.mark.sampled(60)
@pytest.mark.parametrize("path", PAGES_OF_TODAY, ids=lambda p: p.name)
def test_every_option_of_a_page_is_one(path: Path) -> None:
    """An option mentioned on its own belongs to a sprintlog command."""
    known = {opt for _, one in commands() for p in one.params for opt in p.opts}
    shared = [*cli.params, *shared_options(READING), *shared_options(RECORDING)]
    known |= {opt for p in shared for opt in p.opts} | {"--help", "--version"}
    named = [q for q in QUOTED.findall(prose(path)) if q.startswith("--")]
    assert {o for q in named for o in OPTION.findall(q)} - known - OTHERS == set()
