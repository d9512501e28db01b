"""Small changes to the sources: where each is possible, and how it is made.

A mutation changes one line inside a function. It is identified by its path, function,
operator and the text of the line before and after, so that the same mutation can be made
in another checkout. Probes show which tests reach the line of a mutation.
"""

import ast
import hashlib
import re
from collections import Counter
from typing import Any, NamedTuple, Self

PROBE = "__reached__"
"""The builtin that a probe calls with the number of its mutation."""

_SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "*"),
}
_SEQUENCES = (ast.List, ast.Tuple, ast.JoinedStr, ast.ListComp, ast.Dict)
_CLOSED = (
    *(ast.Call, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.Subscript, ast.Attribute),
)
"""Expressions that `None and` can precede without changing how they are parsed."""
_SKIPPED_CALLS = {"cast", "assert_never", "warn", "debug", "info", "warning", "TypeVar"}
_UNSAFE = re.compile(r"\b(kill|killpg|rmtree|chown|pidfd_send_signal)\b")
"""Lines that could end foreign processes or remove foreign files if they are changed."""


class Mutation(NamedTuple):
    """A change of one line."""

    path: str
    function: str
    operator: str
    before: str
    after: str
    occurrence: int
    """The number of the mutation among those that agree in all fields above."""
    line: int
    column: int

    @property
    def identity(self) -> tuple[str, str, str, str, str, int]:
        """Return the fields that identify the mutation in any checkout."""
        return self[:6]

    @property
    def key(self) -> str:
        """Return a short name, which does not depend on the line number."""
        return hashlib.sha256("\0".join(map(str, self.identity)).encode()).hexdigest()[:8]

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Self:
        """Return the mutation that was stored as a JSON object."""
        return cls(**{name: fields[name] for name in cls._fields})

    def __str__(self) -> str:
        """Return the place and the function, without the change."""
        return f"{self.path}:{self.line} {self.function} [{self.operator}]"


class Site(NamedTuple):
    """A mutation, and where a probe shows that its line is reached."""

    mutation: Mutation
    inserts: tuple[tuple[int, int, str], ...]
    """Line, offset in bytes and text; `{}` is the number of the mutation."""


def sites(source: str, path: str) -> list[Site]:
    """Return every possible mutation of a module, in the order of the text."""
    found = _Finder(source, path)
    found.visit(ast.parse(source))
    ordered = sorted(found.sites, key=lambda site: site.mutation[6:] + site.mutation[2:5])
    seen: Counter[tuple[Any, ...]] = Counter()
    numbered = []
    for site in ordered:
        same = site.mutation[:5]
        mutation = site.mutation._replace(occurrence=seen[same])
        seen[same] += 1
        numbered.append(site._replace(mutation=mutation))
    return numbered


def mutated(source: str, mutation: Mutation) -> str:
    """Return the source with the one line changed; raise `ValueError` if it differs."""
    lines = source.split("\n")
    line = lines[mutation.line - 1]
    if line.strip() != mutation.before:
        raise ValueError(f"{mutation}: the line is {line.strip()!r}")
    indent = line[: len(line) - len(line.lstrip())]
    lines[mutation.line - 1] = indent + mutation.after
    return "\n".join(lines)


def probed(source: str, path: str, numbers: dict[Mutation, int]) -> str:
    """Return the source with a probe at each mutation; no line moves."""
    inserts = [
        (line, column, text.format(numbers[site.mutation]))
        for site in sites(source, path)
        if site.mutation in numbers
        for line, column, text in site.inserts
    ]
    lines = [line.encode() for line in source.split("\n")]
    for line, column, text in sorted(inserts, reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:column] + text.encode() + old[column:]
    return b"\n".join(lines).decode()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _around(node: ast.expr) -> tuple[tuple[int, int, str], ...]:
    """Return a probe that is evaluated before an expression."""
    before = (node.lineno, node.col_offset, f"({PROBE}({{}}), ")
    return before, (node.end_lineno or 0, node.end_col_offset or 0, ")[1]")


def _probe(node: ast.stmt) -> tuple[tuple[int, int, str], ...]:
    """Return a probe for a statement or, if it is compound, for its first expression."""
    match node:
        case ast.If(test=shown) | ast.While(test=shown) | ast.Match(subject=shown):
            return _around(shown)
        case ast.For(iter=shown) | ast.AsyncFor(iter=shown):
            return _around(shown)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return _around(items[0].context_expr)
        case ast.Try(body=body):
            return _probe(body[0])
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            first = body[1:] if isinstance(body[0], ast.Expr) and _is_doc(body[0]) else body
            nested = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            return () if not first or isinstance(first[0], nested) else _probe(first[0])
        case ast.ClassDef():
            return ()
        case _:
            return ((node.lineno, node.col_offset, f"{PROBE}({{}}); "),)


def _is_doc(node: ast.Expr) -> bool:
    return _is_text(node.value)


class _Finder(ast.NodeVisitor):
    """Collects the sites of one module."""

    def __init__(self, source: str, path: str) -> None:
        self.sites: list[Site] = []
        self._path = path
        self._lines = [line.encode() for line in source.split("\n")]
        self._names: list[str] = []
        self._statement: ast.stmt | None = None
        """The innermost statement of a function; None outside functions."""
        self._returns_none = False

    # --- Functions and classes -----------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        """Visit a node, with its statement as that of all within it."""
        if isinstance(node, ast.stmt) and self._statement is not None:
            kept, self._statement = self._statement, node
            super().visit(node)
            self._statement = kept
        else:
            super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit defaults and body; decorators and annotations are not mutated."""
        kept = self._statement, self._returns_none
        self._names.append(node.name)
        self._statement = node
        self._returns_none = ast.unparse(node.returns or node) == "None"
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if isinstance(default, ast.Constant):
                self._constant(default, "default")
        for child in node.body:
            self.visit(child)
        self._names.pop()
        self._statement, self._returns_none = kept

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the methods."""
        kept, self._statement = self._statement, None
        self._names.append(node.name)
        for child in node.body:
            self.visit(child)
        self._names.pop()
        self._statement = kept

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit the value, not the annotation."""
        if node.value is not None:
            self.visit(node.value)

    def visit_match_case(self, node: ast.match_case) -> None:
        """Visit the body: a probe cannot show that a pattern or guard is reached."""
        for child in node.body:
            self.visit(child)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip f-strings: Python 3.11 reports other columns within them."""

    def visit_Call(self, node: ast.Call) -> None:
        """Visit a call, unless it logs or serves only type checkers."""
        if _name(node.func) not in _SKIPPED_CALLS:
            self.generic_visit(node)

    # --- Statements --------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        """Remove a call."""
        call = node.value
        if isinstance(call, ast.Call) and _name(call.func) not in _SKIPPED_CALLS:
            if call.end_lineno == call.lineno:
                self._replace(node, node, "call removed", "pass")
            else:
                self._insert(call, "call removed", "lambda: ")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Replace the result by None."""
        value = node.value
        if value is not None and not self._returns_none and not _is_constant(value):
            if node.end_lineno == node.lineno:
                self._replace(node, node, "return None", "return None")
            elif isinstance(value, _CLOSED) and value.col_offset == node.col_offset + 7:
                self._insert(value, "return None", "None and ")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Do not raise the error."""
        if node.end_lineno == node.lineno:
            self._replace(node, node, "raise removed", "pass")
        elif node.cause is None and node.exc is not None:
            self._delete(node, node.exc, "raise removed")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Negate the condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """Negate the condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Swap the operator of an augmented assignment."""
        swap = _SWAPS.get(type(node.op))
        if swap is not None and not _is_sequence(node.value):
            self._swap(node.target, node.value, "arithmetic", swap, suffix="=")
        self.generic_visit(node)

    # --- Expressions -------------------------------------------------------------

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Negate the condition."""
        self._negate(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Replace a comparison by its opposite, or move its bound."""
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            self._swap(left, right, "comparison", _SWAPS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap `and` and `or`."""
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap(left, right, "and/or", _SWAPS[type(node.op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Swap an arithmetic operator."""
        swap = _SWAPS.get(type(node.op))
        if swap is not None and not (_is_sequence(node.left) or _is_sequence(node.right)):
            self._swap(node.left, node.right, "arithmetic", swap)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Remove `not`."""
        if isinstance(node.op, ast.Not):
            self._delete(node, node.operand, "not removed", word="not")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Replace a number or truth value by another."""
        if not isinstance(node.value, str):
            self._constant(node, "constant")

    # --- Changes of the text -----------------------------------------------------

    def _constant(self, node: ast.Constant, operator: str) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace(node, node, operator, str(not value))
        elif isinstance(value, int | float):
            self._replace(node, node, operator, str(value + 1))
        elif isinstance(value, str) and value and node.lineno == node.end_lineno:
            self._replace(node, node, operator, '""')

    def _negate(self, test: ast.expr) -> None:
        simple = isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        if simple and test.end_lineno == test.lineno:
            self._insert(test, "condition negated", "not ")

    def _swap(
        self,
        left: ast.expr,
        right: ast.expr,
        operator: str,
        swap: tuple[str, str],
        suffix: str = "",
    ) -> None:
        """Replace the operator between two operands that share a line."""
        if left.end_lineno != right.lineno:
            return
        start, end = left.end_col_offset or 0, right.col_offset
        between = self._lines[right.lineno - 1][start:end].decode()
        old, new = (word + suffix for word in swap)
        if between.count(old) == 1 or old.split()[0] in between.split():
            self._add(right.lineno, start, end, operator, between.replace(old, new, 1))

    def _replace(self, first: ast.AST, last: ast.AST, operator: str, new: str) -> None:
        line: int = getattr(first, "lineno", 0)
        start: int = getattr(first, "col_offset", 0)
        self._add(line, start, getattr(last, "end_col_offset", 0), operator, new)

    def _insert(self, node: ast.expr, operator: str, new: str) -> None:
        self._add(node.lineno, node.col_offset, node.col_offset, operator, new)

    def _delete(
        self, node: ast.AST, rest: ast.expr, operator: str, *, word: str = "raise"
    ) -> None:
        line: int = getattr(node, "lineno", 0)
        start: int = getattr(node, "col_offset", 0)
        text = self._lines[line - 1][start:].decode()
        if rest.lineno == line and (found := re.match(rf"{word}\s+", text)):
            self._add(line, start, start + found.end(), operator, "")

    def _add(self, line: int, start: int, end: int, operator: str, new: str) -> None:
        if self._statement is None:
            return
        old = self._lines[line - 1]
        before = old.decode().strip()
        after = (old[:start] + new.encode() + old[end:]).decode().strip()
        inserts = _probe(self._statement)
        if not inserts or _UNSAFE.search(before) or after == before:
            return
        function = ".".join(self._names)
        change = Mutation(self._path, function, operator, before, after, 0, line, start)
        self.sites.append(Site(change, inserts))


def _name(node: ast.expr) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _is_sequence(node: ast.expr) -> bool:
    return _is_text(node) or isinstance(node, _SEQUENCES)
