"""The files of the page: its style, its script, and parts of its drawings."""

from functools import cache

from sprintlog.engine.own_files import own_text

from .markup import Markup


@cache
def asset(name: str) -> Markup:
    """Return a file of the page, which is ours and needs no escaping.

    Without what only its readers need: how far lines stand in, and comments of a line.
    """
    said = own_text(__name__, f"static/{name}")
    lines = (line.strip() for line in said.splitlines())
    return Markup("\n".join(x for x in lines if x and not x.startswith("//")) + "\n")
