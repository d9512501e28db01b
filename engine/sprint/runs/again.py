"""What is typed to start a run again: its options, its budgets and its command."""

import re
from collections.abc import Sequence

from ..events import RunStarted
from .budgets import options
from .record import WORD_CHARS_MAX, WORDS_MAX

UNKNOWN = "COMMAND"
"""Stands for a command that is not known, or not known whole."""
UNKNOWN_OPTIONS = "OPTIONS"
"""Stands for options that are not known whole."""
_MASKED = "[masked: "
_NOT_UTF8 = re.compile(r"\\x[89a-f][0-9a-f]")
"""The spelling of a byte that is not UTF-8, which a shell does not read."""


def run_again(started: RunStarted | None, *, with_budgets: bool = True) -> str:
    """Return the command that starts the loop again, with the options of that run.

    What was typed is named where all of it was recorded: no word of it was cut, none had
    a secret in it. What became a rule needs not be typed again.
    """
    if started is None:
        return f"sprintlog run -- {UNKNOWN}"
    budgets = options(started) if with_budgets else ""
    typed = _joined(started.options, UNKNOWN_OPTIONS) if started.options else ""
    command = _joined(started.command, UNKNOWN) if started.command else UNKNOWN
    return " ".join(filter(None, ("sprintlog run", typed, budgets, "--", command)))


def _joined(words: Sequence[str], unknown: str) -> str:
    """Return words as a shell has them; what stands for them where one is not whole."""
    if len(words) >= WORDS_MAX or not all(map(_is_whole, words)):
        return unknown
    # Imported here: what records an event never says this.
    from shlex import join

    return join(words)


def _is_whole(word: str) -> bool:
    """Return whether a word was recorded whole, and can be printed between backticks."""
    is_cut = len(word) >= WORD_CHARS_MAX or _MASKED in word or _NOT_UTF8.search(word)
    return not is_cut and word.isprintable() and "`" not in word
