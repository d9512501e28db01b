"""The `sprintlog journal pattern` commands: codebase patterns."""

from typing import Any

from msgspec.structs import replace

from sprintlog.engine.journal import parts, queries
from sprintlog.engine.journal.parts import Pattern
from sprintlog.engine.journal.rules import DiscoverPattern

from .. import typed
from ..context import packed, with_envelope, with_point
from ..record import record_in_journal
from .entry import document_at, print_parts

_GIVEN = ("name", "type", "description", "examples", "source_prd_id")


@typed.group("pattern")
def command() -> None:
    """Add or list codebase patterns."""


@command.command()
@typed.argument("name")
@typed.choice_option("--type", of=parts.PATTERN_TYPES, required=True, help="The type.")
@typed.option(
    "--description", may_be_empty=True, default="", help="The pattern and when to use it."
)
@typed.list_option("--example", "examples", help="A path or code.")
@typed.option(
    "--prd",
    "source_prd_id",
    default="",
    metavar="PRD",
    help="The PRD in which it was found.",
)
@typed.choice_option("--confidence", of=parts.CONFIDENCES, help="How certain it is.")
@with_envelope
@packed(Pattern, _GIVEN, "pattern")
def add(pattern: Pattern, confidence: str | None, **given: Any) -> None:
    """Add a codebase pattern, which is assigned the next id.

    Example: sprintlog journal pattern add 'Service and handler' --type file-structure
    --example services/auth.py --confidence high
    """
    pattern = replace(pattern, confidence=confidence or "")
    record_in_journal("pattern add", given, DiscoverPattern(pattern))


@command.command("list")
@typed.choice_option("--type", "type_", of=parts.PATTERN_TYPES, help="Only this type.")
@with_point
def list_(type_: str | None, at: str | None, as_json: bool) -> None:
    """List the patterns, regardless of their confidence.

    Example: sprintlog journal pattern list --type error-handling
    """
    document = document_at(at)
    found = (
        document.patterns if type_ is None else queries.patterns_of_type(document, type_)
    )
    rows = [(x.id, x.type, x.confidence or "-", x.name) for x in found]
    print_parts(found, rows, nothing="no patterns", as_json=as_json)
