"""`sprintlog step …`: add steps to the plan."""

from typing import Any

import click

from sprintlog.engine.sprint.injection import inject_steps

from ..injecting import inject, with_injection


@click.group("step")
def command() -> None:
    """Add steps to a phase that has steps."""


@command.command(
    "inject",
    epilog="Examples: sprintlog step inject --prompt 'Let people log out' --id logout\n\n"
    "sprintlog step inject --file steps.yaml --position end-of-phase:build",
)
@with_injection()
def inject_(**given: Any) -> None:
    """Put steps into a for-each phase, whatever it is at; the pointer stays on its work.

    After the current step without --position. A file holds `steps`, each with an id, a
    prompt and, where it has any, its `phases`.
    """
    inject("step inject", given, inject_steps, key="steps")
