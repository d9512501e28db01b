"""The files of the page: its style, its script, and parts of its drawings."""

from functools import cache
from importlib.resources import files

from .markup import Markup


@cache
def asset(name: str) -> Markup:
    """Return a file of the page, which is ours and needs no escaping."""
    return Markup((files(__package__) / "static" / name).read_text(encoding="utf-8"))
