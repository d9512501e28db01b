"""`sprintlog help`: explains a topic or a command, or lists all commands."""

import click

from .. import typed
from ..output import print_text
from .screens import topic_screen, whole_screen
from .topics import TOPICS

ALSO = {"plan": "beginning", "start": "beginning", "loop": "working", "events": "scripts"}
"""Other words for topics."""


@typed.command(
    "help",
    epilog="Examples: sprintlog help going-back\n\nsprintlog help phase complete\n\n"
    "sprintlog help --all",
)
@click.argument("words", nargs=-1, metavar="[TOPIC|COMMAND…]")
@typed.option("--all", "is_whole", is_flag=True, help="List all commands, by topic.")
def command(words: tuple[str, ...], is_whole: bool) -> None:
    """Explain a topic or a command; without an argument, show the first screen.

    A topic is explained with examples. A command is shown with its options, as by -h.
    """
    root = click.get_current_context().find_root()
    if is_whole:
        print_text(*whole_screen(root))
    elif len(words) == 1 and (topic := ALSO.get(words[0], words[0])) in TOPICS:
        print_text(*topic_screen(topic))
    else:
        print_text(*_named(root, words).get_help().split("\n"))


def _named(root: click.Context, words: tuple[str, ...]) -> click.Context:
    """Return the context of a command; raise `typed.UnknownWordError` if unknown."""
    context = root
    for word in words:
        group = context.command
        known = group.list_commands(context) if isinstance(group, click.Group) else []
        found = group.get_command(context, word) if isinstance(group, click.Group) else None
        if found is None:
            what = "topic or command" if context is root else "command"
            among = [*known, *TOPICS] if context is root else known
            raise typed.UnknownWordError(
                f"there is no {what} {' '.join(words)[:60]!r}", word, among
            )
        context = click.Context(
            found, info_name=word, parent=context, **found.context_settings
        )
    return context
