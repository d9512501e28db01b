"""How large things may get, and that each says what it is."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .tree import ROOMS, door_modules, modules, parse, relative

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
TEST_FOLDER_FILES_MAX = 25


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method of a module, nested ones too."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.long
def test_every_module_says_what_lives_in_it() -> None:
    """Every module of a room opens with a docstring."""
    silent = [
        relative(path)
        for path in [*door_modules(), *modules(*ROOMS)]
        if not ast.get_docstring(parse(path))
    ]
    assert silent == []


def test_modules_stay_short() -> None:
    """A module has at most 400 lines."""
    lengths = {
        relative(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in [*door_modules(), *modules(*ROOMS, "tests")]
    }
    assert {n: size for n, size in lengths.items() if size > MODULE_LINES_MAX} == {}


@pytest.mark.long
def test_functions_stay_short() -> None:
    """A function has at most 70 lines, from `def` to its last statement."""
    long = [
        f"{relative(path)}:{function.lineno} {function.name} has {size} lines"
        for path in [*door_modules(), *modules(*ROOMS, "tests")]
        for function in functions(path)
        if (size := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_test_folders_stay_small() -> None:
    """No test folder holds more than 25 files."""
    sizes = Counter(relative(path.parent) for path in modules("tests"))
    assert {n: size for n, size in sizes.items() if size > TEST_FOLDER_FILES_MAX} == {}
