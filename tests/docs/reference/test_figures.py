"""The number of commands, and of options that are explained more than once."""

from collections import Counter

import click
import pytest

from sprintlog.cli.help.help import page
from sprintlog.cli.typed import READING, RECORDING

from ..generate import commands, figures, how_many, own_options, shared_options

COMMANDS_MAX = 144
"""Five were added for races, which are started, joined, shown, applied and cleaned. One
was added for accepting changed tests; eight for a page, servers, trust and programs; four
for extensions; one that sets up a work tree in one step."""
OWN_OPTIONS_MAX = 466
"""To add more than these, merge some, or give the reason here.

Automatic work of a loop is specified for `run`, and in `rules set` for custom loops.
Two were added for tools for agents: an omitted part of a server and the owner of its
prompt. Two were added for exports to other tools, and two for a process that many
programs share. `--measure-build` is an option of `wrap`, `run` and `rules set`, which
measure a command each. `wrap --wait` waits like `run`, and `sprint create
--max-failures` is for a goal, which has no file for a retry policy. `run
--idle-timeout` and `run --fallback` are about the agents of one run. `--on-tamper` is
an option of `run` and `rules set`, and `iteration accept` requires a reason. `status
--short` is for shell prompts, and `status --verbose` prints the lines that 15 lines
omit. `--until` completes a goal, which is given to `sprint create` and `run`. `setup`
previews, checks and removes its changes in a project or for a user, and asks for copies
of transcripts. `--log` names the logs of commands that read several, and `list --by`
groups their iterations. `restore --from` names another sprint, and its `--force` is that of
`rollback`. `run --goal` and `--max-iterations` define a missing sprint. Races have eight:
what differs between attempts, their number and place, and the preparation of worktrees.
`note` sends notes to an agent, with two options. `race apply` names an attempt, a branch or
a patch, and `race clean` may discard files; both preview.
"""
SAME_MAX = 12
"""An option that means the same in more commands belongs on the page of a topic."""


def test_there_are_not_many() -> None:
    """The number of commands and of options explained in a command's help stays small."""
    found = figures()
    assert found.commands <= COMMANDS_MAX
    assert found.own <= OWN_OPTIONS_MAX
    assert f"{found.commands} commands" in how_many()


def test_what_many_have_is_explained_once() -> None:
    """No option of the same meaning is explained in the help of many commands."""
    found = Counter(
        (option.opts[0], option.help)
        for _, command in commands()
        for option in own_options(command)
    )
    assert [key for key, count in found.items() if count > SAME_MAX] == []


@pytest.mark.parametrize("topic", [READING, RECORDING])
def test_a_topic_explains_each_shared_option(topic: str) -> None:
    """A topic's page has a line for each of its options, and for no others."""
    lines = page(topic).splitlines()
    told = [line.split()[0] for line in lines if line.startswith("  --")]
    assert sorted(told) == sorted(option.opts[0] for option in shared_options(topic))


@pytest.mark.parametrize("path", ["sprintlog phase complete", "sprintlog status"])
def test_help_begins_with_its_own_options(path: str) -> None:
    """A command's own options come first; one sentence refers to the rest."""
    command = dict(commands())[path]
    said = command.get_help(click.Context(command, info_name=path))
    own, shared = said.split("options, the same everywhere:")
    assert "--json" not in own
    assert all(option.opts[0] in own for option in own_options(command))
    assert "--json" in shared
    assert "`sprintlog help rec" in shared or "`sprintlog help reading`" in shared
