"""The page of formats names all that the tables of the code and the fixtures name."""

import click
import pytest

from sprintlog.cli.begin.import_ import command
from sprintlog.cli.upkeep.export import FORMATS
from sprintlog.engine.adapters.measurement.formats import FORMATS as REPORTS
from sprintlog.engine.sprint.state.words import AGENTS

from . import formats


def test_every_format_is_described() -> None:
    """All agents, reports and exports in the code are described, and nothing else is."""
    assert {*formats.IGNORED} == {*formats.AGENTS} == {*AGENTS}
    assert {*formats.REPORTED} == {*REPORTS}
    assert {*formats.EXPORTED} == {*FORMATS}
    assert isinstance(command, click.Group)
    assert {*formats.LEFT_OUT} <= {*command.commands}


@pytest.mark.parametrize(
    ("agent", "form", "data"),
    [
        ("antigravity", "output", "outcome, final answer, tokens, tool calls"),
        ("copilot", "output", "outcome, final answer, tool calls, changed files"),
        ("copilot-chat", "transcript", "outcome, final answer, tokens, tool calls"),
        ("cursor", "output", "outcome, final answer, tokens, tool calls, changed files"),
        ("droid", "output", "outcome, final answer, tokens, tool calls"),
        ("pi", "output", "outcome, final answer, tokens, cost, tool calls"),
        ("pi", "transcript", "outcome, final answer, tokens, cost, tool calls"),
    ],
)
def test_the_data_of_agents(agent: str, form: str, data: str) -> None:
    """The table states the data that the fixtures of an agent contain, and no other."""
    shown = dict(zip(formats.COLUMNS, formats.provided()[agent, form], strict=True))
    assert [name for name, is_there in shown.items() if is_there] == data.split(", ")
    words = ("yes" if is_there else "no" for is_there in shown.values())
    assert f"| `{agent}` | {form} | {' | '.join(words)} |" in formats.agents_table()
