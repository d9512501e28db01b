"""The table of report formats, their readers, and detection of a format by its content.

The output of an agent's command is one of the formats, because it reports the run's cost.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from ..agents.output import read_answer
from ..reports import coverage, linters, parsers, suites, xml_suites
from ..reports.report import COUNT_MAX, Found, Report

T = TypeVar("T")
EXTENSION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
"""The name of an extension's format: a vendor, a dash, and a name."""
_Keys = dict[str, msgspec.Raw]
"""An object's keys, with undecoded values."""


def read_agent(report: Report) -> Found:
    """Return the tokens, cost, turns and duration that an agent reports."""
    try:
        report.content.decode()
    except UnicodeDecodeError as error:
        raise report.bad("is not UTF-8") from error
    if (usage := read_answer(report.content).usage) is None:
        raise report.bad("contains no agent result with tokens, cost or turns")
    return Found(usage=usage)


class Format(NamedTuple):
    """A report format: its reader, and how its reports are recognized."""

    read: Callable[[Report], Found]
    marks: tuple[str, ...] = ()
    """Alternative sets of words; a report must contain all words of one set: `<` and its
    first XML tag with attributes, or `{` and keys of its JSON object (the one in the first
    line), or `[` and keys of the first object in its list."""
    places: str = ""
    """Paths or glob patterns of the default locations in a work tree."""
    text: bytes = b""
    """A pattern to search for in the first and last lines, joined by a newline."""


TABLE: Mapping[str, Format] = {
    "junit": Format(
        xml_suites.read_junit,
        ("<testsuites", "<testsuite"),
        "junit.xml target/surefire-reports/TEST-*.xml build/test-results/test/TEST-*.xml",
    ),
    "nunit": Format(xml_suites.read_nunit, ("<test-run",), "TestResult.xml"),
    "trx": Format(xml_suites.read_trx, ("<TestRun",), "TestResults/*.trx"),
    "jest": Format(suites.read_jest, ("{ numTotalTests testResults",), "test-results.json"),
    "playwright": Format(
        suites.read_playwright, ("{ config suites stats",), "test-results.json"
    ),
    "go": Format(suites.read_go_test, ("{ Action Package", "{ Action ImportPath")),
    "cargo": Format(
        suites.read_cargo_test,
        ("{ type event test_count",),
        text=rb"\Arunning \d+ tests?\n|\n(?:test result: |error: test failed, )",
    ),
    "tap": Format(suites.read_tap, text=rb"\A(?:TAP version \d+|1\.\.\d+)\s"),
    "clover": Format(
        coverage.read_clover, ("<coverage generated",), "clover.xml coverage/clover.xml"
    ),
    "jacoco": Format(
        coverage.read_jacoco,
        ("<report name",),
        "target/site/jacoco/jacoco.xml build/reports/jacoco/test/jacocoTestReport.xml",
    ),
    "cobertura": Format(
        coverage.read_cobertura,
        ("<coverage",),
        "coverage.xml coverage/cobertura-coverage.xml",
    ),
    "lcov": Format(
        coverage.read_lcov, (), "lcov.info coverage/lcov.info", rb"\A(?:TN|SF):"
    ),
    "coverage.py": Format(coverage.read_coverage_py, ("{ meta totals",), "coverage.json"),
    "sarif": Format(linters.read_sarif, ("{ version runs",)),
    # A clean run of Ruff prints an empty list, and no other tool does.
    "ruff": Format(linters.read_ruff, ("[ filename code message", "[]")),
    "eslint": Format(linters.read_eslint, ("[ filePath messages",)),
    "tsc": Format(
        linters.read_tsc,
        text=rb"\A(?:\S.*\(\d+,\d+\): )?error TS\d+: |\AFound \d+ errors?\.",
    ),
    "mypy": Format(
        linters.read_mypy,
        ("{ file line message",),
        text=rb"\n(?:Success: .*|Found \d{1,15} errors? in .*)\Z",
    ),
    # Gemini CLI and Antigravity CLI print objects without a type.
    "agent": Format(
        read_agent, ("{ type", "{ response stats", "{ conversation_id", "[ type")
    ),
}
"""The formats that are recognized by content, by their names on the command line."""

READERS = {name: one.read for name, one in TABLE.items()}

FORMATS = (*READERS, parsers.FORMAT)
"""The names of all formats."""


def is_format(name: str) -> bool:
    """Return whether a format with this name exists, including extensions' formats."""
    if name in FORMATS or not EXTENSION.fullmatch(name):
        return name in FORMATS
    # Imported here: only names of extensions require it.
    from ...extensions import installed

    return any(one.name == name for one in installed("report"))


def read_as(name: str, report: Report) -> Found:
    """Return a report's content; errors in an extension's reader name the extension."""
    if (reader := READERS.get(name)) is not None:
        return reader(report)
    from ...extensions import ExtensionError, loaded, named

    extension, read = loaded("report", name)
    with named(extension):
        found = read(report)
    if not isinstance(found, Found):
        raise ExtensionError(
            f"{extension.described()} returned an object of type {type(found).__name__}"
        )
    for metric, count in found.counts.items():
        if type(count) is not int or not 0 <= count <= COUNT_MAX:
            raise ExtensionError(
                f"{extension.described()} returned an invalid {metric}: {count}"
            )
    return found


def format_of(report: Report) -> str:
    """Return the name of a report's format; raise `InvalidInputError` if it is unknown."""
    content = report.content.strip()
    words, ends = set[str](), b""
    if content.startswith((b"{", b"[")):
        words = _words_of_json(report, content)
    elif content.startswith(b"<") or report.content.startswith((b"\xff\xfe", b"\xfe\xff")):
        tag, attributes = parsers.root_of(report)
        words = {f"<{tag}", *attributes}
    else:
        ends = content.partition(b"\n")[0].strip() + b"\n" + content.rpartition(b"\n")[2]
    for name, one in TABLE.items():
        is_marked = any(words.issuperset(mark.split()) for mark in one.marks)
        if is_marked or (one.text and re.search(one.text, ends)):
            return name
    hint = f"specify FORMAT=FILE, where FORMAT is one of {', '.join(FORMATS)}"
    raise report.bad("unknown format", hint=hint)


def _words_of_json(report: Report, content: bytes) -> set[str]:
    parsers.check_size(report, content)
    if content.startswith(b"["):
        listed = _decoded(report, content, list[_Keys])
        return {"[", *listed[0]} if listed else {"[]"}
    try:
        # The report may contain an object per line.
        keys = msgspec.json.decode(content.partition(b"\n")[0], type=_Keys)
    except (msgspec.DecodeError, ValueError, RecursionError):
        keys = _decoded(report, content, _Keys)
    return {"{", *keys}


def _decoded(report: Report, content: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=shape)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise report.bad(f"not JSON: {error}") from error
