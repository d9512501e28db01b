"""The table of events as a Parquet file, by Apache Arrow: the only module that knows it."""

from collections.abc import Callable
from typing import Any

import pyarrow
import pyarrow.parquet

from sprintlog.exports import ExportedLog
from sprintlog.formatting import parse_time

from .tables import COLUMNS, NUMBER, TEXT, TIME, TRUTH, rows

_TYPES = {
    NUMBER: pyarrow.int64(),
    TEXT: pyarrow.string(),
    TIME: pyarrow.timestamp("us", tz="UTC"),
    TRUTH: pyarrow.bool_(),
}
SCHEMA = pyarrow.schema([(name, _TYPES[kind]) for name, kind in COLUMNS.items()])
ROWS_A_GROUP = 4096
_MOMENTS = [number for number, kind in enumerate(COLUMNS.values()) if kind == TIME]


class _Sink:
    """A write-only file for Arrow."""

    closed = False

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write, self._place = write, 0

    def write(self, content: Any) -> int:
        """Append bytes."""
        self._write(bytes(content))
        self._place += len(content)
        return len(content)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._place

    def flush(self) -> None:
        """Do nothing: `write` does not buffer."""

    def close(self) -> None:
        """Do nothing: the caller closes its file."""


def write_parquet(telling: ExportedLog, write: Callable[[bytes], object]) -> None:
    """Write the events of a log as one Parquet file, some thousands in a row group."""
    sink = pyarrow.PythonFile(_Sink(write), mode="w")
    with pyarrow.parquet.ParquetWriter(sink, SCHEMA, compression="zstd") as file:
        for page in rows(telling, ROWS_A_GROUP):
            columns = [list(column) for column in zip(*page, strict=True)]
            for number in _MOMENTS:
                columns[number] = [parse_time(text) for text in columns[number]]
            file.write_table(pyarrow.table(columns, schema=SCHEMA))
