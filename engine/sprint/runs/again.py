"""What is typed to start a run again: its command, and its budgets."""

from ..events import RunStarted
from .budgets import options
from .record import WORD_CHARS_MAX, WORDS_MAX

UNKNOWN = "COMMAND"
"""Stands for a command that is not known, or not known whole."""
_MASKED = "[masked: "


def run_again(started: RunStarted | None, *, with_budgets: bool = True) -> str:
    """Return the command that starts the loop again, with the budgets of that run.

    What it hands prompts to is named where all of it was recorded: no word of it was cut,
    none had a secret in it.
    """
    budgets = options(started) if started is not None and with_budgets else ""
    return " ".join(filter(None, ("sprintlog run", budgets, "--", _command(started))))


def _command(started: RunStarted | None) -> str:
    words = () if started is None else started.command
    is_whole = 0 < len(words) < WORDS_MAX and all(map(_is_whole, words))
    if not is_whole:
        return UNKNOWN
    # Imported here: what records an event never says this.
    from shlex import join

    return join(words)


def _is_whole(word: str) -> bool:
    """Tell whether a word is as it was typed, and can stand in a line between backticks."""
    is_cut = len(word) >= WORD_CHARS_MAX or _MASKED in word
    return not is_cut and word.isprintable() and "`" not in word
