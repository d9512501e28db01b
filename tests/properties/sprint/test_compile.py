"""Laws of compiling any definition."""

import json
import re
from copy import deepcopy
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sprintlog.cli.intake.definition import shape_problems
from sprintlog.cli.intake.definition_models import SprintDefinition as SprintModel
from sprintlog.cli.intake.definition_models import Workflow
from sprintlog.engine.sprint.plan.compiler import Compiled, compile_sprint
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.plan.definitions import Definition
from sprintlog.engine.sprint.state.sprint import Sprint
from tests.lengths import examples

Data = dict[str, Any]
laws = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

SYNTAX = [
    *("{{item.prompt}}", "{{item.id}}", "{{ step.index }}", "{{sprint.name}}", "{{x}}"),
    *("\\{{item.id}}", "{{", "}}", "{", "}", "\\", "$&", "$1", "\\1", "\\g<0>", "%s"),
    *("{{item.{{item.id}}}}", "{0}", "\n", " ", "a", "é", "😀"),
]
hostile = st.one_of(
    st.lists(st.sampled_from(SYNTAX), min_size=1, max_size=12).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)
words = st.sampled_from(["a", "b", "main", "w1", "w2", "step", "", "x" * 129, "a/b"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 5), st.floats(0, 2), words)
KEYS = [
    *("workflow", "steps", "collections", "sprint-id", "name", "model", "goal", "mode"),
    *("ralph", "retry", "per-iteration-hooks", "max-iterations", "config", "phases"),
    *("id", "prompt", "for-each", "gate", "break", "parallel", "depends-on", "script"),
    *("on-fail", "enabled", "idle-threshold", "step", "a"),
]
anything = st.recursive(
    scalars | hostile,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    ),
    max_leaves=25,
)
mappings = st.dictionaries(st.sampled_from(KEYS), anything, max_size=8)

names = st.sampled_from(["a", "b", "c"])
models = st.sampled_from(["sonnet", "opus", "haiku"])
prompts = st.sampled_from(["x", "{{item.prompt}}", "{{phase.id}} {{sprint.id}}"])
phases = st.builds(
    lambda identity, what, more: {"id": identity, **what, **more},
    names,
    st.one_of(
        st.builds(lambda prompt: {"prompt": prompt}, prompts),
        st.builds(lambda name: {"workflow": name}, st.sampled_from(["w1", "w2"])),
        st.just({"for-each": "step"}),
        st.just({"for-each": "step", "workflow": "w2"}),
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "model": models,
            "break": st.booleans(),
            "gate": st.just({"script": "x"}),
        },
    ),
)
workflows = st.builds(
    lambda found: {"phases": found},
    st.lists(phases, min_size=1, max_size=3, unique_by=lambda phase: phase["id"]),
)
items = st.builds(
    lambda prompt, more: {"prompt": prompt, **more},
    hostile.filter(str.strip),
    st.fixed_dictionaries({}, optional={"id": names, "model": models}),
)
sprints = st.builds(
    lambda found: {"workflow": "w0", "steps": found},
    st.lists(items, min_size=1, max_size=3),
)


def compiled(sprint: Data, *flows: Data) -> Compiled:
    """Compile a sprint with workflows named w0, w1, w2."""
    named = {
        f"w{number}": Definition(f"w{number}.yaml", flow)
        for number, flow in enumerate(flows)
    }
    return compile_sprint(Definition("SPRINT.yaml", sprint), named, sprint_id="s")


@laws
@given(hostile.filter(str.strip), st.sampled_from(["", "\\", "{", "{{", "{{item.id", "$"]))
@example("{{item.id}} {{item.prompt}} {{nope}}", "")
def test_the_text_of_an_item_survives(text: str, before: str) -> None:
    """An item's prompt is contained unchanged in the sub-phases' prompts."""
    flow = {"phases": [{"id": "a", "prompt": f"{before} {{{{item.prompt}}}}>"}]}
    main = {"phases": [{"id": "all", "for-each": "step", "workflow": "w1"}]}
    found = compiled({"workflow": "w0", "steps": [{"prompt": text}]}, main, flow)
    assert found.problems == []
    assert found.plan is not None
    [step] = found.plan["phases"][0]["steps"]
    assert step["prompt"] == text
    assert step["phases"][0]["prompt"] == f"{before} {text}>"


@laws
@given(hostile)
@example("{{{sprint.name}} \\{{x}}")
def test_braces_can_be_written(text: str) -> None:
    """With a backslash before each variable a text is inserted unchanged."""
    escaped = re.sub(r"(\{\{[ \t]*[A-Za-z_][\w-]*(\.[\w-]+)*[ \t]*\}\})", r"\\\1", text)
    main = {"phases": [{"id": "a", "prompt": f"-{escaped}"}]}
    found = compiled({"workflow": "w0"}, main)
    assert found.plan is not None
    assert found.plan["phases"][0]["prompt"] == f"-{text}"


@laws
@given(sprints, workflows, workflows, workflows)
def test_what_compiles_can_be_recorded(
    sprint: Data, main: Data, first: Data, second: Data
) -> None:
    """`create_sprint` accepts any compiled plan, which is always the same."""
    before = deepcopy((sprint, main, first, second))
    found = compiled(sprint, main, first, second)
    assert (sprint, main, first, second) == before
    again = compiled(*deepcopy(before))
    assert json.dumps(again.plan) == json.dumps(found.plan)
    assert again.problems == found.problems
    assert (found.plan is None) == any(not one.is_warning for one in found.problems)
    if found.plan is not None:
        assert (
            len(CreateSprint(plan=found.plan).decide(Sprint("s"), "2026-01-15T09:00:00Z"))
            == 1
        )


@laws
@given(mappings, mappings, mappings)
def test_no_definition_makes_the_compiler_fail(
    sprint: Data, main: Data, first: Data
) -> None:
    """Any contents of the files result in a message, not in an exception."""
    wrong = [
        *shape_problems(SprintModel, Definition("SPRINT.yaml", sprint)),
        *shape_problems(Workflow, Definition("w0.yaml", main)),
        *shape_problems(Workflow, Definition("w1.yaml", first)),
    ]
    found = compiled(sprint, main, first)
    if not wrong and found.plan is not None:
        assert (
            len(CreateSprint(plan=found.plan).decide(Sprint("s"), "2026-01-15T09:00:00Z"))
            == 1
        )
