"""A text based on the previous one equals a completely generated text."""

from collections.abc import Iterator
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.phases.leaves import (
    CompletePhase,
    ReopenPhase,
    SkipPhase,
    StartPhase,
)
from sprintlog.engine.sprint.phases.lifecycle import StartSprint
from sprintlog.engine.sprint.state import node
from sprintlog.projections.state_files import sums
from sprintlog.projections.state_files.sums import Sum
from sprintlog.projections.state_files.yaml import blocks, writer
from sprintlog.projections.state_files.yaml.blocks import NOTHING, Touched, dump_after
from sprintlog.projections.state_files.yaml.writer import dump

from ..random_sprints import Life
from ..sprint_histories import copied
from .test_yaml_round_trip import texts, values

lists = st.lists(values, max_size=9)
documents = st.dictionaries(texts, values | lists, max_size=4)


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """Make three items a long list, and two a block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "LONG", 2)
        patch.setattr(blocks, "ITEMS_OF_BLOCK", 2)
        yield


@pytest.mark.long
@given(st.lists(documents, min_size=1, max_size=4), st.booleans())
def test_any_document_after_any_other(ones: list[dict[str, Any]], is_kept: bool) -> None:
    """Whatever the previous document was, the text equals the complete writer's."""
    text = NOTHING
    for document in ones:
        text = dump_after(document, text, is_kept=is_kept)
        assert text.content == dump(document).encode()


@pytest.mark.long
@given(lists, st.data())
def test_changed_items_are_made_anew(items: list[Any], data: st.DataObject) -> None:
    """A list that changes a little has the text of its current contents."""
    text = dump_after({"phases": items}, NOTHING)
    for _ in range(3):
        is_new = data.draw(st.integers(0, 1)) or not items
        if not is_new:
            items[data.draw(st.integers(0, len(items) - 1))] = data.draw(values)
        else:
            items.insert(data.draw(st.integers(0, len(items))), data.draw(values))
        text = dump_after({"phases": items}, text, is_kept=True)
        assert text.content == dump({"phases": items}).encode()


@given(st.integers(0, 2**32), st.booleans())
def test_each_step_of_a_sprint(seed: int, is_kept: bool) -> None:
    """In any life of a sprint, the file equals that of the complete writer."""
    life = Life(Random(seed))
    text = NOTHING
    for _ in range(12):
        life.meddle()
        document = life.sprint.document
        text = dump_after(document, text, is_kept=is_kept)
        assert text.content == dump(document).encode()


COMMANDS = (StartPhase, StartPhase, SkipPhase, ReopenPhase)
PLAIN = {"phases": [{"id": f"p{number}", "prompt": "x"} for number in range(12)]}


@given(st.integers(0, 2**32))
def test_only_what_was_asked_for_has_changed(seed: int) -> None:
    """In any life of plain phases the notes of requested nodes include all changes."""
    chance = Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node, "FLAT_FROM", 1)
        life = Life(chance, document=copied(PLAIN))
        life.command(StartSprint())
        text, asked = NOTHING, None
        for _ in range(20):
            phase = chance.choice((None, f"p{chance.randrange(12)}"))
            if not chance.randrange(8):
                assert life.sprint.plan.tree.leaves
            for command in chance.sample(COMMANDS, k=2):
                life.handle_with(command(phase=phase or "p3"))
            life.handle_with(CompletePhase(phase))
            if not chance.randrange(10):
                life.meddle()
            sprint = life.sprint
            document, tree = sprint.document, sprint.plan.tree
            is_noted = asked is not None and asked is tree.asked
            touched = Touched(document.get("phases"), asked or ()) if is_noted else None
            text = dump_after(document, text, is_kept=True, touched=touched)
            assert text.content == dump(document).encode()
            asked = tree.watch()


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=6), st.data())
def test_a_sum_that_goes_on(contents: list[bytes], data: st.DataObject) -> None:
    """Whatever prefix is known, the digest is that of the complete content."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "STEP", 8)
        found, before = Sum(), b""
        for content in contents:
            same = data.draw(st.integers(0, len(before)))
            content = before[:same] + content
            assert found.digest(content, like=before, same=same) == sha256(content).digest()
            before = content


def test_only_what_changed_is_made_anew() -> None:
    """One changed item costs one block; one at the end of the list, the last block."""
    items: list[Any] = [{"id": f"p{number}"} for number in range(100)]
    text = dump_after({"id": "s", "phases": items, "z": 1}, NOTHING)
    assert text.made == 50
    items[31] = {"id": "p31", "status": "completed"}
    text = dump_after({"id": "t", "phases": items, "z": 2}, text)
    assert text.made == 1
    items.append({"id": "p100"})
    assert dump_after({"phases": items}, text).made == 1


@pytest.mark.parametrize("value", [float("nan"), 2**63, 2**64, "half \ud83d", (1,), {1: 2}])
def test_what_cannot_be_written_is_refused_by_its_path(value: object) -> None:
    """A value that YAML cannot represent is refused with the same field."""
    items: list[Any] = [{}, {}, {}]
    text = dump_after({"phases": items}, NOTHING)
    items[2] = {"prompt": value}
    with pytest.raises(InvalidInputError, match=r"^phases\[2\]\.prompt"):
        dump_after({"phases": items}, text)
