"""What libraries import at their start and a recording command never uses: it waits.

The one place that knows of the insides of a library; it is only about when they are loaded,
and everything works without it (ADR 0040).
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

PUT_OFF = ("fnmatch", "inspect", "ipaddress", "ntpath", "textwrap")
"""Modules of the standard library that click, msgspec and `pathlib` import, and use for
help, for schemas, for patterns and for addresses; the code of each runs when something of
it is first used."""
LEFT_OUT = "typing_extensions"
"""What msgspec takes names from where it is there, and else from `typing`, which has all
of them in every Python that we run on."""


def import_libraries() -> None:
    """Import what every command needs, without what few of them use."""
    for name in PUT_OFF:
        _put_off(name)
    with _left_out(LEFT_OUT):
        import msgspec  # noqa: F401


class _Waiting(ModuleType):
    """A module whose code runs when something of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        # The loader that `importlib` has for this runs it at the first `import`.
        self.__class__ = ModuleType  # type: ignore[assignment]
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def _put_off(name: str) -> None:
    """Run a module's code as soon as something of it is used."""
    if name not in sys.modules and (spec := find_spec(name)) is not None:
        sys.modules[name] = module = module_from_spec(spec)
        module.__class__ = _Waiting


@contextmanager
def _left_out(name: str) -> Iterator[None]:
    """Let a module be missing for a moment, if nobody has imported it yet."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
