"""Limits of size, and docstrings everywhere."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .tree import ROOMS, door_modules, modules, parse, relative

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
TEST_FOLDER_FILES_MAX = 25
STRUCTURE = {
    "modules": 555,
    "folders": 63,
    "lines of code": 76_772,
    "lines of imports in 1,000": 91,
    "imports in functions": 285,
}
"""The structure of the packages; a change may lower these numbers, and then stores them."""


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method of a module, including nested ones."""
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
    """No test folder contains more than 25 files."""
    sizes = Counter(relative(path.parent) for path in modules("tests"))
    assert {n: size for n, size in sizes.items() if size > TEST_FOLDER_FILES_MAX} == {}


@pytest.mark.long
def test_the_structure_only_gets_simpler() -> None:
    """The numbers of modules, folders and imports only decrease."""
    found: Counter[str] = Counter()
    folders, imported = set(), 0
    for path in modules(*ROOMS):
        tree, lines = parse(path), path.read_text(encoding="utf-8").splitlines()
        if path.name != "__init__.py":
            found["modules"] += 1
            folders.add(path.parent)
        code = {n for n, x in enumerate(lines, 1) if x.strip() and x.strip()[0] != "#"}
        nodes = [*ast.walk(tree)]
        texts = [n for n in nodes if isinstance(n, ast.Expr) and _is_text(n.value)]
        imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
        defined = [
            n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        within = {n for function in defined for n in ast.walk(function)}
        code -= {line for text in texts for line in _lines(text)}
        found["lines of code"] += len(code)
        imported += len(code & {y for x in imports for y in _lines(x)})
        found["imports in functions"] += sum(node in within for node in imports)
    found["folders"] = len(folders)
    found["lines of imports in 1,000"] = 1000 * imported // found["lines of code"]
    assert {name: n for name, n in found.items() if n > STRUCTURE[name]} == {}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
