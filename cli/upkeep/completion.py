"""The `sprintlog completion` command, which prints a shell's completion script."""

from pathlib import Path

from .. import typed
from ..output import print_bytes

SCRIPTS = Path(__file__).with_name("shells")
SHELLS = ("bash", "zsh", "fish")


@typed.command("completion")
@typed.argument("shell", type=typed.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a shell's completion script, which completes commands, options and values.

    Completed values are file names, and the sprints, addresses, points, iterations,
    requests and event types in the log of the current folder.

    Example: eval "$(sprintlog completion bash)"
    """
    print_bytes((SCRIPTS / f"completion.{shell}").read_bytes())
