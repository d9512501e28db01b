"""Commands in messages work when typed."""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import click
import pytest

from sprintlog.cli import named_sprint
from tests.architecture.tree import ROOMS, modules, parse, relative

from ...typed import HOLE, commands_in, typed

SHOWN = re.compile(r"`sprintlog (?!…)")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string of a module except docstrings; f-strings too."""
    tree = parse(path)
    said = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if id(node) in said or id(node) in inside:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (
                part.value if isinstance(part, ast.Constant) else HOLE
                for part in node.values
            )
            yield node.lineno, "".join(map(str, parts))


@cache
def messages() -> dict[str, str]:
    """Return each message that names a command, by its location `file:line`."""
    return {
        f"{relative(path)}:{line}": text
        for path in modules(*ROOMS)
        # Parsing every module takes seconds.
        if "`sprintlog " in path.read_text()
        for line, text in texts(path)
        if SHOWN.search(text)
    }


def test_every_command_in_a_message_can_be_typed() -> None:
    """A command that a message names is complete, or marks its variables by capitals."""
    assert len(messages()) > 200
    for place, text in messages().items():
        found = commands_in(text)
        assert found, place
        for words in found:
            with naming(place):
                typed(words)


def test_every_command_in_a_message_takes_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hint to which the name of a sprint was added can still be typed."""
    monkeypatch.setattr(named_sprint, "_given", lambda: "auth")
    for place, text in messages().items():
        changed = named_sprint.with_it(text)
        assert changed is not None, place
        for words in commands_in(changed):
            if HOLE not in words[:2]:
                with naming(place):
                    typed(words)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Add the place of a message to the error that its command causes."""
    try:
        yield
    except click.UsageError as error:
        pytest.fail(f"{place}: {error.message}")
