"""The finder that imports sprintlog's modules without searching folders."""

import os
import subprocess
import sys
from pathlib import Path

from sprintlog.projections.workspace import Workspace

from .test_startup import OURS_MAX, run_code
from .tree import PACKAGE_PATH, ROOT, dotted, modules

FOUND = """
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from sprintlog.cli import imports

root, *names = sys.argv[1:]
shown = ("origin", "cached", "has_location", "submodule_search_locations", "parent")
for number, name in enumerate(names):
    path = __import__(name.rpartition(".")[0], fromlist=["x"]).__path__
    theirs, ours = PathFinder.find_spec(name, path), imports._Finder.find_spec(name, path)
    assert theirs is not None and ours is not None, name
    if number % 40 == 0:
        assert ours.loader.get_code(name) == theirs.loader.get_code(name), name
    for part in shown:
        assert getattr(ours, part) == getattr(theirs, part), (name, part)
nothing = [("sprintlog", None), ("json.decoder", ["/nowhere"])]
nothing += [(f"sprintlog.cli.{name}", [f"{root}/cli"]) for name in ("work2", "typed.x")]
assert not any(imports._Finder.find_spec(*question) for question in nothing)
"""


def test_our_modules_are_found_as_python_finds_them() -> None:
    """The finder returns the same module as Python's finder, or none."""
    found = map(dotted, modules("engine", "projections", "cli"))
    names = [name for name in found if name.count(".") > 1]
    assert len(names) > OURS_MAX
    run_code(FOUND, str(ROOT), *names)


LOOKED = """
import atexit, sys
from sprintlog.cli.__main__ import main

atexit.register(lambda: print(*sys.path_importer_cache, sep="\\n", file=sys.stderr))
main()
"""


def test_a_command_looks_through_no_folder_of_ours(tmp_path: Path) -> None:
    """Only the command line's own folder is listed among our folders."""
    with Workspace.init(tmp_path, here=True):
        pass
    done = subprocess.run(
        [sys.executable, "-c", LOOKED, "rules", "show"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=False,
    )
    folders = {Path(name) for name in done.stderr.splitlines()}
    ours = {ROOT / name for name in ("engine", "projections")}
    assert ROOT / "cli" in folders
    assert not {folder for folder in folders if ours & {folder, *folder.parents}}
