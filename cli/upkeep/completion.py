"""`sprintlog completion`: the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

from .. import typed
from ..output import print_bytes


@typed.command("completion", epilog='Example: eval "$(sprintlog completion bash)"')
@click.argument("shell", type=typed.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell."""
    from ..main import cli

    found = get_completion_class(shell)
    assert found is not None
    script = found(cli, {}, "sprintlog", "_SPRINTLOG_COMPLETE").source()
    print_bytes(script.encode())
