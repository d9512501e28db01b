"""Trust in logs: a log that another user may have put in place is rejected.

Like a program, a log determines which files are written and which scripts run. Exceptions
are listed in the user's own list of safe folders, which no work tree can change.
"""

import os
from pathlib import Path

from ...adapters.git.repositories import GitRepository, repository_around
from ...errors import RefusedError, SprintlogError
from ...log.stores.descriptors import read_whole
from .location import ADDRESS, DATABASE, Location

ROOT = 0
"""The user id of the superuser, who has every permission."""
_LIST_BYTES_MAX = 1 << 20
_INDEX_SIMPLE = (2, 3)
"""The versions of Git's index that store every path in full."""


def home() -> Path:
    """Return the path of the user's configuration folder."""
    above = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(above) / "sprintlog"


def safe_list() -> Path:
    """Return the path of the user's list of folders whose logs are always trusted."""
    return home() / "safe"


def check_trusted(location: Location, *, safe: Path | None) -> None:
    """Raise `RefusedError` for a log that belongs to another user or is tracked by git.

    `safe` is the path of the user's list of trusted log or work tree folders, one per line;
    `*` stands for all folders.
    """
    folder = location.folder
    held = folder / DATABASE, folder / ADDRESS
    stranger = owned_by_another(folder.parent, folder, *held)
    if stranger is not None and _git_trusts(location.root):
        stranger = None
    is_tracked = stranger is None and _is_tracked(folder)
    if (stranger is None and not is_tracked) or _is_listed(location, safe):
        return
    # Imported here: required only for a refusal.
    from ...readable import quoted

    listed = f"add {folder} to {safe or 'the list of safe folders'}"
    if stranger is not None:
        raise RefusedError(
            f"{stranger} belongs to another user, so the log is not used",
            hint=f"if you trust everyone who can write there, {listed}",
            file=str(stranger),
        )
    raise RefusedError(
        f"the log in {folder} is not used: git tracks it, so a pull could replace it",
        hint=f"if the log is yours, run `git rm -r --cached {quoted(str(folder))}`; if it "
        f"came with the repository, remove it; to use it anyway, {listed}",
        file=str(folder),
    )


def owned_by_another(*paths: Path) -> Path | None:
    """Return the first of the given paths that belongs to an untrusted user."""
    user = os.geteuid()
    known = {user, ROOT}
    if user == ROOT and (caller := os.environ.get("SUDO_UID", "")).isdigit():
        known.add(int(caller))
    for path in paths:
        try:
            owner = path.stat().st_uid
        except FileNotFoundError:
            continue
        if owner not in known:
            return path
    return None


def _is_listed(location: Location, safe: Path | None) -> bool:
    if safe is None or not safe.is_file():
        return False
    lines = read_whole(safe, at_most=_LIST_BYTES_MAX).decode(errors="replace").splitlines()
    listed = {line.strip() for line in lines}
    if "*" in listed:
        return True
    own = {os.path.realpath(path) for path in (location.folder, location.folder.parent)}
    return not own.isdisjoint(map(os.path.realpath, filter(os.path.isabs, listed)))


def _git_trusts(root: Path) -> bool:
    """Return whether the user's or system's git `safe.directory` lists a work tree."""
    # Imported here: nearly every log belongs to its user.
    from ...adapters.git.command import PERSONS_OWN, Git

    git = Git(Path("/"), os.environ)
    variables = {name: os.environ.get(name) for name in PERSONS_OWN}
    variables["GIT_DIR"] = os.devnull
    asked = ("config", "--show-scope", "-z", "--get-all", "safe.directory")
    try:
        told = git.run_in(git.folder, *asked, variables=variables)
    except (SprintlogError, OSError):
        return False
    parts = os.fsdecode(told).split("\0")
    listed: list[str] = []
    for scope, path in zip(parts[::2], parts[1::2], strict=False):
        if scope in ("system", "global"):
            # An empty entry clears the preceding entries.
            listed = [*listed, path] if path else []
    tree = os.path.realpath(root)
    return any(
        path == "*"
        or tree == os.path.realpath(path)
        or (path.endswith("/*") and tree.startswith(os.path.realpath(path[:-1]) + "/"))
        for path in map(os.path.expanduser, listed)
    )


def _is_tracked(folder: Path) -> bool:
    """Return whether git tracks a log; git is called only if it could be tracked."""
    above = Path(os.path.realpath(folder.parent))
    tops = (above, *above.parents)
    if ".git" in above.parts or not any(map(os.path.lexists, [x / ".git" for x in tops])):
        return False
    if (repository := repository_around(above)) is None:
        return False
    index = repository.directory / "index"
    if not index.is_file():
        return False
    content = read_whole(index)
    path = (above / folder.name).relative_to(repository.top).as_posix()
    # A split index is marked at its end.
    if int.from_bytes(content[4:8]) in _INDEX_SIMPLE and b"link" not in content:
        return os.fsencode(path) in content and _git_tracks(repository, path)
    return _git_tracks(repository, path)


def _git_tracks(repository: GitRepository, path: str) -> bool:
    # Imported here: not required for logs in a Git directory.
    from ...adapters.git.untrusted import borrowed

    try:
        with borrowed(repository, os.environ) as git:
            told = git.read_tree("ls-files", "-z", "--", path)
    except (SprintlogError, OSError):
        # If Git cannot answer, the name in the index decides.
        return True
    return not {path, f"{path}/{DATABASE}", f"{path}/{ADDRESS}"}.isdisjoint(
        os.fsdecode(told).split("\0")
    )
