"""JSON of any shape: custom metrics are read at their pointers."""

from pathlib import Path

import pytest

from sprintlog.engine.adapters.measurement.figures import Measured, read_reports, wanted
from sprintlog.engine.errors import InvalidInputError

BENCH = '{"latency": {"p95": 12.5, "a/b": {"~": 3}}, "runs": [{"rps": 7}, 1], "no": null}'


def read(folder: Path, content: str, **pointers: str) -> Measured:
    """Return the metrics of a report at these pointers."""
    (folder / "bench.json").write_text(content)
    reports = wanted("json=bench.json", folder=folder)
    return read_reports(reports, folder=folder, pointers=pointers)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("/latency/p95", 12.5), ("/latency/a~1b/~0", 3), ("/runs/0/rps", 7), ("/runs/1", 1)],
)
def test_reads_what_is_pointed_at(tmp_path: Path, pointer: str, value: float) -> None:
    """A pointer follows object keys and list indices."""
    found = read(tmp_path, BENCH, m=pointer, absent="/nowhere")
    assert found.metrics == {"m": value}
    assert (found.origins[0].format, found.origins[0].metrics) == ("json", ("m",))


def test_whole_document_may_be_the_number(tmp_path: Path) -> None:
    """The empty pointer names all of the document."""
    assert read(tmp_path, "42", m="").metrics == {"m": 42}


@pytest.mark.parametrize(
    ("content", "pointer", "why"),
    [
        (BENCH, "/runs/01", "contains none of /runs/01"),
        (BENCH, "/runs/-", "contains none of /runs/-"),
        (BENCH, "/runs/9", "contains none of"),
        (BENCH, "/latency/p95/x", "contains none of"),
        (BENCH, "/no", "m is not a number"),
        (BENCH, "/latency", "m is not a number"),
        ('{"m": "12"}', "/m", "m is not a number"),
        ('{"m": true}', "/m", "m is not a number"),
        ('{"m": NaN}', "/m", "not JSON"),
        ('{"m": 1, "m": 2}', "/m", "duplicate key"),
        ("[" * 99 + "]" * 99, "/0", "nested deeper"),
        ("no json", "/m", "not JSON"),
    ],
)
def test_refuses_what_is_no_number(
    tmp_path: Path, content: str, pointer: str, why: str
) -> None:
    """A value that is not a number, and a report without any value, are refused."""
    with pytest.raises(InvalidInputError, match=why):
        read(tmp_path, content, m=pointer)


def test_refuses_a_report_that_nobody_points_into(tmp_path: Path) -> None:
    """Without a pointer, nothing can be read from the report."""
    with pytest.raises(InvalidInputError, match="no custom metric has a pointer"):
        read(tmp_path, BENCH)


def test_refuses_two_that_say_the_same(tmp_path: Path) -> None:
    """If two reports state the same metric, neither is used."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"m": 1}')
    reports = wanted("json=*.json", folder=tmp_path)
    with pytest.raises(InvalidInputError, match=r"contains m, and so does a\.json"):
        read_reports(reports, folder=tmp_path, pointers={"m": "/m"})
