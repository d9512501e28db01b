"""Sprint definitions: SPRINT.yaml and its workflows, compiled to a plan."""

from .cli.intake.definition import (
    CompiledFiles as CompiledFiles,
    DefinitionError as DefinitionError,
    compile_files as compile_files,
)
from .engine.sprint.plan.definitions import Problem as Problem
