"""A strict reader of progress.json, built from the JSON Schema of its specification."""

import json
from pathlib import Path
from typing import Any

import jsonschema

SCHEMA = Path(__file__).resolve().parents[1] / "fixtures/documents/journal.schema.json"

_READER = jsonschema.Draft202012Validator(
    json.loads(SCHEMA.read_text()),
    format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER,
)
assert "date-time" in jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers


def faults(data: Any) -> list[str]:
    """Return the violations that a strict reader finds in a document."""
    return [f"{e.json_path}: {e.message}" for e in _READER.iter_errors(data)]


def read(content: bytes) -> Any:
    """Return the contents of a file; fail unless a strict reader accepts it."""
    data = json.loads(content)
    assert faults(data) == []
    return data
