"""`sprintlog completion`: the completion script of a shell."""

from pathlib import Path

from .. import typed
from ..output import print_bytes

SCRIPTS = Path(__file__).with_name("shells")
SHELLS = ("bash", "zsh", "fish")


@typed.command("completion", epilog='Example: eval "$(sprintlog completion bash)"')
@typed.argument("shell", type=typed.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script of a shell: for commands, options and values.

    Values are sprints, addresses, points, iterations, requests and event types of the
    log that the folder belongs to; and files.
    """
    print_bytes((SCRIPTS / f"completion.{shell}").read_bytes())
