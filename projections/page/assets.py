"""The files of the page: its style, its script, and parts of its drawings."""

from functools import cache
from typing import Any

from .markup import Markup


@cache
def asset(name: str) -> Markup:
    """Return a file of the page, which is ours and needs no escaping.

    Without what only its readers need: how far lines stand in, and comments of a line.
    """
    # The loader has the files that belong to this module, also after an upgrade.
    loader: Any = __spec__.loader
    said = loader.get_data(f"{__file__.rpartition('/')[0]}/static/{name}").decode()
    lines = (line.strip() for line in said.splitlines())
    return Markup("\n".join(x for x in lines if x and not x.startswith("//")) + "\n")
