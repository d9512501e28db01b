"""The limits of pure modules that import contracts cannot enforce."""

import ast
from collections.abc import Iterator

from .tree import modules, parse, pure_modules, relative

FORBIDDEN_NAMES = {"open", "print", "input", "breakpoint", "__import__"}
CLOCKS = {"now", "utcnow", "today"}
CLOCK_OWNERS = {"datetime", "date"}


def impure_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every call that reaches outside the program."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_NAMES:
                yield node.lineno, name
            case ast.Attribute(
                attr=method, value=ast.Name(id=owner) | ast.Attribute(attr=owner)
            ) if method in CLOCKS and owner in CLOCK_OWNERS:
                yield node.lineno, f"{owner}.{method}"


MAKERS = {
    "engine/service/streams/catalogue.py": "new_event: masks",
    "engine/service/agent_sessions/spool.py": "a draft, masked when it was made or read",
    "engine/service/fork.py": "exact copies of recorded events",
    "projections/health/exchange.py": "checks an imported event, which stays exact",
    "engine/log/stores/kit.py": "checks a store with test events",
}
"""The only modules that construct an event to append, and why its texts have no secret."""


def test_new_events_are_made_where_they_are_masked() -> None:
    """No door can append an event past the masking: all use one of these modules."""
    found = {
        relative(path)
        for path in modules("engine", "cli", "projections")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call)
        # The type of the event may be an argument: `filled(NewEvent, recorded)`.
        and any(ast.unparse(x).endswith("NewEvent") for x in (node.func, *node.args[:1]))
    }
    assert found == MAKERS.keys()


def test_pure_modules_reach_nothing_outside() -> None:
    """A pure module opens no file, prints nothing and never reads the clock."""
    impure = [
        f"{relative(path)}:{line} calls {name}"
        for path in pure_modules()
        for line, name in impure_calls(parse(path))
    ]
    assert impure == []
