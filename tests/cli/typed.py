"""Parse the commands in a message as the command line does."""

import re
import shlex
from typing import Any, NamedTuple

import click

from sprintlog.cli.main import COMMANDS, cli

QUOTED = re.compile(r"`([^`]+)`")
FILLED_IN = {
    "N": "1",
    "NUMBER": "1",
    "VERSION": "version:1",
    "NAME": "Ada",
    "TEXT": "because",
    "ID": "req-1",
    "FILE": "/dev/null",
    "FOLDER": "/tmp",
    "NAME=VALUE": "coverage=1",
    "POINT": "version:1",
    "TO": "version:1",
    "PRD": "auth",
    "ENTRY": "auth-1",
    "WORD": "completed",
    "A": "1",
    "B": "2",
    "AGENT": "claude",
}
"""The values typed in place of capitalized words in a message."""

HOLE = "HOLE"
"""A stand-in for inserted text in a message; as a command it can be any."""
FILLED_IN[HOLE] = "1"


class Typed(NamedTuple):
    """A command as the command line understands it."""

    path: tuple[str, ...]
    """Like `("phase", "retry")`."""
    options: dict[str, Any]


def commands_in(text: str) -> list[list[str]]:
    """Return the words of every command in backquotes; `sprintlog` is optional."""
    found = []
    for quoted in QUOTED.findall(" ".join(text.split())):
        words = shlex.split(quoted)
        if words[0] == "sprintlog":
            words = words[1:]
        if words and words[0] in COMMANDS:
            found.append(words)
    return found


def _filled(command: click.Command, word: str) -> str:
    """Return a word, or a point if a message inserts a required point."""
    points = any(p.name in ("to", "of") for p in command.params)
    return "version:1" if word == HOLE and points else word


def typed(words: list[str]) -> Typed:
    """Return the meaning of a command; raise `click.UsageError` if it cannot be typed."""
    if not any(word.startswith(HOLE) for word in words[:2]):
        words = [FILLED_IN.get(word, word) for word in words]
    command: click.Command = cli
    context = click.Context(cli)
    path: list[str] = []
    while isinstance(command, click.Group):
        is_alone = not words or words[0].startswith("-")
        if path and is_alone and command.invoke_without_command:
            break
        if not words:
            raise click.UsageError(f"{' '.join(path)}: a command is missing")
        name = words.pop(0)
        if name.startswith(HOLE):
            return Typed(tuple(path), {})
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"there is no command {' '.join([*path, name])}")
        command = found
        path.append(name)
    # Values that a message inserts may be a point, a number or an id.
    words = [_filled(command, word) for word in words]
    made = command.make_context(path[-1], words, parent=context)
    return Typed(tuple(path), made.params)
