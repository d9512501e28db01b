"""Checks every answer that a test gets with `--json` against its struct."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from sprintlog.cli.main import cli
from sprintlog.cli.suggest import ALIASES
from sprintlog.projections.views.answers import ANSWERS, DOCUMENT, LINES, RECORDED


def command_of(arguments: Sequence[object]) -> str:
    """Return the command that a line calls, like `gate show`; empty for none."""
    found: click.Group = cli
    context, words = click.Context(cli), []
    given = [*map(str, arguments)]
    for argument in [*ALIASES.get(given[0], given[0]).split(), *given[1:]] if given else ():
        command = found.get_command(context, argument)
        if command is None:
            break
        words.append(argument)
        if not isinstance(command, click.Group):
            return " ".join(words)
        found = command
    return " ".join(words) if found.invoke_without_command else ""


def commands(group: click.Group = cli, *before: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that can be typed alone, with its name."""
    if before and group.invoke_without_command:
        yield " ".join(before), group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *before, name)
        elif command is not None:
            yield " ".join((*before, name)), command


def fits(answer: Any, kind: Any) -> bool:
    """Return whether an answer has exactly the fields of a struct."""
    if kind in (DOCUMENT, list[DOCUMENT]):
        return isinstance(answer, dict if kind is DOCUMENT else list)
    try:
        made = msgspec.convert(answer, kind)
    except msgspec.ValidationError:
        return False
    return bool(json.loads(msgspec.json.encode(made)) == answer)


def check_answers(arguments: Sequence[object], code: int, out: str) -> None:
    """Check the output of a command line with `--json`; errors are on stderr."""
    command = command_of(arguments)
    words = [*map(str, arguments)]
    is_asked = "--json" in words[: words.index("--") if "--" in words else None]
    if not command or not is_asked or not out or {"-h", "--help", "--fields"} & {*words}:
        return
    lines = out.rstrip("\n").split("\n")
    for line in lines:
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer and "message" in answer:
            continue
        kinds = ANSWERS.get(command, RECORDED)
        assert any(fits(answer, kind) for kind in kinds), (command, answer)
    assert command in LINES or len(lines) == 1, (command, out)
