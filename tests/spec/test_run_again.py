"""What is typed to start a run of the loop again."""

import pytest

from sprintlog.engine.sprint.events import Budgets, RunStarted
from sprintlog.engine.sprint.runs.again import UNKNOWN, run_again
from sprintlog.engine.sprint.runs.record import WORD_CHARS_MAX, WORDS_MAX


def started(*command: str) -> RunStarted:
    """Return a run of a command with a budget."""
    limits = Budgets(cost_usd=0.5)
    return RunStarted("r", "2026-01-15T21:00:00Z", "h", 1, "b", "boot", command, limits)


def test_it_is_the_same_command_with_its_budgets() -> None:
    """Words are quoted as a shell needs it; budgets are said where they are wanted."""
    run = started("sh", "my agent.sh")
    line = "sprintlog run --budget-cost 0.5 -- sh 'my agent.sh'"
    assert run_again(run) == line
    assert run_again(run, with_budgets=False) == "sprintlog run -- sh 'my agent.sh'"
    assert run_again(None) == "sprintlog run -- COMMAND"


@pytest.mark.parametrize(
    "word", ["x" * WORD_CHARS_MAX, "[masked: github 12ab]", "`id`", "a\nb", "\x1b[2J"]
)
def test_what_is_not_known_whole_is_not_said(word: str) -> None:
    """A word that was cut, masked or cannot stand on a line hides the whole command."""
    assert run_again(started("agent", word)).endswith(f"-- {UNKNOWN}")


def test_a_command_of_too_many_words_is_not_said() -> None:
    """Of so many words as are recorded at most nobody knows whether they were all."""
    assert run_again(started(*["w"] * WORDS_MAX)).endswith(f"-- {UNKNOWN}")
