"""One shape of a PROGRESS.yaml: what is adopted is held to what is read."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sprintlog.cli.intake.progress import CompiledPlan
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.plan.shape import check_shape
from sprintlog.projections.state_files.yaml.reader import load

EVERY_FIELD = Path(__file__).resolve().parents[3] / "fixtures/documents/every-field.yaml"
OTHERS: list[Any] = [
    None,
    True,
    7,
    -1,
    1.5,
    "",
    "x",
    "60",
    "x" * 129,
    [],
    ["x"],
    {},
    {"x": 1},
]


def places(value: Any, *, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a document."""
    pairs: Any = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, child in pairs:
        yield (*before, key)
        yield from places(child, before=(*before, key))


def test_both_take_the_same() -> None:
    """With any value of any field replaced, both readings take it or neither does."""
    document = load(EVERY_FIELD.read_bytes())
    for path in places(document):
        for other in OTHERS:
            changed = deepcopy(document)
            holder: Any = changed
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = other
            assert _engine_takes(changed) == _intake_takes(changed), (path, other)


def _engine_takes(document: Any) -> bool:
    try:
        check_shape(document, level=0)
    except RefusedError:
        return False
    return True


def _intake_takes(document: Any) -> bool:
    try:
        CompiledPlan.model_validate(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    ("data", "level", "field"),
    [
        ({"phases": [{"gate": {"script": True}}]}, 0, "phases[0].gate.script"),
        ({"model": "gpt"}, 1, "model"),
        ({"phases": [{"retry-count": -1}]}, 2, "phases[0].retry-count"),
    ],
)
def test_names_the_field(data: dict[str, Any], level: int, field: str) -> None:
    """A refusal names the field, from the node that was looked at."""
    with pytest.raises(RefusedError, match="expected") as refused:
        check_shape(data, level=level)
    assert refused.value.fields["field"] == field
