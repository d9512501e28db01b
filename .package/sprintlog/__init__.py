"""The public interface of the library; all names defined here are stable.

Names are imported on first use to keep commands fast. In a checkout, this folder replaces
the package; a wheel contains its layers next to this file (ADR 0001).
"""

from os.path import basename, dirname

# Importing `typing` would take longer than the rest of this module.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from . import (
        answers,
        commands,
        definitions,
        errors,
        events,
        exports,
        extensions,
        facts,
        formatting,
        history,
        pages,
        questions,
        servers,
        stores,
        testing,
        usage,
    )
    from .projections.workspace import Workspace
    from .workspaces import init, open

    __version__: str

__all__ = [
    "Workspace",
    "__version__",
    "answers",
    "commands",
    "definitions",
    "errors",
    "events",
    "exports",
    "extensions",
    "facts",
    "formatting",
    "history",
    "init",
    "open",
    "pages",
    "questions",
    "servers",
    "stores",
    "testing",
    "usage",
]

_HERE = dirname(__file__)
if basename(dirname(_HERE)) == ".package":
    __path__ = [dirname(dirname(_HERE)), _HERE]

if not TYPE_CHECKING:
    # A type checker sees the names above, and misses one that is misspelt.
    _HOMES = {
        "Workspace": "projections.workspace",
        "init": "workspaces",
        "open": "workspaces",
    }

    def __getattr__(name):
        """Import a public name on first use."""
        from importlib import import_module

        if name == "__version__":
            from importlib.metadata import version

            value = version(__name__)
        elif name in _HOMES:
            value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        elif name in __all__:
            value = import_module(f".{name}", __name__)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        """Return the public names."""
        return __all__
