"""Import hooks that find sprintlog's modules faster and defer unused library modules.

Python lists each folder and tries four file names per module. A recording command imports
103 sprintlog modules from 22 folders, and importing them took a twentieth of its time (ADR
0040). An upgrade may replace or delete these files at any moment, so a process that waits
for other processes reads all of the files first (ADR 0009).

Modules that libraries import but a recording command does not use are executed on first
use (ADR 0040). This is the only module that depends on the internals of a library, and
everything works without it.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_OURS = f"{_PACKAGE}."
_FOLDERS = ("engine", "projections", "cli")
_SUFFIX = ".py"
_SCRIPTS = ("supervisor.py", "lizard_worker.py")
"""Modules whose source is needed because other processes run them as scripts."""
_COMPILED = f".{sys.implementation.cache_tag}.pyc"
_READ_BYTES = 64 * 1024
"""The size of one read, which nearly all compiled modules fit in."""
_kept: dict[str, bytes] = {}
"""File contents by path; empty if this process has not read them in advance."""
_met: dict[str, os.stat_result] = {}
"""The statuses of the source files whose modules are in memory, by path."""


def keep_ours() -> None:
    """Read all of sprintlog's modules and files into memory for later imports.

    This takes 15 ms and 7 MB, and ensures that modules imported before and after an upgrade
    have the same version. Nothing is read in a process that does not use this finder.
    """
    if _kept or _Finder not in sys.meta_path:
        return
    kept: dict[str, bytes] = {}
    tops = [*sys.modules[_PACKAGE].__path__]
    folders = [*tops, *(f"{tops[0]}/{name}" for name in _FOLDERS)]
    # A file that has already been deleted cannot be imported anyway.
    with suppress(OSError):
        for folder in folders:
            with os.scandir(folder) as entries:
                for entry in entries:
                    is_top = folder in tops
                    if not is_top and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not is_top or entry.name.endswith(_SUFFIX):
                        _keep(kept, folder, entry)
        # Updated in one step, because another thread may be importing.
        _kept.update(kept)
    # Otherwise compiled code would be written next to another version's sources.
    sys.dont_write_bytecode = True


def _keep(kept: dict[str, bytes], folder: str, entry: "os.DirEntry[str]") -> None:
    stem, suffix = os.path.splitext(entry.name)
    if suffix == ".pyc":
        return
    if suffix == _SUFFIX:
        met = _met[entry.path] = entry.stat()
        compiled = f"{folder}/__pycache__/{stem}{_COMPILED}"
        with suppress(OSError):
            data = _read(compiled)
            # Python, too, compares the source's modification time and size.
            told = int(met.st_mtime) & 0xFFFFFFFF, met.st_size & 0xFFFFFFFF
            if data[4:16] == b"".join(n.to_bytes(4, "little") for n in (0, *told)):
                kept[compiled] = data
                if entry.name not in _SCRIPTS:
                    return
    kept[entry.path] = _read(entry.path)


def _read(path: str) -> bytes:
    """Return a file's contents from memory or disk, reading small files in one call."""
    if path in _kept:
        return _kept[path]
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, _READ_BYTES)
        while more := os.read(descriptor, _READ_BYTES):
            data += more
    finally:
        os.close(descriptor)
    return data


class _Loader(SourceFileLoader):
    """Loads a module like Python's loader, but with fewer system calls."""

    get_data = staticmethod(_read)


class _KeptLoader(_Loader):
    """Loads a module from memory, because its file may have changed."""

    def path_stats(self, path: str) -> dict[str, float]:
        """Return the modification time and size of the source."""
        return {"mtime": _met[path].st_mtime, "size": _met[path].st_size}


class _Finder:
    """Finds sprintlog's own module files; other finders handle all other modules."""

    keep_ours = staticmethod(keep_ours)

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a sprintlog module, or None for any other module."""
        if not path or not name.startswith(_OURS):
            return None
        last = name.rpartition(".")[2]
        for folder in path:
            place = f"{folder}/{last}"
            for file, is_package in (
                (place + _SUFFIX, False),
                (place + "/__init__.py", True),
            ):
                if not (file in _met if _kept else os.access(file, os.F_OK)):
                    continue
                loader = _KeptLoader(name, file) if _kept else _Loader(name, file)
                spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
                spec.has_location = True
                if is_package and spec.submodule_search_locations is not None:
                    spec.submodule_search_locations.append(place)
                return spec
        return None


def find_ours() -> None:
    """Install the finder for sprintlog's modules in this process."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


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
"""Modules that click, msgspec, `pathlib` and `uuid` import only for help, schemas, patterns
and addresses, each with the functions that are imported from it by name. A module is
executed when an attribute or a function of it is first used."""
LEFT_OUT = "typing_extensions"
"""A module that msgspec imports if it is installed; `typing` provides the same names in all
supported Python versions."""


def import_libraries() -> None:
    """Import the libraries that every command needs; defer rarely used parts of them."""
    places: dict[str, Sequence[str] | None] = {"": None}
    for name in PUT_OFF:
        if name in sys.modules:
            continue
        # Search for the module without importing its package.
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
    is_there = LEFT_OUT in sys.modules
    if not is_there:
        sys.modules[LEFT_OUT] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        if not is_there:
            del sys.modules[LEFT_OUT]


class _Waiting(ModuleType):
    """A module that is executed on the first use of an attribute."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":
            # `import` checks `__path__` to detect packages; none of these modules is a
            # package.
            raise AttributeError(name)
        if name in PUT_OFF[self.__name__]:
            return _ANSWERS.get((self.__name__, name)) or _first_run(self, name)
        _run(self)
        return getattr(self, name)


def _system() -> str:
    """Return the system name like `platform.system`, which `uuid` calls on import."""
    return os.uname().sysname


_ANSWERS: dict[tuple[str, str], Callable[..., Any]] = {("platform", "system"): _system}


def _first_run(module: ModuleType, name: str) -> Callable[..., Any]:
    """Return a placeholder for a function of a module that has not been executed yet."""

    def function(*given: Any, **named: Any) -> Any:
        _run(module)
        return getattr(module, name)(*given, **named)

    return function


def _run(module: ModuleType) -> None:
    if isinstance(module, _Waiting):
        # The lazy loader in `importlib` would execute the module at its first `import`.
        module.__class__ = ModuleType  # type: ignore[assignment]
        spec = module.__spec__
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(module)
