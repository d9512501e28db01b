"""A single function adds tokens, so that all figures are consistent."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUM = "engine/usage.py"
PARTS = {"input_tokens", "output_tokens"}


def adds_tokens(source: str) -> bool:
    """Return whether a module adds input to output itself."""
    sums = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.BinOp)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) == "sum")
    )
    return any(
        {x.attr for x in ast.walk(node) if isinstance(x, ast.Attribute)} >= PARTS
        or {x.value for x in ast.walk(node) if isinstance(x, ast.Constant)} >= PARTS
        for node in sums
    )


def test_tokens_are_added_in_one_place() -> None:
    """No other module adds input and output tokens."""
    assert adds_tokens("(a.input_tokens or 0) + (a.output_tokens or 0)")
    assert adds_tokens("sum(getattr(a, x) for x in ('input_tokens', 'output_tokens'))")
    found = [
        str(file.relative_to(ROOT))
        for folder in ("engine", "projections", "cli")
        for file in (ROOT / folder).rglob("*.py")
        if adds_tokens(file.read_text())
    ]
    assert [file for file in found if file != SUM] == []
