"""Test files: their tests and other parts, found by indentation and line patterns.

A block is a line with the more indented lines below it and its closing line. The patterns
cover pytest, unittest, Jest, Vitest, Mocha, Go, Cargo, JUnit, PHPUnit, RSpec and Minitest
together. No file needs to be valid.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_RUN = re.compile(
    r"(?:.*/)?(?:test[^/]*\.py|[^/]*_tests?\.py|[^/]*[._-](?:test|spec|cy)\.[cm]?[jt]sx?"
    r"|(?:__tests__|tests?)/.*\.[cm]?[jt]sx?|[^/]*_test\.go|[^/]*\.rs|[^/]*Test\.php"
    r"|(?:Test[^/]*|[^/]*(?:Tests?|TestCase|IT|Spec))\.(?:java|kt|groovy)"
    r"|[^/]*_(?:spec|test)\.rb|test_[^/]*\.rb)"
)
"""The files in which test runners find tests; in Rust, these are also source files."""
_SUPPORT = re.compile(
    r"(?:.*/)?(?:(?:tests?|spec|src/\w*[tT]est\w*)/.*\.(?:py|java|kt|groovy|php|rb)"
    r"|(?:__mocks__|cypress|e2e)/.*\.[cm]?[jt]sx?)"
)
"""Other files that tests use."""
_TEST = re.compile(
    r"(?:async )?def (test\w*)|func (?:\([^)]*\) )?((?:Test(?!Main\()|Fuzz|Example)\w*)\("
    r"|[xf]?(?:it|test|specify|example|scenario)\b(?:\.\w+)*(?:\(.*\))?\s*(?:\(\s*|(?=['\"{])"
    r"|do\b|[`])('[^']*'|\"[^\"]*\"|`[^`]*`)?|(?:public (?:static )?\w+|function) (test\w*)"
)
_MARK = re.compile(
    r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|Test)\b|\*\s*@test\b"
    r"|@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property|Theory)\b"
)
"""A line before a definition that makes it a test."""
_DEFINITION = re.compile(
    r"(?:\w+(?:\([^)]*\))? )*?(?:def|class|function\*?|const|let|var|val|type|interface"
    r"|enum|func(?: \([^)]*\))?|fun|fn|struct|static|trait|impl|mod|module|macro_rules!) +"
    r"(\w+)"
    r"|(?:[\w<>\[\],.?]+ )+(\w+)\(.*\{$|(\w+)\s*(?::[^=]+)?=(?!=)"
)
_CLEAN = re.compile(
    r"(?:from|import|package|use|using|extern|require|namespace) |require\b|<\?php"
    r"|(?:const|let|var) .*\brequire\(|[ru]?(\"\"\"|''')[^\\]*\1$"
)
"""Imports, and texts of a single line."""
SKIP = re.compile(
    r"\bskip|\.(?:Skip|only|todo|fails|failing|runIf)\b|\bxfail\b|expectedFailure|__test__"
    r"|collect_ignore|\b(?:[xf](?:it|describe|context|specify)|xtest|pending|focus)\b"
    r"|go:build|\+build|testing\.Short|#\[ignore|cfg\((?:any\(\)|not\(test|false)"
    r"|@(?:Disabled|Ignore|Enabled|Tag|group|requires)|\bassum(?:e|ing)|markTest|NotPerform"
)
ONLY = re.compile(r"\.only\b|\bf(?:it|describe|context)\b|\bfocus\b")
"""Marks that skip all other tests."""
ASSERTION = re.compile(
    r"\b(?:assert|expect|refute|fail|verify)|\b(?:should|raises|panic)\b|should_panic|must_"
    r"|wont_|\.(?:Error|Fatal|Fail)|\brequire\.|\bt\.(?:is|ok|equal|deepEqual)\b"
)
HOOK = re.compile(
    r"autouse|(?i:set_?up|tear_?down)|pytest_|load_tests|pytestmark|os\._exit|sys\.modules"
    r"|\b(?:[bB]efore|[aA]fter|[aA]round)(?:Each|All|Class)?\b|\b(?:jest|vi)\.|@ExtendWith"
)
"""New parts that may change the result of existing tests in the same file."""
GLOBAL_HOOK = re.compile(r"func (?:TestMain|init)\(")
"""New parts that may change the result of tests in other files."""
_PREFIX = re.compile(r"@\w|#!?\[|\*\s*@\w")
"""Decorators, attributes, and annotations in comments, which belong to the next line."""
_CLOSING = re.compile(r"[\])}{,;]*|end")
_OPENING = ("{", "(", "[", ":", "->", "=>", " do", ",")
_COMMENT = re.compile(r"^[ \t]*(/\*.*?)\*/", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_CHARS_MAX, _DEPTH_MAX = 500, 50
"""The number of characters of a line, and of nested groups, that are examined."""
_PARSED_MAX = 100_000
"""The size above which a file in Python is compared in its own format."""


class CodeBlock(NamedTuple):
    """A test, or another part of a test file."""

    path: str
    key: tuple[str, ...]
    """The lines without the test's name and comments, after those of enclosing groups."""
    lines: tuple[str, ...]
    name: str = ""
    is_test: bool = False
    is_definition: bool = False


def has_tests(path: str) -> bool:
    """Return whether a file contains tests or code for tests."""
    return (_RUN.fullmatch(path) or _SUPPORT.fullmatch(path)) is not None


def texts_of(path: str, contents: list[bytes]) -> list[str]:
    """Return versions of a file as texts, those of tests in Python in one format.

    The format has no comments, and each string is on one line. Scripts keep their comments,
    which may name an interpreter or dependencies. Invalid files are returned unchanged.
    """
    texts = [content.decode(errors="surrogateescape") for content in contents]
    is_of_tests = path == "conftest.py" or (path.endswith(".py") and has_tests(path))
    if not is_of_tests or max(map(len, contents)) > _PARSED_MAX:
        return texts
    invalid = (SyntaxError, ValueError, RecursionError, MemoryError)
    with suppress(*invalid), warnings.catch_warnings():
        # The compiler warns about invalid escape sequences, for example.
        warnings.simplefilter("ignore")
        made = [_unparsed(content) for content in contents]
        return texts if max(map(len, made)) > _PARSED_MAX else made
    return texts


def _unparsed(content: bytes) -> str:
    # Only bytes are decoded as Python does, by the encoding that a comment may declare.
    tree = ast.parse(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = repr(node.value)
    return ast.unparse(tree)


def blocks(path: str, text: str, *, is_run: bool) -> Iterator[CodeBlock]:
    """Yield the tests and the other parts of a file, without imports and comments.

    If `is_run` is true, tests are found although the file's path is unusual.
    """
    is_run = is_run or _RUN.fullmatch(path) is not None
    sign = "#" if path.endswith((".py", ".rb")) else "//"
    text = text if sign == "#" else _without_comments(text)
    lines = [line.rstrip().expandtabs(8) for line in text.splitlines()]
    # Go's build constraints are comments.
    lines = [x for x in lines if x.lstrip()[: len(sign)] not in ("", sign) or "build" in x]
    in_source = path.endswith(".rs") and not re.match(r"(?:.*/)?tests/", path)
    for one in _blocks(path, lines, (), is_run=is_run):
        # In a source file, only tests and the conditions on them matter.
        if not in_source or one.is_test or "cfg(test" in "".join(one.lines):
            yield one


def _without_comments(text: str) -> str:
    """Return a text without block comments, except annotations for test runners."""
    closed, sign, rest = text.rpartition("*/")

    def annotations(comment: re.Match[str]) -> str:
        lines = comment[1].splitlines()
        return "".join(f"{line}\n" for line in lines if _PREFIX.match(line.strip()))

    return _COMMENT.sub(annotations, closed + sign) + rest


def _blocks(
    path: str, lines: list[str], outer: tuple[str, ...], *, is_run: bool
) -> Iterator[CodeBlock]:
    at = 0
    while at < len(lines):
        start = at
        while at < len(lines) - 1 and _PREFIX.match(lines[at].lstrip()):
            at = min(_end(lines, at), len(lines) - 1)
        head, end = lines[at].lstrip()[:_CHARS_MAX], _end(lines, at)
        inner = lines[at + 1 : end] if is_run and len(outer) < _DEPTH_MAX else []
        is_test = bool(_TEST.match(head)) or any(_begins_test(x) for x in lines[start:at])
        if is_run and is_test:
            yield _block(path, lines[start:end], outer, at - start, is_test=True)
        elif any(map(_begins_test, inner)):
            # A class or a group: its first line is a part of the meaning of its tests.
            name = re.sub(r"\bclass (Test)?\w*", r"class \1", _QUOTED.sub("''", head))
            around = (*outer, *(line.strip() for line in lines[start:at]), name)
            yield from _blocks(path, inner, around, is_run=True)
        elif not (_CLEAN.match(head) or _CLOSING.fullmatch(head)):
            yield _block(path, lines[start:end], outer, at - start, is_test=False)
        at = end


def _begins_test(line: str) -> bool:
    line = line.lstrip()[:_CHARS_MAX]
    return bool(_TEST.match(line) or _MARK.match(line))


def _block(
    path: str, lines: list[str], outer: tuple[str, ...], at: int, *, is_test: bool
) -> CodeBlock:
    depth, head = _depth(lines[0]), lines[at].lstrip()[:_CHARS_MAX]
    own = [line[min(depth, _depth(line)) :] for line in lines]
    defined = _DEFINITION.match(head)
    found = (is_test and _TEST.match(head)) or defined or re.search(r"(\w+)\(", head)
    group = found.lastindex if found else None
    name = found[group] if found and group else ""
    if is_test and name:
        own[at] = own[at].replace(name, "_", 1)
    is_definition = not is_test and defined is not None
    return CodeBlock(path, (*outer, *own), tuple(lines), name, is_test, is_definition)


def _end(lines: list[str], start: int) -> int:
    """Return the index after the last line of a block."""
    depth, at = _depth(lines[start]), start + 1
    while at < len(lines):
        line = lines[at].lstrip()
        if _depth(lines[at]) <= depth:
            closes = line[0] in ")]}{" or line == "end"
            if _depth(lines[at]) < depth or not closes:
                break
            if not line.endswith(_OPENING):
                return at + 1
        at += 1
    return at


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
