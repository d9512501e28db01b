"""Operations on single files and links in an open folder, and extraction of a snapshot.

Links are never followed.
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from ...errors import RefusedError
from ...log.stores.descriptors import give_back, write_whole
from ..folders import NAMES, opened, opened_below, opened_file
from ..replace import system_call
from .entries import Snapshot, TreeEntry
from .objects import object_id
from .plan import PlacementPlan

READ_BYTES, RENAME_NOREPLACE = 64 * 1024, 1
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
BESIDE = ".sprintlog-"
"""The first characters of the names of drafts and displaced files."""
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
"""The errors with which file systems report that they do not support hard links."""


class FileSystem:
    """The file system of an open root, which is synced in a single call if possible."""

    def __init__(self, root: int, device: int) -> None:
        self._root, self._device = root, device
        self._syncfs = system_call("syncfs")

    def syncs_each(self, device: int) -> bool:
        """Return whether files on a device must be synced individually."""
        return self._syncfs is None or device != self._device

    def sync(self) -> None:
        """Make all written data durable, if there is a system call for this."""
        if self._syncfs is not None and (code := self._syncfs(self._root)):
            if code != errno.ENOSYS:
                raise cut_short("", OSError(code, os.strerror(code)))
            self._syncfs = None

    @contextmanager
    def synced_behind(self, *, is_idle: bool) -> Iterator[None]:
        """While the block runs, sync the data written before it, unless `is_idle`."""
        if is_idle or self._syncfs is None:
            yield
            return
        # Imported here: few restores are this large, and few commands restore.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(1) as executor:
            synced = executor.submit(self.sync)
            yield
            synced.result()


def cut_short(path: str, error: OSError) -> RefusedError:
    """Return the error for a restore that was interrupted by a system error."""
    said = os.fsencode(path).decode(errors="backslashreplace") or "the work tree"
    return RefusedError(
        f"cannot restore {said}: {error.strerror}",
        hint="the next recording command continues the restore",
    )


def draft_of(path: str) -> str:
    """Return the temporary name for a file's new contents, in the same folder."""
    return f"{_stem(path)}-new"


def aside_of(path: str) -> str:
    """Return the name to which a displaced file is moved, in the same folder."""
    return f"{_stem(path)}-old"


def _stem(path: str) -> str:
    return f"{BESIDE}{sha256(path.encode(*NAMES)).hexdigest()[:16]}"


def look_of(found: os.stat_result) -> tuple[int, int, int]:
    """Return the fields of a file's status that a rename does not change."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def status_of(descriptor: int, name: str) -> os.stat_result | None:
    """Return the status of an entry in an open folder, or None if it is missing."""
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None


def kind_of(descriptor: int, name: str) -> int | None:
    """Return the type of an entry in an open folder, or None if it is missing."""
    found = status_of(descriptor, name)
    return None if found is None else stat.S_IFMT(found.st_mode)


def holds(descriptor: int, name: str, entry: TreeEntry) -> bool:
    """Return whether a file or link has the same contents as a snapshot's entry."""
    found, kind = status_of(descriptor, name), stat.S_IFMT(entry.mode)
    if found is None or stat.S_IFMT(found.st_mode) != kind:
        return False
    # A file of another length is not read. The length of missing blobs is unknown.
    may_be = entry.size in (0, found.st_size)
    return may_be and object_id("blob", content_of(descriptor, name, kind)) == entry.oid


def content_of(descriptor: int, name: str, kind: int) -> bytes:
    """Return a file's bytes, or a link's target as bytes."""
    if kind == stat.S_IFLNK:
        return os.fsencode(os.readlink(name, dir_fd=descriptor))
    with opened_file(descriptor, name) as file:
        return b"".join(iter(lambda: os.read(file, READ_BYTES), b""))


def make_folder(descriptor: int, name: str) -> None:
    """Create a folder unless the name already exists."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=descriptor)


def create(
    descriptor: int, name: str, entry: TreeEntry, content: bytes, *, durable: bool = True
) -> os.stat_result | None:
    """Create a new file or link; raise `FileExistsError` if the name exists.

    Return the status of a file after its contents are written.
    """
    if entry.is_link:
        os.symlink(content, os.fsencode(name), dir_fd=descriptor)
        return None
    permissions = entry.permissions
    file = os.open(name, _NEW, permissions, dir_fd=descriptor)
    try:
        write_whole(file, content)
        made = os.fstat(file)
        if made.st_mode & 0o777 != permissions:
            os.fchmod(file, permissions)
        if durable:
            os.fsync(file)
        return made
    finally:
        give_back(file)


def put(descriptor: int, draft: str, name: str) -> bool:
    """Rename a draft to its final name, or return False if that name already exists."""
    if (rename := system_call("renameat2")) is not None:
        names = os.fsencode(draft), os.fsencode(name)
        code = rename(descriptor, names[0], descriptor, names[1], RENAME_NOREPLACE)
        if code in (0, errno.EEXIST):
            return code == 0
    at = {"src_dir_fd": descriptor, "dst_dir_fd": descriptor}
    try:
        os.link(draft, name, **at, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        # The file system has no hard links, and a rename would replace a file.
        if kind_of(descriptor, name) is not None:
            return False
        os.rename(draft, name, **at)
    return True


def set_mode(descriptor: int, name: str, entry: TreeEntry) -> None:
    """Set a file's mode; links have no mode."""
    if entry.is_link:
        return
    with opened_file(descriptor, name) as file:
        if os.fstat(file).st_mode & 0o777 != entry.permissions:
            os.fchmod(file, entry.permissions)


def unlink(descriptor: int, name: str) -> None:
    """Remove a file or link, if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=descriptor)


def check_free(target: Path) -> None:
    """Raise `RefusedError` if the path exists or cannot be created."""
    if os.path.lexists(target):
        raise RefusedError(
            f"{target} already exists",
            hint="specify a new folder with --into",
            file=str(target),
        )
    if not target.parent.is_dir():
        raise RefusedError(f"{target.parent} is not a folder", file=str(target))


def extract(
    snapshot: Snapshot, plan: PlacementPlan, target: Path, blob: Callable[[str], bytes]
) -> None:
    """Create a folder with a plan's files; it gets its final name only when complete.

    Raise `RefusedError` if the path exists, or if the file system does not distinguish two
    of the names.
    """
    check_free(target)
    draft = target.with_name(f".{target.name}.sprintlog-new")
    # A killed process's draft contains nothing that the store lacks.
    _discard(draft)
    try:
        draft.mkdir(mode=0o700)
        with opened(draft) as root:
            for folder in sorted(plan.folders):
                above, _, name = folder.rpartition("/")
                with opened_below(root, above) as descriptor:
                    os.mkdir(name, 0o700, dir_fd=descriptor)
            for path, entry in sorted(plan.writes.items()):
                above, _, name = path.rpartition("/")
                with opened_below(root, above) as descriptor:
                    create(descriptor, name, entry, blob(entry.oid), durable=False)
            for folder in sorted(plan.folders, reverse=True):
                with opened_below(root, folder) as descriptor:
                    os.fchmod(descriptor, plan.modes[folder])
        draft.chmod(0o755)
        draft.rename(target)
    except FileExistsError as error:
        _discard(draft)
        alike = " and ".join(next(iter(snapshot.collisions), [str(error.filename)]))
        raise RefusedError(
            f"{alike} differ only in case, which the file system of {target} ignores",
            hint="choose a folder on a case-sensitive file system",
            file=str(target),
        ) from error
    except OSError as error:
        _discard(draft)
        raise RefusedError(
            f"cannot create {target}: {error.strerror}", file=str(target)
        ) from error


def _discard(draft: Path) -> None:
    """Remove an unfinished draft, whose folders may be read-only."""
    if draft.is_symlink() or (draft.exists() and not draft.is_dir()):
        raise RefusedError(f"{draft} already exists", file=str(draft))
    for folder, _, _ in os.walk(draft):
        os.chmod(folder, 0o700)
    shutil.rmtree(draft, ignore_errors=True)
