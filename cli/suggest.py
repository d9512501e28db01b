"""Suggestions for unknown words: former command names, aliases and similar words."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Any

import click

RENAMED = {
    "alerts": "iteration alerts",
    "backup": "store backup",
    "blame": "why",
    "compare": "iteration compare",
    "copy": "store copy",
    "decide": "iteration decide",
    "entry": "journal entry",
    "export": "store export",
    "extract": "restore",
    "head": "verify head",
    "import log": "store import",
    "iteration list": "list",
    "learning": "journal learning",
    "pattern": "journal pattern",
    "prove": "verify prove",
    "prune": "store prune",
    "rules": "iteration rules",
}
"""The current name of each renamed command; a renamed group includes its subcommands."""
ALIASES = {"best": "iteration best"}

WORD_CHARS_MAX = 100
SYNONYMS = """\
rollback reset back
undo revert
restore checkout
fork branch
budget-iterations max-iterations iterations max-loops max-runs max-turns
budget-cost budget max-budget max-budget-usd max-cost cost-limit
budget-time max-time max-duration time-limit
budget-tokens max-tokens token-limit tokens
measure test verify check
prompt-file prompt instructions
sprint name project
json format output-format
yes force assume-yes no-confirm f y
dry-run simulate preview n
last limit max-count count tail n
out into output o
follow watch live f w
actor author user
reason note summary description message m
"""
"""Synonyms, one group per line; the first known word of a group is suggested.

They include the names that other programs use for commands and options.
"""
LIKE_LEAST = 0.65
"""The minimum similarity for a suggestion; `files` and `rules` are not similar enough."""
KNOWN_MAX = 20_000
"""The maximum number of compared words, which limits the delay."""


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return a "did you mean" question with the most similar known word, or None."""
    meant = closest(word, islice(known, KNOWN_MAX))
    return f"did you mean `{meant}`?" if meant else None


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most similar to an unknown word, or None.

    Case is ignored; a unique end of an address or a unique beginning of a word matches.
    """
    by_lower = {one.lower().lstrip("-"): one for one in known}
    lower = word[:WORD_CHARS_MAX].lower().lstrip("-")
    if lower in by_lower or not lower:
        return by_lower.get(lower)
    for words in map(str.split, SYNONYMS.splitlines()):
        if lower in words and (meant := next(filter(by_lower.get, words), None)):
            return by_lower[meant]
    ends = [one for one in by_lower if one.endswith(f"/{lower}")]
    for alone in (ends, [one for one in by_lower if one.startswith(lower)]):
        if len(alone) == 1:
            return by_lower[alone[0]]
    like = get_close_matches(lower, by_lower, n=1, cutoff=LIKE_LEAST)
    if like:
        return by_lower[like[0]]
    # For a misspelled address, only the last part is compared.
    lasts = {one.rsplit("/", 1)[-1]: one for one in by_lower}
    like = get_close_matches(lower.rsplit("/", 1)[-1], lasts, n=1, cutoff=LIKE_LEAST)
    return by_lower[lasts[like[0]]] if like else None


def current(root: click.Context, words: list[str]) -> list[str]:
    """Return the words with an alias replaced by its command.

    Raise `click.UsageError` if the words begin with a former name.
    """
    if words[0] in ALIASES:
        return [*ALIASES[words[0]].split(), *words[1:]]
    former = next((x for n in (1, 2) if (x := " ".join(words[:n])) in RENAMED), None)
    if former is None:
        return words
    now = RENAMED[former]
    command: Any = root.command
    for word in now.split():
        command = command.get_command(root, word)
    if isinstance(command, click.Group) and {*words[1:2]} & {*command.list_commands(root)}:
        former, now = f"{former} {words[1]}", f"{now} {words[1]}"
    raise click.UsageError(f"{former!r} is now {now!r}")


def elsewhere(group: click.Context, word: str) -> str:
    """Return an error suffix stating where an unknown command is, or an empty string."""
    name, root = group.command.name, group.find_root().command
    if group.parent is None or not isinstance(root, click.Group):
        return ""
    # Users may type `iteration show 1` for `show iteration 1`.
    verb = root.get_command(group.find_root(), word)
    if isinstance(verb, click.Group) and name in verb.list_commands(group):
        return f" here: it is sprintlog {word} {name}"
    is_status = name == "goal" and word in ("show", "list")
    return " here: it is sprintlog status" if is_status else ""
