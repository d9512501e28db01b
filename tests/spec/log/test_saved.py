"""A shape's number: the same in every process, different for other shapes."""

import os
import subprocess
import sys

import msgspec
import pytest

from sprintlog.engine.sprint.state.knowledge import HeldSnapshot, Knowledge
from sprintlog.engine.sprint.state.sprint import STATE_FORMAT, format_due
from sprintlog.engine.state_format import PartsDecoder, shape_of


def part(**fields: tuple[object, object]) -> type[msgspec.Struct]:
    """Return a struct with these fields: type and default."""
    return msgspec.defstruct("Part", [(name, *given) for name, given in fields.items()])


def whole(kind: object, *, array_like: bool = False) -> int:
    """Return the number for a struct with one field."""
    struct = msgspec.defstruct("Whole", [("held", kind)], array_like=array_like)
    return shape_of(struct, meaning=1)


BEFORE = part(number=(int, 0), words=(list[str], msgspec.field(default_factory=list)))
OTHERS = {
    "a name": part(count=(int, 0), words=(list[str], msgspec.field(default_factory=list))),
    "a type": part(
        number=(float, 0), words=(list[str], msgspec.field(default_factory=list))
    ),
    "a type within": part(
        number=(int, 0), words=(list[int], msgspec.field(default_factory=list))
    ),
    "a default": part(
        number=(int, 1), words=(list[str], msgspec.field(default_factory=list))
    ),
    "what makes a default": part(
        number=(int, 0), words=(list[str], msgspec.field(default_factory=dict))
    ),
    "one less": part(number=(int, 0)),
    "the order": part(
        words=(list[str], msgspec.field(default_factory=list)), number=(int, 0)
    ),
}


@pytest.mark.parametrize("after", OTHERS.values(), ids=OTHERS)
def test_other_fields_are_another_shape(after: type[msgspec.Struct]) -> None:
    """Any change in a struct, however deep, changes the number."""
    assert whole(dict[str, tuple[int, BEFORE | None]]) != (  # type: ignore[valid-type]
        whole(dict[str, tuple[int, after | None]])  # type: ignore[valid-type]
    )


def test_another_layout_is_another_shape() -> None:
    """A struct stored as a list has a different shape from one stored by names."""
    assert whole(int) != whole(int, array_like=True)


def test_another_meaning_is_another_shape() -> None:
    """Properties outside of the fields are part of the number."""
    assert shape_of(BEFORE, meaning=1) != shape_of(BEFORE, meaning=2)


def test_struct_that_is_met_again_counts_once() -> None:
    """A struct used by several fields is included in the number once."""
    assert shape_of(BEFORE, BEFORE, meaning=1) == shape_of(BEFORE, meaning=1)


def test_number_that_is_written_down_is_the_one_that_is_due() -> None:
    """A change of a sprint's saved state requires the new number here."""
    assert format_due() == STATE_FORMAT


def test_number_is_the_same_in_every_process() -> None:
    """Numbers do not depend on memory addresses or the order of hashes."""
    script = (
        "from sprintlog.engine.sprint.state.sprint import format_due as s;"
        "from sprintlog.engine.journal.state import JOURNAL_FORMAT as j;"
        "print(s(), j)"
    )
    answers = {
        subprocess.check_output(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    }
    assert len(answers) == 1


HELD = HeldSnapshot("s", 1, 2, "end", "")
KNOWN = {
    "nothing": Knowledge(),
    "numbers": Knowledge(begun=3, rollbacks=[(5, 2)], undid={7: 5}),
    "bytes": Knowledge(starts=bytearray(b"ab")),
    "structs": Knowledge(snapshots=[HELD], begun=1),
}


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_parts_are_decoded_to_the_whole(known: Knowledge) -> None:
    """Reading field by field equals reading with msgspec at once."""
    encoded = msgspec.msgpack.encode(known)
    found = PartsDecoder(Knowledge).decode(msgspec.Raw(encoded))
    assert found == known == msgspec.msgpack.decode(encoded, type=Knowledge)


def test_defaults_of_two_structs_are_not_one() -> None:
    """An initial value belongs to its reader."""
    encoded, decoder = (
        msgspec.Raw(msgspec.msgpack.encode(Knowledge())),
        PartsDecoder(Knowledge),
    )
    decoder.decode(encoded).rollbacks.append((5, 2))
    decoder.decode(encoded).tracker.ledger.extend(b"x")
    assert decoder.decode(encoded) == Knowledge()


def test_only_what_is_said_is_looked_at() -> None:
    """Fields with their initial values require no type."""
    decoder = PartsDecoder(Knowledge)
    decoder.decode(msgspec.Raw(msgspec.msgpack.encode(Knowledge(begun=3, undone=[1]))))
    assert sorted(decoder._decoders) == ["begun", "undone"]


def test_every_part_has_a_type_that_can_be_read() -> None:
    """Every field has an explicit type and a default."""
    assert Knowledge() == Knowledge()
    for kind in Knowledge.__annotations__.values():
        msgspec.msgpack.Decoder(kind)


@pytest.mark.parametrize("other", [[], {"begun": "many"}, {"snapshots": [[1]]}, None])
def test_anything_else_is_refused(other: object) -> None:
    """Other bytes cause a decoding error."""
    encoded = msgspec.Raw(msgspec.msgpack.encode(other))
    with pytest.raises(msgspec.DecodeError):
        PartsDecoder(Knowledge).decode(encoded)


def test_a_field_of_nobody_is_passed_over() -> None:
    """An unknown field is ignored, as in msgspec."""
    encoded = msgspec.Raw(msgspec.msgpack.encode({"begun": 2, "of-later": [1]}))
    assert PartsDecoder(Knowledge).decode(encoded) == Knowledge(begun=2)
