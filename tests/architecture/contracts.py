"""Contracts that imports cannot express: which code may append, write SQL, or decide.

Each examines a tree of sources and names violations, so that a test can plant a violation
in a copy of the tree.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

from sprintlog.engine.log.event import Event

ROOMS = ("engine", "projections", "cli")
_SQL = re.compile(
    r"\s*(SELECT\s.*|INSERT\s+(OR\s+\w+\s+)?INTO\s.+|UPDATE\s+\w+\s+SET\s.+|DELETE\s+FROM\s.+"
    r"|CREATE\s+(VIRTUAL\s+)?(TABLE|INDEX|UNIQUE|TRIGGER|VIEW)\s.+|DROP\s+\w+\s.+"
    r"|PRAGMA\s+\w+.*|BEGIN\s+IMMEDIATE|COMMIT|VACUUM.*|ATTACH\s.+|WITH\s+RECURSIVE\s.+)",
    re.DOTALL,
)
_SQL_LIBRARIES = {"sqlite3", "sqlite_utils", "psycopg"}
_OF_A_LOG = {"connection", "rows"}


OUTER = (
    "cli/importers",
    "cli/mcp",
    "cli/rpc",
    "cli/web",
    "engine/adapters/agents",
    "engine/adapters/reports",
    "engine/log/stores/postgres",
    "projections/exports",
    "projections/page",
)
"""The folders that import only the public package, the libraries and their own modules."""


class Source(NamedTuple):
    """One module of a tree."""

    name: str
    """Its path from the root, with slashes."""
    tree: ast.Module

    @property
    def package(self) -> str:
        """Return the package that its relative imports start from."""
        return ".".join(["sprintlog", *self.name.split("/")[:-1]])


Contract = Callable[[Path], list[str]]
"""From the root of a tree to what breaks it, each with its file and line."""


def sources(root: Path, *folders: str) -> Iterator[Source]:
    """Yield every module below some folders of a tree."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            yield Source(path.relative_to(root).as_posix(), _parsed(text))


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def engine_knows_no_projection(root: Path) -> list[str]:
    """Name every import of the engine that leads out of it."""
    return [
        f"{source.name}:{line} imports {name}"
        for source in sources(root, "engine")
        for line, name, _ in _imports(source)
        if name.split(".")[:2] in (["sprintlog", "projections"], ["sprintlog", "cli"])
    ]


def only_the_service_appends(root: Path) -> list[str]:
    """Name every append to a log outside the service; a store may append itself.

    The expected version distinguishes it from an append to a list.
    """
    return [
        f"{source.name}:{node.lineno} appends"
        for source in sources(root, *ROOMS)
        if not source.name.startswith(("engine/service/", "engine/log/"))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and any(keyword.arg in ("expect", None) for keyword in node.keywords)
    ]


def only_stores_know_sql(root: Path) -> list[str]:
    """Name all SQL outside the stores, and every use of a log's connection.

    The copies below `projections/sql` are separate databases with their SQL.
    """
    found = []
    for source in sources(root, *ROOMS):
        if source.name.startswith("engine/log/stores/"):
            continue
        if not source.name.startswith("projections/sql/"):
            found += [
                f"{source.name}:{line} imports {name}"
                for line, name, _ in _imports(source)
                if name.split(".")[0] in _SQL_LIBRARIES
            ]
            found += [f"{source.name}:{line} writes SQL" for line in _sql_in(source.tree)]
        found += [
            f"{source.name}:{node.lineno} uses a log's {node.attr}"
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Attribute)
            and node.attr in _OF_A_LOG
            and ast.unparse(node.value).rpartition(".")[2].strip("_") in ("log", "store")
        ]
    return found


def cli_decides_nothing(root: Path) -> list[str]:
    """Yield every event that `cli` creates, and every decision function that it uses."""
    found = []
    for source in sources(root, "cli"):
        calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
        called = {id(call.func) for call in calls}
        found += [
            f"{source.name}:{node.lineno} {node.name} is a decision"
            for node in ast.walk(source.tree)
            if isinstance(node, ast.FunctionDef)
            and node.returns is not None
            and ast.unparse(node.returns) == "list[Event]"
        ]
        found += [
            f"{source.name}:{node.lineno} decides by a command"
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Attribute) and node.attr == "decide"
        ]
        for node, value in _uses(source):
            if _is_event(value) and id(node) in called:
                found.append(f"{source.name}:{node.lineno} makes {value.__name__}")
            elif _is_decision(value):
                found.append(f"{source.name}:{node.lineno} decides by {value.__name__}")
    return found


def outer_folders_use_the_front_door(root: Path) -> list[str]:
    """Name every import of an outer folder from inside the package but outside itself."""
    found = []
    for folder in OUTER:
        own = f"sprintlog.{folder.replace('/', '.')}."
        for source in sources(root, folder):
            for line, name, _ in _imports(source):
                is_inside = name.partition("sprintlog.")[2].split(".")[0] in ROOMS
                if is_inside and not f"{name}.".startswith(own):
                    found.append(f"{source.name}:{line} imports {name}")
    return found


CONTRACTS: dict[str, Contract] = {
    contract.__name__.replace("_", " "): contract
    for contract in (
        engine_knows_no_projection,
        only_the_service_appends,
        only_stores_know_sql,
        cli_decides_nothing,
        outer_folders_use_the_front_door,
    )
}


def _imports(source: Source) -> Iterator[tuple[int, str, ast.ImportFrom | None]]:
    """Yield the line and full name of every import, including those inside functions."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = source.package.split(".")
            base = parts[: len(parts) + 1 - node.level] if node.level else []
            yield node.lineno, ".".join([*base, *filter(None, [node.module])]), node


def _sql_in(tree: ast.Module) -> Iterator[int]:
    """Yield the line of every text that is a statement; docstrings are excluded."""
    told = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in told:
                if _SQL.fullmatch(text):
                    yield node.lineno


def _uses(source: Source) -> Iterator[tuple[ast.Name | ast.Attribute, Any]]:
    """Yield the names that a module uses from an imported package, with their lines."""
    known: dict[str, Any] = {}
    for _, name, node in _imports(source):
        if node is not None and name.startswith("sprintlog."):
            known |= {a.asname or a.name: _found(name, a.name) for a in node.names}
    for use in ast.walk(source.tree):
        if isinstance(use, ast.Name) and isinstance(use.ctx, ast.Load) and use.id in known:
            yield use, known[use.id]
        elif isinstance(use, ast.Attribute) and isinstance(use.value, ast.Name):
            yield use, getattr(known.get(use.value.id), use.attr, None)


def _found(module: str, name: str) -> Any:
    value = getattr(import_module(module), name, None)
    return import_module(f"{module}.{name}") if value is None else value


def _is_event(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Event)


def _is_decision(value: Any) -> bool:
    """Return whether a function returns events, as functions that decide do."""
    kind = getattr(value, "__annotations__", {}).get("return")
    of_engine = str(getattr(value, "__module__", "")).startswith("sprintlog.engine.")
    return of_engine and get_origin(kind) is list and any(map(_is_event, get_args(kind)))
