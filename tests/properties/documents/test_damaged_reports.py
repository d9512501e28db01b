"""A damaged report is either read or refused, and has no other effect."""

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from sprintlog.engine.adapters.measurement.formats import READERS, format_of
from sprintlog.engine.adapters.reports.report import COUNT_MAX, Found, Report
from sprintlog.engine.errors import SprintlogError
from tests.lengths import examples

laws = settings(max_examples=examples(200), deadline=None)

FIXTURES = Path(__file__).parents[3] / "fixtures" / "reports"
NAMES = sorted(json.loads((FIXTURES / "expected.json").read_text("utf-8")))
CONTENTS = {name: (FIXTURES / name).read_bytes() for name in NAMES}
PIECES = (
    b"-1",
    b"NaN",
    b"1e999",
    b"null",
    b'"',
    b"<",
    b"]]>",
    b"\xff",
    b"\x00",
    b"\n",
    b"9" * 400,
)


def taken(content: bytes, format_: str | None = None) -> Found | str:
    """Return the findings, or the refusal."""
    report = Report("report", content, Path("/somewhere"))
    try:
        found = READERS[format_ or format_of(report)](report)
    except SprintlogError as error:
        return error.message
    assert all(0 <= count <= COUNT_MAX for count in found.counts.values())
    if found.coverage is not None:
        assert 0 <= (found.coverage.percentage or 0) <= 100
        assert 0 <= (found.coverage.covered or 0) <= (found.coverage.total or 0)
    return found


@given(name=st.sampled_from(NAMES), data=st.data())
@laws
def test_a_damaged_report_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """Whatever bytes are removed, changed or inserted, the report is read or refused."""
    content = CONTENTS[name]
    begin = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(begin, min(len(content), begin + 20)))
    piece = data.draw(st.sampled_from(PIECES) | st.binary(max_size=8))
    damaged = content[:begin] + piece + content[end:]
    assert taken(damaged)
    assert taken(damaged, data.draw(st.sampled_from(sorted(READERS))))


@given(name=st.sampled_from(NAMES), data=st.data())
@laws
def test_a_cut_report_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """A report without its end is either read or refused."""
    content = CONTENTS[name]
    assert taken(content[: data.draw(st.integers(0, len(content) - 1))])


def test_a_cut_document_is_never_taken_for_a_whole_one() -> None:
    """No JSON or XML report is read if even one byte at its end is missing."""
    for name, content in CONTENTS.items():
        whole = content.rstrip()
        if name.endswith((".xml", ".trx", ".json", ".sarif")):
            for length in range(0, len(whole), 7):
                assert isinstance(taken(whole[:length]), str), (name, length)
            assert isinstance(taken(whole[:-1]), str), name


@given(content=st.binary(max_size=200), name=st.sampled_from(sorted(READERS)))
@laws
def test_noise_is_read_or_refused(content: bytes, name: str) -> None:
    """Any bytes get an answer, under any format."""
    assert taken(content)
    assert taken(content, name)
