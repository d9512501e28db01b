"""Read a SPRINT.yaml and the workflows it references, and compile them.

This is also the entry point for programs: `compile_files(Path("SPRINT.yaml"))` returns
the plan that `create_sprint` accepts, or raises one error with all problems.
"""

import os
import re
from collections import deque
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel, ValidationError

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.sprint.plan.compiler import compile_sprint
from sprintlog.engine.sprint.plan.definitions import Definition, Problem
from sprintlog.engine.sprint.plan.templates import names_in
from sprintlog.engine.sprint.plan.workflows import sprint_references, workflow_references
from sprintlog.engine.sprint.state.document_fields import text_of
from sprintlog.projections.state_files.yaml.places import PlacedDocument
from sprintlog.projections.state_files.yaml.writer import field_path

from .definition_models import SprintDefinition, Workflow
from .files import read_bytes
from .shapes import MESSAGE, UNKNOWN_MAX, unknown_keys

SPRINT = "SPRINT.yaml"
ALONE = "--workflow"
"""The file name in errors if a workflow is compiled without a SPRINT.yaml."""
WORKFLOWS = Path(".claude") / "workflows"
ENDINGS = (".yaml", ".yml")
_BARE_TEMPLATE = re.compile(rb"(?:^|[:-]) *\{\{")


class ReadFile(NamedTuple):
    """An input file and its bytes."""

    file: Path
    content: bytes


class CompiledFiles(NamedTuple):
    """A plan and its sources."""

    sprint_id: str
    plan: dict[str, Any]
    until: str | None
    """The condition that completes the goal."""
    file: Path
    """The path of SPRINT.yaml."""
    read: list[ReadFile]
    """All files that were read, SPRINT.yaml first."""
    warnings: list[Problem]


class DefinitionError(InvalidInputError):
    """A definition that does not compile; `problems` contains all errors found in it."""

    def __init__(self, problems: list[Problem]) -> None:
        first = next(problem for problem in problems if not problem.is_warning)
        field = field_path(first.path) or None
        super().__init__(
            first.message, file=first.file, line=first.line, field=field, hint=first.hint
        )
        self.problems = problems
        self.fields["problems"] = [as_fields(problem) for problem in problems]


def as_fields(problem: Problem) -> dict[str, Any]:
    """Return a problem as it appears in JSON answers."""
    return {
        "code": problem.code,
        "warning": problem.is_warning,
        "file": problem.file,
        "line": problem.line,
        "path": field_path(problem.path),
        "message": problem.message,
        "hint": problem.hint,
    }


def compile_files(
    given: Path,
    *,
    workflows: Path | None = None,
    sprint_id: str | None = None,
    is_strict: bool = False,
) -> CompiledFiles:
    """Compile a SPRINT.yaml, or the one in a folder, with the workflows it references.

    Workflows are looked up in `workflows`, or else in the nearest `.claude/workflows` in or
    above the folder of SPRINT.yaml. Unknown keys are warnings, or errors if `is_strict`.
    Raise `NotFoundError` if there is no SPRINT.yaml, or `DefinitionError` with every
    problem in every file.
    """
    file = _in_folder(given) if given.is_dir() else given
    definition = ReadFile(file, read_bytes(file))
    return _compiled(definition, workflows, sprint_id, is_strict=is_strict)


def _in_folder(folder: Path) -> Path:
    """Return the folder's SPRINT.yaml, or its only numbered file like SPRINT-001.yaml."""
    named = folder / SPRINT
    numbered = sorted(folder.glob("SPRINT-*.yaml"))
    return named if named.exists() or len(numbered) != 1 else numbered[0]


def compile_workflow(
    name: str, *, sprint_id: str, workflows: Path | None = None
) -> CompiledFiles:
    """Compile a single workflow that will be injected into a running sprint.

    Workflows are looked up as in `compile_files`, from the current folder upwards. There
    are no items, so none of the workflow's phases may iterate.
    """
    definition = ReadFile(Path(ALONE), msgspec.json.encode({"workflow": name}))
    try:
        compiled = _compiled(definition, workflows, sprint_id)
    except DefinitionError as error:
        problems = [_without_items(name, problem) for problem in error.problems]
        raise DefinitionError(problems) from error
    return compiled._replace(read=compiled.read[1:])


def _without_items(workflow: str, problem: Problem) -> Problem:
    if problem.code != "missing-items":
        return problem
    return problem._replace(
        message=f"{workflow!r} has a `for-each` phase, and there are no items for it",
        hint="specify phases with their steps in a file with --file",
    )


def _compiled(
    definition: ReadFile,
    workflows: Path | None,
    sprint_id: str | None,
    *,
    is_strict: bool = False,
) -> CompiledFiles:
    file, content = definition
    folder = workflows or nearest_workflows(file)
    if workflows is not None and not workflows.is_dir():
        raise NotFoundError(f"{workflows}: no such folder", file=str(workflows))
    files = _Files(folder, is_strict=is_strict)
    sprint = files.take(file, content, SprintDefinition)
    if sprint is None:
        raise DefinitionError(files.located([]))
    files.follow(sprint)
    files.check_keys()
    identity = sprint_id or text_of(sprint.data, "sprint-id") or file.resolve().parent.name
    compiled = compile_sprint(
        sprint,
        files.workflows,
        sprint_id=identity,
        available=files.available(),
        searched=str(folder or f"{WORKFLOWS} of any folder upwards"),
    )
    problems = files.located(compiled.problems)
    if compiled.plan is None or not all(problem.is_warning for problem in problems):
        raise DefinitionError(problems)
    until = text_of(sprint.data, "until")
    return CompiledFiles(identity, compiled.plan, until, file, files.read, problems)


def nearest_workflows(file: Path) -> Path | None:
    """Return the nearest `.claude/workflows` above `file`, relative if `file` is."""
    for above in file.absolute().parents:
        if (folder := above / WORKFLOWS).is_dir():
            return folder if file.is_absolute() else Path(os.path.relpath(folder))
    return None


class _Files:
    """The files read so far, with their contents and problems."""

    def __init__(self, folder: Path | None, *, is_strict: bool) -> None:
        self._folder = folder
        self._is_strict = is_strict
        self._taken: list[tuple[type[BaseModel], Definition]] = []
        self.workflows: dict[str, Definition | None] = {}
        self.read: list[ReadFile] = []
        self._placed: dict[str, PlacedDocument] = {}
        self._order: dict[str, int] = {}
        self._problems: list[Problem] = []

    def take(self, file: Path, content: bytes, model: type[BaseModel]) -> Definition | None:
        """Read a file and check its structure; return None if it cannot be parsed."""
        name = str(file)
        self._order[name] = len(self._order)
        self.read.append(ReadFile(file, content))
        try:
            placed = PlacedDocument(content, file=name)
        except InvalidInputError as error:
            self._refuse(name, error, content)
            return None
        if not isinstance(placed.data, dict):
            message = "the top level must be a mapping of fields"
            self._problems.append(Problem("wrong-type", message, name, line=1))
            return None
        self._placed[name] = placed
        for line, path, message in placed.repeated:
            self._problems.append(Problem("duplicate-key", message, name, path, line=line))
        definition = Definition(name, placed.data)
        for path, text in placed.kept:
            message = (
                f"{text[:40]} is kept as text: the number would be written differently"
            )
            hint = "quote it, or write the number in its shortest form, such as 7 or 1.5"
            self._problems.append(Problem("kept-as-text", message, name, path, hint))
        self._problems += shape_problems(model, definition)
        self._taken.append((model, definition))
        return definition

    def check_keys(self) -> None:
        """Report unknown keys as problems, except for item keys that templates use."""
        named = {
            name for _, definition in self._taken for name in names_in(definition.data)
        }
        is_missed = {(p.file, p.path) for p in self._problems if p.code == "missing-field"}
        for model, definition in self._taken:
            file = definition.file
            found = (
                Problem("unknown-field", MESSAGE, file, one.path, one.hint)
                for one in unknown_keys(model, definition.data)
                if one.path[-1] not in named
                and (file, (*one.path[:-1], one.close)) not in is_missed
            )
            some = islice(found, UNKNOWN_MAX)
            self._problems += [one._replace(is_strict=self._is_strict) for one in some]

    def follow(self, sprint: Definition) -> None:
        """Read every workflow that the sprint references directly or indirectly."""
        wanted = deque(reference.name for reference in sprint_references(sprint.data))
        # Terminates because each file is read only once.
        while wanted:
            name = wanted.popleft()
            if name in self.workflows or (file := self._find(name)) is None:
                continue
            definition = self.workflows[name] = self._take_workflow(file)
            if definition is not None:
                wanted += (found.name for found in workflow_references(definition.data))

    def available(self) -> list[str]:
        """Return the names of the available workflows."""
        files = self._folder.iterdir() if self._folder is not None else ()
        return sorted({file.stem for file in files if file.suffix in ENDINGS})

    def located(self, problems: list[Problem]) -> list[Problem]:
        """Return all problems with their line numbers, sorted by file and line."""
        once: dict[object, Problem] = {}
        for one in (*self._problems, *problems):
            # A structural problem may be found again when references are resolved.
            once.setdefault((one.code, one.file, one.path, one.near), self._with_line(one))
        return sorted(once.values(), key=lambda one: (self._order[one.file], one.line or 0))

    def _take_workflow(self, file: Path) -> Definition | None:
        try:
            content = read_bytes(file)
        except InvalidInputError as error:
            self._order[str(file)] = len(self._order)
            self._refuse(str(file), error, b"")
            return None
        return self.take(file, content, Workflow)

    def _refuse(self, file: str, error: InvalidInputError, content: bytes) -> None:
        message, line = str(error.fields["problem"]), error.fields["line"]
        lines = content.splitlines()[: line or 0]
        is_bare = lines and _BARE_TEMPLATE.search(lines[-1])
        hint = "put a text that starts with {{ in quotes" if is_bare else None
        self._problems.append(Problem("not-yaml", message, file, hint=hint, line=line))

    def _find(self, name: str) -> Path | None:
        """Return a workflow's file; a name cannot refer to a file outside the folder."""
        parts = Path(name).parts
        if self._folder is None or not parts or ".." in parts or Path(name).is_absolute():
            return None
        files = [self._folder / f"{name}{ending}" for ending in ENDINGS]
        try:
            return next((file for file in files if file.is_file()), None)
        except OSError:
            # No file can have such a name.
            return None

    def _with_line(self, problem: Problem) -> Problem:
        placed = self._placed.get(problem.file)
        if problem.line is not None or placed is None:
            return problem
        return problem._replace(line=placed.line(problem.path, problem.near))


TOLD_MAX = 10_000
"""The maximum number of errors listed for one file; the rest are counted."""
_CODES = {
    "missing": "missing-field",
    "word": "unknown-word",
    "empty-prompt": "empty-prompt",
    "bad-condition": "bad-condition",
    **dict.fromkeys(("string_too_short", "string_too_long"), "bad-id"),
    **dict.fromkeys(
        ("greater_than", "greater_than_equal", "less_than_equal"), "out-of-range"
    ),
}
_BELONGS = {
    "string_type": "text",
    "list_type": "a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a mapping"),
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
}
_FOR_NOTHING = {
    "a list": "list what belongs there, each with `- `, or leave the key out",
    "a mapping": "write its fields below it, or leave the key out",
}
_KINDS = {
    str: "text",
    list: "a list",
    dict: "a mapping",
    bool: "true or false",
    **dict.fromkeys((int, float), "a number"),
}


def shape_problems(model: type[BaseModel], definition: Definition) -> list[Problem]:
    """Return all structural problems of a file."""
    try:
        model.model_validate(definition.data)
    except ValidationError as error:
        if (count := error.error_count()) > TOLD_MAX:
            # Individual errors would require too much memory.
            message = f"{count} values are invalid for their fields"
            return [Problem("wrong-type", message, definition.file)]
        found = error.errors(include_url=False, include_context=False)
        return [_problem(one, definition.file) for one in found]
    return []


def _problem(error: Any, file: str) -> Problem:
    kind, given, path = error["type"], error["input"], tuple(error["loc"])
    code = _CODES.get(kind)
    belongs = _BELONGS.get(kind)
    message, hint = str(error["msg"]), None
    if code is None and given is None:
        code = "no-value"
        message = f"the value is missing: expected {belongs or 'one'}"
        hint = _FOR_NOTHING.get(str(belongs))
    elif code is None:
        code = "wrong-type"
        if belongs:
            kinds = _KINDS.get(type(given), "something else")
            message = f"expected {belongs}, not {kinds}"
            hint = _hint_for_type(belongs, given, path)
    elif code == "missing-field":
        message = "is missing"
        close = get_close_matches(str(path[-1]), map(str, given), n=1)
        hint = f"is `{close[0]}` meant for it?" if close else None
    elif code == "bad-id":
        message = "an id must have 1 to 128 printable characters"
    elif code == "out-of-range":
        # pydantic's message without its subject: "must be ...".
        message = message.replace("Input should be", "must be")
    return Problem(code, message, file, path, hint)


def _hint_for_type(belongs: str, given: Any, path: tuple[int | str, ...]) -> str | None:
    if belongs == "text" and isinstance(given, int | float):
        return "put it in quotes"
    if belongs == "a mapping" and isinstance(given, str) and isinstance(path[-1], int):
        return "write `- prompt: …`" if "phases" not in path else "write `- id: …`"
    return None
