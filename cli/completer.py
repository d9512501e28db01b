"""What a shell offers when Tab is pressed: commands, options, and values from the log.

A shell asks with `_SPRINTLOG_COMPLETE`, its name, and `COMP_LINE`, the line up to the
cursor. The answer is a line for each word, a tab and its meaning behind it; `:files` or
`:folders` alone leaves it to the shell. Only the command on the line is imported.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from shlex import shlex
from typing import NamedTuple

import click

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.place.location import find as locate
from sprintlog.projections.workspace import Workspace

from .context import log_place, open_workspace
from .output import print_bytes, visible

SHELL, LINE, BREAKS = "_SPRINTLOG_COMPLETE", "COMP_LINE", "COMP_WORDBREAKS"
OFFERED_MAX = 200
FILES, FOLDERS = ":files", ":folders"
Offer = tuple[str, str]
"""A word and what it means, which may be empty."""


class Asked(NamedTuple):
    """What stands before the cursor."""

    command: click.Command
    path: tuple[str, ...]
    """The words that call the command."""
    words: list[str]
    """Those behind them."""
    parameter: click.Parameter | None
    """What the word at the cursor gives a value to; None for a command or an option."""
    begun: str
    """As much of the word as is there."""


def print_offers(root: click.Group) -> None:
    """Answer the shell that asks."""
    words, begun = words_of(os.environ.get(LINE, ""))
    asked = asked_for(root, words[1:], begun)
    before = begun.removesuffix(asked.begun)
    strip = _stripped(begun) if os.environ[SHELL] == "bash" else 0
    has_meanings = os.environ[SHELL] != "bash"
    lines = []
    for word, meaning in offers(asked)[:OFFERED_MAX]:
        said = f"\t{visible(meaning)}" if meaning and has_meanings else ""
        whole = word if word in (FILES, FOLDERS) else f"{before}{word}"[strip:]
        lines.append(f"{visible(whole)}{said}\n")
    print_bytes("".join(lines).encode(errors="backslashreplace"))


def words_of(line: str) -> tuple[list[str], str]:
    """Return the whole words of a line, and the one at its end that is begun."""
    lexer = shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        # A quote that is still open: the rest is the word that is begun.
        words.append(lexer.token)
        return words[:-1], words[-1]
    if line[-1:].isspace() or not words:
        return words, ""
    return words[:-1], words[-1]


def asked_for(root: click.Group, words: Sequence[str], begun: str) -> Asked:
    """Return what a line asks for: the command, and what its last word is for."""
    command: click.Command = root
    context = click.Context(root, info_name="sprintlog", resilient_parsing=True)
    path: list[str] = []
    behind: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not isinstance(command, click.Group) or word == "--":
            behind = [word, *rest]
            break
        if word.startswith("-"):
            found = _option(command, context, word)
            if found is not None and _takes_value(found) and "=" not in word:
                if not rest:
                    return Asked(command, (*path,), [], found, begun)
                rest.pop(0)
            continue
        below = command.get_command(context, word)
        if below is None:
            return Asked(click.Command(None), (), [], None, begun)
        path.append(word)
        command = below
        context = click.Context(command, context, word, resilient_parsing=True)
    parameter, begun = _parameter(command, context, behind, begun)
    return Asked(command, (*path,), behind, parameter, begun)


def _parameter(
    command: click.Command, context: click.Context, words: Sequence[str], begun: str
) -> tuple[click.Parameter | None, str]:
    """Return what the word at the end is a value of, and that word's value so far."""
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    waiting: click.Parameter | None = None
    given, is_free = 0, False
    for word in words:
        if waiting is not None:
            waiting = None
        elif is_free or not word.startswith("-") or word == "-":
            given += 1
            is_free = is_free or not context.allow_interspersed_args
        elif word == "--":
            is_free = True
        elif (found := _option(command, context, word)) is not None:
            waiting = found if _takes_value(found) and "=" not in word else None
    if waiting is not None:
        return waiting, begun
    if begun.startswith("-") and not is_free:
        name, equals, value = begun.partition("=")
        found = _option(command, context, name) if equals else None
        return (found, value) if found is not None else (None, begun)
    for argument in arguments:
        given -= max(argument.nargs, 1)
        if given < 0 or argument.nargs < 0:
            return argument, begun
    return None, begun


def offers(asked: Asked) -> list[Offer]:
    """Return the words that fit, each once, those of a group in the order of its help."""
    if asked.parameter is not None:
        found = _values(asked, asked.parameter)
    elif asked.begun.startswith("-"):
        found = _options(asked)
    else:
        found = _commands(asked)
    fitting = (one for one in found if one[0].startswith((asked.begun, ":f")))
    return list(dict(fitting).items())


def _commands(asked: Asked) -> Iterator[Offer]:
    if not isinstance(asked.command, click.Group):
        return
    context = click.Context(asked.command)
    if not asked.path:
        from .help.topics import LINES

        yield from LINES.items()
        return
    for name in asked.command.list_commands(context):
        command = asked.command.get_command(context, name)
        first = ((command and command.help) or "").partition("\n\n")[0]
        yield name, " ".join(first.split())


def _options(asked: Asked) -> Iterator[Offer]:
    context = click.Context(asked.command, info_name="sprintlog")
    given = {word.partition("=")[0] for word in asked.words}
    for parameter in asked.command.get_params(context):
        if isinstance(parameter, click.Option):
            names = [*parameter.opts, *parameter.secondary_opts]
            if parameter.multiple or not given & {*names}:
                meaning = " ".join((parameter.help or "").split())
                yield from ((name, meaning) for name in names if name.startswith("--"))


def _values(asked: Asked, parameter: click.Parameter) -> Iterator[Offer]:
    if isinstance(parameter.type, click.Choice):
        yield from ((str(choice), "") for choice in parameter.type.choices)
    elif isinstance(parameter.type, click.Path) or parameter.name in _PATHS:
        yield (FOLDERS if parameter.name in _FOLDERS else FILES), ""
    elif (find := _finder(parameter)) is not None:
        try:
            start, folder = log_place()
            # Who presses a key makes nothing: not the folder of a log on a server, either.
            locate(start, folder=folder)
            with open_workspace(check_head=False) as workspace:
                yield from find(workspace, _sprint(asked))
        except SprintlogError:
            # Without a log, or with one that cannot be read, there is nothing to offer.
            return


def _sprint(asked: Asked) -> str | None:
    """Return the sprint that the line names."""
    for word, following in pairwise([*asked.words, ""]):
        if word == "--sprint":
            return following
        if word.startswith("--sprint="):
            return word.partition("=")[2]
    return os.environ.get("SPRINTLOG_SPRINT") or None


Find = Callable[[Workspace, str | None], Iterator[Offer]]


def _finder(parameter: click.Parameter) -> Find | None:
    """Return what finds the values of a parameter in the log."""
    # Imported here: what is offered for commands and options needs no log.
    from . import offered

    if parameter.metavar in ("POINT", "FROM", "TO", "[TO]", "[iter:N|N]"):
        return offered.points
    return offered.BY_NAME.get(str(parameter.name))


_FOLDERS = {"folder", "into", "sprint_dir", "target", "workflows"}
_PATHS = {"paths", "files", "agent", "reports", "sources", "prompt_file", "into"}
"""Texts that name files, though a command does not take them for paths."""


def _option(
    command: click.Command, context: click.Context, word: str
) -> click.Option | None:
    name = word.partition("=")[0]
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option) and name in parameter.opts:
            return parameter
    return None


def _takes_value(option: click.Option) -> bool:
    return not (option.is_flag or option.count)


def _stripped(begun: str) -> int:
    """Return how much of a word bash takes for another word, and keeps itself."""
    breaks = os.environ.get(BREAKS, "")
    return max((begun.rfind(char) + 1 for char in breaks if not char.isspace()), default=0)
