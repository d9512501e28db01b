"""The URI by which SQLite opens a file."""

import os
from pathlib import Path

import pytest

from sprintlog.engine.log.stores.sqlite.database import uri_of

NAMES = (
    b"log.db",
    b"with space",
    b"100%",
    b"%41?mode=ro",
    b"a#b&c=d;e+f",
    b"~-._,:@!$'()*",
    "Übung/größer".encode(),
    "日本/🙂".encode(),
    b'"quoted"\\\t\n',
    b"not-utf-8-\xff\xfe",
)


@pytest.mark.parametrize("name", NAMES)
def test_is_what_python_says(name: bytes) -> None:
    """The URI is right for any file name, including bytes that are not text."""
    path = Path("/folder", os.fsdecode(name))
    assert uri_of(path) == path.as_uri()


def test_every_byte_of_a_name_is_as_python_writes_it() -> None:
    """Each byte that a name can contain is tested."""
    for byte in {*range(1, 256)} - {ord("/")}:
        path = Path("/folder", os.fsdecode(b"x" + bytes([byte])))
        assert uri_of(path) == path.as_uri()


def test_begins_at_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative name means the same file."""
    monkeypatch.chdir(tmp_path)
    assert uri_of(Path("log.db")) == (tmp_path / "log.db").as_uri()
