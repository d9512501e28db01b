"""What libraries import at their start and a recording command never uses: it waits.

The one place that knows of the insides of a library; it is only about when they are loaded,
and everything works without it (ADR 0040).
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

PUT_OFF: dict[str, tuple[str, ...]] = {
    "fnmatch": (),
    "gettext": ("gettext", "ngettext"),
    "inspect": (),
    "ipaddress": (),
    "msgspec._json_schema": ("schema", "schema_components"),
    "msgspec.inspect": (),
    "msgspec.toml": (),
    "msgspec.yaml": (),
    "ntpath": (),
    "platform": ("system",),
    "textwrap": (),
    "urllib.parse": ("quote_from_bytes",),
}
"""Modules that click, msgspec, `pathlib` and `uuid` import, and use for help, for schemas,
for patterns and for addresses, each with the functions that are taken out of it at once.
The code of each runs when something of it is first used."""
LEFT_OUT = "typing_extensions"
"""What msgspec takes names from where it is there, and else from `typing`, which has all
of them in every Python that we run on."""


def import_libraries() -> None:
    """Import what every command needs, without what few of them use."""
    _put_off([name for name in PUT_OFF if name not in sys.modules])
    with _left_out(LEFT_OUT):
        import msgspec  # noqa: F401


class _Waiting(ModuleType):
    """A module whose code runs when something of it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":
            # So `import` asks whether it is a package; none of them is.
            raise AttributeError(name)
        if name in PUT_OFF[self.__name__]:
            return _ANSWERS.get((self.__name__, name)) or _first_run(self, name)
        _run(self)
        return getattr(self, name)


def _system() -> str:
    """Answer as `platform` does; `uuid` asks when it is imported."""
    return os.uname().sysname


_ANSWERS: dict[tuple[str, str], Callable[..., Any]] = {("platform", "system"): _system}


def _first_run(module: ModuleType, name: str) -> Callable[..., Any]:
    """Return what stands for a function of a module whose code has not run."""

    def function(*given: Any, **named: Any) -> Any:
        _run(module)
        return getattr(module, name)(*given, **named)

    return function


def _run(module: ModuleType) -> None:
    if isinstance(module, _Waiting):
        # The loader that `importlib` has for this runs it at the first `import`.
        module.__class__ = ModuleType  # type: ignore[assignment]
        spec = module.__spec__
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(module)


def _put_off(names: Iterable[str]) -> None:
    """Run the code of each module when something in it is first used."""
    places: dict[str, Sequence[str] | None] = {"": None}
    for name in names:
        # Found without importing the package that the module is in.
        package = name.rpartition(".")[0]
        if package not in places:
            found = PathFinder.find_spec(package)
            places[package] = (found and found.submodule_search_locations) or ()
        if (spec := PathFinder.find_spec(name, places[package])) is not None:
            sys.modules[name] = module = _Waiting(name)
            module.__spec__ = spec
            module.__loader__ = spec.loader
            module.__package__ = spec.parent
            module.__file__ = spec.origin


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
