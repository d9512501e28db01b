"""Commands whose fields have values of a wrong type, as only Python can create."""

from pathlib import Path

import pytest

from sprintlog import commands
from sprintlog.engine.command import Command, check_types
from sprintlog.engine.errors import InvalidInputError, SprintlogError
from sprintlog.events import Learning, decode
from sprintlog.projections.workspace import Workspace

PLAN = {"phases": [{"id": "build", "prompt": "Build"}, {"id": "ship", "prompt": "Ship"}]}
WRONG = (7, 7.5, "seven", b"7", [7], {"seven": 7}, object(), None, True)
KINDS = [
    kind
    for kind in vars(commands).values()
    if isinstance(kind, type) and issubclass(kind, Command) and kind.__struct_fields__
]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a workspace with a sprint with an iteration and a phase in progress."""
    workspace = Workspace.in_memory(tmp_path)
    for command in (
        commands.CreateSprint(PLAN),
        commands.StartSprint(),
        commands.StartIteration(),
        commands.StartPhase("build"),
    ):
        workspace.handle(command, sprint_id="s")
    return workspace


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_value_of_another_type_breaks_nothing(
    kind: type[Command], workspace: Workspace
) -> None:
    """Such a command is accepted or refused, and everything stays readable."""
    needed = kind.__struct_fields__[
        : len(kind.__struct_fields__) - len(kind.__struct_defaults__)
    ]
    for name in kind.__struct_fields__:
        for value in WRONG:
            given = dict.fromkeys(needed, "build") | {name: value}
            try:
                workspace.handle(kind(**given), sprint_id="s")
            except SprintlogError:
                continue
    assert all(decode(event) for event in workspace.events())
    assert workspace.repository.from_nothing("s").version


@pytest.mark.parametrize(
    ("kind", "field", "value", "says"),
    [
        (commands.AddNote, "text", 5, "expected `str`, got `int`, in AddNote"),
        (commands.CreateSprint, "plan", "x", "expected `object`, got `str`"),
        (commands.CreateSprint, "plan", {"phases": [object()]}, "objects of type object"),
        (commands.AddLearning, "learning", {"still_valid": True}, "expected Learning"),
    ],
)
def test_a_refusal_names_the_field(
    kind: type[Command], field: str, value: object, says: str
) -> None:
    """A value of a wrong type is refused with the field, the value and the right type."""
    with pytest.raises(InvalidInputError, match=says) as refused:
        check_types(kind(**{field: value}))
    assert refused.value.fields["field"] == field
    assert refused.value.hint


def test_fields_of_their_types_are_not_refused() -> None:
    """A command with valid fields is accepted."""
    check_types(commands.AddLearning(Learning(content="x", still_valid=True)))
    check_types(commands.CreateSprint(PLAN))


def test_what_nobody_can_read_is_not_recorded(workspace: Workspace) -> None:
    """An event that could not be read again is refused before it is recorded."""
    before = workspace.log.last_position()
    with pytest.raises(InvalidInputError, match=r"reason: expected .* in rolled-back"):
        workspace.handle(commands.RollBack(1, reason=5), sprint_id="s")  # type: ignore[arg-type]
    assert workspace.log.last_position() == before


def test_a_command_without_its_sprint_is_refused(workspace: Workspace) -> None:
    """A missing sprint is reported with the name of the argument."""
    with pytest.raises(InvalidInputError, match="sprint_id: missing sprint"):
        workspace.handle(commands.AddNote("x"), sprint_id="")
