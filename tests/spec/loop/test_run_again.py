"""The command that starts a run of the loop again."""

import pytest

from sprintlog.engine.sprint.events import Budgets, RunStarted
from sprintlog.engine.sprint.iterations.budgets import UNKNOWN, UNKNOWN_OPTIONS, run_again
from sprintlog.engine.sprint.iterations.run_record import WORD_CHARS_MAX, WORDS_MAX


def started(*command: str, options: tuple[str, ...] = ()) -> RunStarted:
    """Return a run of a command with a budget."""
    since, limits = "2026-01-15T21:00:00Z", Budgets(cost_usd=0.5)
    return RunStarted("r", since, "h", 1, "b", "boot", command, limits, options=options)


def test_it_is_the_same_command_with_its_budgets() -> None:
    """Words are quoted for a shell; budgets are included on request."""
    run = started("sh", "my agent.sh")
    line = "sprintlog run --budget-cost 0.5 -- sh 'my agent.sh'"
    assert run_again(run) == line
    assert run_again(run, with_budgets=False) == "sprintlog run -- sh 'my agent.sh'"
    assert run_again(None) == "sprintlog run -- COMMAND"


@pytest.mark.parametrize(
    "word", ["x" * WORD_CHARS_MAX, "[masked: github 12ab]", "`id`", "a\nb", "\x1b[2J"]
)
def test_what_is_not_known_whole_is_not_said(word: str) -> None:
    """A truncated, masked or multi-line word hides the complete command."""
    assert run_again(started("agent", word)).endswith(f"-- {UNKNOWN}")


def test_a_command_of_too_many_words_is_not_said() -> None:
    """With the maximum number of recorded words, it may be incomplete."""
    assert run_again(started(*["w"] * WORDS_MAX)).endswith(f"-- {UNKNOWN}")


def test_options_that_no_rule_says_are_typed_again() -> None:
    """A loop started again has the same prompt and the same rests."""
    run = started("agent", options=("--rest", "0", "--prompt-file", "my prompt.md"))
    wanted = (
        "sprintlog run --rest 0 --prompt-file 'my prompt.md' --budget-cost 0.5 -- agent"
    )
    assert run_again(run) == wanted


def test_options_that_are_not_known_whole_are_not_said() -> None:
    """A secret in an option hides all options, and a word states that there were some."""
    run = started("agent", options=("--notify", "[masked: github 12ab]"))
    wanted = f"sprintlog run {UNKNOWN_OPTIONS} --budget-cost 0.5 -- agent"
    assert run_again(run) == wanted
