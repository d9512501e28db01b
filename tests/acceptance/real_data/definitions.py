"""Real definitions: each compiles as with the original compiler, or is refused.

If our result differs on purpose, the decision is named and explains the complete
difference.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from sprintlog.cli.intake.definition import DefinitionError, compile_files

from ..commands import run
from ..criterion import Skip, Verdict

ONE_PASS = "text of an item is never expanded again"
OWN_COUNT = "total-phases counts top phases"
"""Decisions in which our compiler differs."""

OUR_CODES = {
    "MISSING_WORKFLOW": "missing-field",
    "MISSING_STEPS": "missing-items",
    "DUPLICATE_PHASE_ID": "duplicate-id",
    "INVALID_COLLECTION": "no-value",
}
REFUSED = {"2026-02-02_step-learnings": ["no-value"]}
"""The real definitions that cannot compile, with their problems."""

_VARIABLE = re.compile(r"\{\{(?:step|item|phase|sprint)\.(?:id|prompt|index|name)\}\}")


class Node(NamedTuple):
    """A phase, step or sub-phase of a plan."""

    address: tuple[str, ...]
    prompt: str | None
    step: tuple[str, str, int] | None
    """Id, prompt and index of the step it belongs to."""


def compiled_cases(data: Path, seed: int) -> Verdict:
    """Every case has the same ids, hierarchy, order and prompts, or the same refusal."""
    cases = sorted((data / "compiled").glob("*.json"))
    if not cases:
        raise Skip(f"there are no compiled cases in {data}")
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for file in cases:
        with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
            case = json.loads(file.read_text(encoding="utf-8"))
            problems += [
                f"{file.stem}: {problem}" for problem in _compare(Path(name), case, counts)
            ]
    said = ", ".join(f"{count} {what}" for what, count in counts.items())
    return Verdict(not problems, f"{len(cases)} cases: {said}", problems)


def real_definitions(data: Path, seed: int) -> Verdict:
    """Every real definition is recorded, or refused for the right reason."""
    files = sorted((data / "definitions").glob("*/SPRINT-*.yaml"))
    if not files:
        raise Skip(f"there are no real definitions in {data}")
    problems = []
    for file in files:
        expected = REFUSED.get(file.parent.name, [])
        found = _errors_of(file, data / "workflows")
        if found != expected:
            problems.append(f"{file.parent.name}: {found} instead of {expected}")
        elif not found:
            with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
                _record(Path(name), file, data / "workflows")
    refused = sum(file.parent.name in REFUSED for file in files)
    return Verdict(
        not problems, f"{len(files) - refused} recorded, {refused} refused", problems
    )


def _compare(folder: Path, case: Any, counts: Counter[str]) -> Iterator[str]:
    """Yield the differences of a case from the expected result."""
    sprint = folder / case["sprint_directory"]
    flows = folder / "workflows"
    for path in (sprint, flows):
        path.mkdir()
    file = sprint / "SPRINT.yaml"
    file.write_text(case["sprint_yaml"], encoding="utf-8")
    for name, text in case["workflows"].items():
        (flows / name).write_text(text, encoding="utf-8")
    expected = [OUR_CODES[error["code"]] for error in case["result"]["errors"]]
    found = _errors_of(file, flows)
    if found != expected:
        yield f"{found} instead of {expected}"
        return
    if expected:
        counts["refused alike"] += 1
        return
    theirs = case["result"]["progress"]
    ours = yaml.load(_record(folder, file, flows), yaml.CSafeLoader)
    counts["compiled alike"] += 1
    if ours["sprint-id"] != theirs["sprint-id"]:
        yield f"sprint-id {ours['sprint-id']}"
    if ours["stats"]["total-phases"] != len(theirs["phases"]):
        yield "total-phases is not the number of top phases"
    if ours["stats"]["total-phases"] != theirs["stats"]["total-phases"]:
        counts[f"figures differ: {OWN_COUNT}"] += 1
    yield from _compare_nodes(ours, theirs, counts)


def _compare_nodes(ours: Any, theirs: Any, counts: Counter[str]) -> Iterator[str]:
    our_nodes, their_nodes = list(_nodes(ours)), list(_nodes(theirs))
    if [node.address for node in our_nodes] != [node.address for node in their_nodes]:
        yield "ids, hierarchy or order differ"
        return
    counts["phases, steps and sub-phases"] += len(our_nodes)
    for our, their in zip(our_nodes, their_nodes, strict=True):
        if our.prompt == their.prompt:
            continue
        if _second_pass(our, ours["sprint-id"]) == their.prompt:
            counts[f"prompts differ: {ONE_PASS}"] += 1
        else:
            yield f"the prompt of {' > '.join(our.address)} differs"


def _nodes(plan: Any) -> Iterator[Node]:
    for phase in plan["phases"]:
        yield Node((phase["id"],), phase.get("prompt"), None)
        for index, step in enumerate(phase.get("steps", ())):
            of = (step["id"], step["prompt"], index)
            yield Node((phase["id"], step["id"]), step["prompt"], None)
            for sub_phase in step["phases"]:
                address = (phase["id"], step["id"], sub_phase["id"])
                yield Node(address, sub_phase["prompt"], of)


def _second_pass(node: Node, sprint_id: str) -> str | None:
    """Return a prompt expanded a second time, as the original compiler did."""
    if node.step is None or node.prompt is None:
        return node.prompt
    identity, prompt, index = node.step
    values = {
        "{{step.id}}": identity,
        "{{step.prompt}}": prompt,
        "{{step.index}}": str(index),
        "{{phase.id}}": node.address[-1],
        "{{sprint.id}}": sprint_id,
    }
    return _VARIABLE.sub(lambda found: values.get(found[0], found[0]), node.prompt)


def _errors_of(file: Path, workflows: Path) -> list[str]:
    """Return the codes that refuse a definition; each must name a line."""
    try:
        compile_files(file, workflows=workflows)
    except DefinitionError as error:
        found = [one for one in error.problems if not one.is_warning]
        return [one.code if one.line else f"{one.code} without a line" for one in found]
    return []


def _record(folder: Path, file: Path, workflows: Path) -> bytes:
    """Compile a definition into a new log; return the resulting state file."""
    run(folder, "init", "--here")
    run(folder, "compile", file, "--workflows", workflows, "--sprint-dir", "out")
    run(folder, "verify")
    return (folder / "out" / "PROGRESS.yaml").read_bytes()
