"""Broken, foreign and hostile reports are refused immediately with a one-line error."""

import gzip
import os
import tempfile
from pathlib import Path

import pytest

from sprintlog.engine.adapters.measurement import formats
from sprintlog.engine.adapters.reports import parsers, report
from sprintlog.engine.errors import NotFoundError
from tests import needs

from .reading import FIXTURES, read, refusal

ENTITIES = "".join(
    f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 10)
)
BOMB = f'<!DOCTYPE x [<!ENTITY l0 "lol">{ENTITIES}]><testsuite name="&l9;"/>'
SUITE = '<testsuite><testcase name="a"/></testsuite>'
ESLINT = '[{"filePath":"a","messages":%s,"errorCount":%s,"warningCount":%s}]'
JEST = (
    '{"numTotalTests":1,"numFailedTests":%s,"success":false,"testResults":'
    '[{"status":"failed","assertionResults":[%s]}]}'
)
PLAYWRIGHT = (
    '{"config":{},"suites":[%s],"stats":'
    '{"expected":%s,"unexpected":0,"flaky":0,"skipped":0}}'
)
COVERAGE = '{"meta":{"version":"7"},"files":{},"totals":%s}'

REFUSED: dict[str, tuple[str, str]] = {
    "nothing": ("", "is empty"),
    "blank lines": ("\n\n", "unknown format"),
    "prose": ("2 passed in 0.1s", "unknown format"),
    "another XML": ("<report/>", "unknown format"),
    "Cobertura without a rate": ("<coverage/>", "element is <coverage>: not a Cob"),
    "Clover without sums": (
        '<coverage generated="1"><project/></coverage>',
        "coverage/project/metrics: states its line counts 0 times instead of once",
    ),
    "Clover with more covered than there is": (
        '<coverage generated="1"><project><metrics statements="1" coveredstatements="2"/>'
        "</project></coverage>",
        "coveredstatements: more lines are covered than exist",
    ),
    "JaCoCo of classes without lines": (
        '<report name="a"><counter type="METHOD" missed="0" covered="1"/></report>',
        "report/counter: states its line counts 0 times instead of once",
    ),
    "JaCoCo with a sum that is missing": (
        '<report name="a"><counter type="LINE" covered="1"/></report>',
        "missed: '' is not a count",
    ),
    "NUnit with an unknown outcome": (
        '<test-run result="Failed"><test-case result="Great"/></test-run>',
        "result: 'Great' is not a known outcome",
    ),
    "TRX with an unknown outcome": (
        '<TestRun><UnitTestResult outcome="Great"/></TestRun>',
        "outcome: 'Great' is not a known outcome",
    ),
    "Jest with another sum": (
        JEST % (2, '{"status":"failed"}'),
        "numFailedTests: lists 1 failed tests but states 2",
    ),
    "Jest with an unknown status": (
        JEST % (0, '{"status":"great"}'),
        "testResults[0].assertionResults[0].status: Invalid enum value 'great'",
    ),
    "Playwright with another sum": (
        PLAYWRIGHT % ('{"specs":[{"tests":[{"status":"flaky"}]}]}', 1),
        "stats.expected: lists 0 tests but states 1",
    ),
    "go test, cut": (
        '{"Action":"start","Package":"a"}\n{"Action":"pass","Package":"a","Test":"T"}',
        "ends within the package a: the file is truncated",
    ),
    "go test and prose": ('{"Action":"start","Package":"a"}\nhello', "2: not JSON"),
    "cargo, cut": ("running 2 tests\ntest a ... ok\n", "ends before the results"),
    "cargo in cargo": (
        "running 2 tests\nrunning 1 test\ntest a ... ok\n",
        "2: 0 results for 2 tests",
    ),
    "cargo with other sums": (
        "running 2 tests\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; "
        "0 filtered out\n",
        "2: 1 results for 2 tests",
    ),
    "TAP without a plan": ("TAP version 13\nok 1\n", "ends without its plan"),
    "TAP with two plans": ("1..1\nok 1\n1..1\n", "3: a second plan"),
    "TAP with more than its plan": ("1..1\nok 1\nok 2\n", "2 tests ran, but 1 were"),
    "TAP, cut in subtests": ("1..1\n    ok 1\n", "within subtests: the file"),
    "TAP, cut in YAML": ("1..1\nok 1\n  ---\n  a: 1\n", "ends within a YAML block"),
    "TAP with braces": ("1..1\nok 1 - a {\n    ok 1\n}\n", "2: a summary before its"),
    "tsc and prose": ("error TS1: a\nhello\n", "2: not a line that tsc prints"),
    "another JSON": ('{"a": 1}', "unknown format"),
    "a list of other objects": ('[{"a": 1}]', "unknown format"),
    "a list of no objects": ("[1]", "not JSON: Expected `object`"),
    "a bomb of entities": (BOMB, "declares entities or a document type"),
    "an external entity": (
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>{SUITE}',
        "declares entities or a document type",
    ),
    "defaults of attributes": (
        f'<!DOCTYPE x [<!ATTLIST testcase status CDATA "skipped">]>{SUITE}',
        "declares entities or a document type",
    ),
    "an entity of nowhere": (
        "<testsuite>&e;</testsuite>",
        "not well-formed XML: undefined",
    ),
    "deep XML": ("<testsuite>" + "<a>" * 100_000, "nested deeper than 64 levels"),
    "cut XML": (SUITE[:-5], "1: not well-formed XML: unclosed token"),
    "two roots": (SUITE + SUITE, "1: not well-formed XML: junk after document"),
    "an unknown encoding": (
        f'<?xml version="1.0" encoding="x-nobody"?>{SUITE}',
        "not readable XML: unknown encoding: x-nobody",
    ),
    "a negative sum": ('<testsuite tests="-1"/>', "tests: '-1' is not a count"),
    "no number": ('<testsuite failures="NaN"/>', "failures: 'NaN' is not a count"),
    "other digits": ('<testsuite tests="٣"/>', "tests: '٣' is not a count"),
    "a sum without end": ('<testsuite tests="' + "9" * 5000 + '"/>', "is not a count"),
    "more skipped than there are": (
        '<testsuite tests="1" skipped="2"/>',
        "more tests failed or were skipped than exist",
    ),
    "a rate of 200 %": ('<coverage line-rate="2"/>', "line-rate: '2' is not a rate"),
    "another rate": (
        '<coverage line-rate="0.9" lines-valid="10" lines-covered="1"/>',
        "line-rate: 0.9 does not match 1 of 10 lines",
    ),
    "more lines covered than there are": (
        '<coverage line-rate="1" lines-valid="1" lines-covered="2"/>',
        "more lines are covered than exist",
    ),
    "negative hits": (
        '<coverage line-rate="1"><class><lines><line number="1" hits="-1"/></lines>'
        "</class></coverage>",
        "hits: '-1' is not a count",
    ),
    "deep JSON": ('{"runs":' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper"),
    "deep JSON, cut": ('{"runs":' + "[" * 100_000, "not JSON"),
    "a key twice": (ESLINT % ("[]", 0, '0,"errorCount":1'), 'duplicate key "errorCount"'),
    "not a number": (ESLINT % ("[]", "NaN", 0), "not JSON"),
    "a negative count": (ESLINT % ("[]", -1, 0), "[0].errorCount: Expected `int` >= 0"),
    "a huge count": (ESLINT % ("[]", "9" * 5000, 0), "[0].errorCount: "),
    "a word for a count": (ESLINT % ("[]", '"1"', 0), "[0].errorCount: Expected `int`"),
    "true for a count": (ESLINT % ("[]", "true", 0), "[0].errorCount: Expected `int`"),
    "counts that do not fit": (
        ESLINT % ("[{}]", 0, 0),
        "[0]: lists 1 messages but counts 0 errors and 0 warnings",
    ),
    "a percentage beyond 100": (
        COVERAGE % '{"covered_lines":1,"num_statements":1,"percent_covered":101}',
        "totals.percent_covered: Expected `float` <= 100",
    ),
    "a percentage beyond numbers": (
        COVERAGE % '{"covered_lines":1,"num_statements":1,"percent_covered":1e999}',
        "totals.percent_covered: ",
    ),
    "more covered than there is": (
        COVERAGE % '{"covered_lines":2,"num_statements":1,"percent_covered":50}',
        "totals: more lines are covered than exist",
    ),
    "SARIF 1": ('{"version":"1.0.0","runs":[]}', "version: only SARIF 2 is"),
    "SARIF without results": (
        '{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"a"}}}]}',
        "runs: contains no run with results",
    ),
    "an unknown level": (
        '{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"a"}},"results":'
        '[{"message":{},"level":"fatal"}]}]}',
        "runs[0].results[0].level: Invalid enum value 'fatal'",
    ),
    "cut LCOV": ("SF:a\nDA:1,1\n", "ends within a record: the file is truncated"),
    "LCOV in LCOV": ("SF:a\nSF:b\nend_of_record\n", "2: a record starts within another"),
    "LCOV without a file": ("TN:\nDA:1,1\n", "2: a line outside the"),
    "LCOV with negative hits": ("SF:a\nDA:1,-1\n", "2: 'DA:1,-1' is not LCOV"),
    "LCOV and prose": ("SF:a\nhello\n", "2: 'hello' is not LCOV"),
    "LCOV of nothing": ("TN:\n", "contains no record of a source file"),
    "more of LCOV than there is": (
        "SF:a\nLF:1\nLH:2\nend_of_record\n",
        "LH: more lines are covered than exist",
    ),
    "mypy and prose": (
        '{"file":"a","line":1,"message":"m"}\nhello\n',
        "2: not a line that mypy prints",
    ),
    "mypy, cut": ('{"file":"a","line":1,"message":"m"}\n{"file":"a","li', "2: not JSON"),
    "an agent without output": (
        '{"type":"result","result":"done"}',
        "contains no agent result with tokens, cost or turns",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_report_is_refused(case: str, tmp_path: Path) -> None:
    """The error names the file, the location and the problem."""
    content, said = REFUSED[case]
    message = refusal(content.encode(), tmp_path)
    assert message.startswith("report:")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize("format_", sorted({*formats.READERS} - {"cobertura"}))
def test_naming_another_format_does_not_help(format_: str, tmp_path: Path) -> None:
    """A report in a different format than specified is refused."""
    content = (FIXTURES / "cobertura-java.xml").read_bytes()
    refusal(content, tmp_path, name=f"{format_}=report")


@pytest.mark.parametrize(
    "content", [b"SF:\xff\nend_of_record\n", b'{"type":"result \xff"}']
)
def test_bytes_that_are_not_utf_8_are_refused(content: bytes, tmp_path: Path) -> None:
    """Bytes that cannot be text are not guessed."""
    assert refusal(content, tmp_path).startswith("report:")


def test_compressed_reports_are_not_unpacked(tmp_path: Path) -> None:
    """Nothing is decompressed, so size limits cannot be bypassed."""
    assert refusal(gzip.compress(b"<testsuite/>"), tmp_path) == "report: is compressed"


def test_only_plain_files_are_reports(tmp_path: Path) -> None:
    """A folder, a pipe, a link and a device are refused, and nothing waits for them."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(FIXTURES / "junit-jest.xml")
    for name in ("folder", "pipe", "link", "/dev/zero"):
        with pytest.raises(Exception, match="cannot be read: it is ") as caught:
            read(name, folder=tmp_path)
        assert caught.value.args[0].startswith(f"{name}: ")
    with pytest.raises(NotFoundError, match=r"^nowhere: no such file$"):
        read("nowhere", folder=tmp_path)


@needs.an_ordinary_user
def test_what_may_not_be_read_is_refused(tmp_path: Path) -> None:
    """The error states why the system denies access."""
    (tmp_path / "report").write_text(SUITE)
    (tmp_path / "report").chmod(0)
    with pytest.raises(Exception, match="cannot be read: Permission denied"):
        read("report", folder=tmp_path)


def test_what_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size limit is enforced without reading the file into memory."""
    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        file.truncate(report.REPORT_BYTES_MAX + 1)
        with pytest.raises(Exception, match="is longer than 64 MiB"):
            read(file.name, folder=tmp_path)
    monkeypatch.setattr(parsers, "VALUES_MAX", 100)
    assert "contains more than 100 keys and values" in refusal(
        b'{"runs":[' + b"0," * 100 + b"0]}", tmp_path
    )
    many = b"<testsuite>" + b"<a/>" * 100 + b"</testsuite>"
    assert "contains more than 100 elements" in refusal(many, tmp_path)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "content",
    [
        b'{"runs":"' + b'\\"' * 3_000_000,
        b'{"runs":[' + b"[]," * 300_000,
        b'{"type":"' + b"a" * 10_000_000,
        b"SF:" + b"a" * 10_000_000,
        b"TN:\n" + b"A" * 10_000_000,
        b": error" * 1_000_000 + b"\nFound no error",
        b'<testsuite name="' + b"a" * 10_000_000,
        b"<testsuite>" + b"<testcase/>" * 100_000,
        b"1..1\n" + b"ok # " * 2_000_000 + b"\nok\n",
        b"error TS1: " + b"a(1,1" * 2_000_000 + b"\n?",
        b"running 1 test\n" + b"test result: ok. " * 600_000,
        b'{"Action":"run","Package":"a","Test":"' + b"/" * 10_000_000 + b'"}',
    ],
    ids=lambda content: content[:12].decode(),
)
def test_no_report_takes_long(content: bytes, tmp_path: Path) -> None:
    """Reading is linear: megabytes that lead nowhere are refused within seconds."""
    before = os.times()
    refusal(content, tmp_path)
    after = os.times()
    assert after.user + after.system - before.user - before.system < 10
