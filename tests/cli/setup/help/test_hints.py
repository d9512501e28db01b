"""What messages tell people to type can be typed."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import ROOMS, modules, parse, relative

from ...typed import HOLE, commands_in, typed

SHOWN = re.compile(r"`sprintlog (?!…)")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every text of a module that is no docstring, with its line; with its holes."""
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


MESSAGES = [
    pytest.param(text, id=f"{relative(path)}:{line}")
    for path in modules(*ROOMS)
    for line, text in texts(path)
    if SHOWN.search(text)
]


@pytest.mark.parametrize("text", MESSAGES)
def test_every_command_in_a_message_can_be_typed(text: str) -> None:
    """A command that a message names has all that it needs, or says so in capitals."""
    found = commands_in(text)
    assert found
    for words in found:
        typed(words)
