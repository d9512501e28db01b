"""Snapshots shared between machines: pushed when recorded, fetched when missing.

The log is written first, so everything that is pushed is recorded. An unreachable remote is
not an error: the missing snapshots are pushed with the next snapshot.

Each snapshot has its own id on the remote, which is not trusted: a snapshot is accepted
only if it has the id recorded in the log, which guarantees its contents. Only git and ssh
are run, without hooks; only https and ssh addresses are allowed, because a local repository
would apply its own settings.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from uuid import uuid4

from ...adapters.git.command import PERSONS_OWN, GitError
from ...adapters.snapshots.store import REFS, Store
from ...errors import InvalidInputError, NotFoundError, SprintlogError, UnreadableError
from ...sprint.events import BEFORE_RESTORE
from ...sprint.state.knowledge import HeldSnapshot
from ...sprint.state.sprint import Sprint
from ..place.trees import shown_tree
from ..port import Service, mention


def share(workspace: Service, store: Store, sprint: Sprint) -> None:
    """Push the snapshots of a sprint's iterations to the remote, if one is configured.

    A failure is only a warning.
    """
    if (url := workspace.setting("snapshot.remote")) is None:
        return
    own = store.snapshots()
    held = [
        one.snapshot
        for one in sprint.knowledge.snapshots
        if one.purpose != BEFORE_RESTORE and one.snapshot in own
    ]
    try:
        Remote(store, url).push(held)
    except SprintlogError as error:
        mention(workspace, f"snapshots are kept here only: {error.message}")


def forget(workspace: Service, store: Store, commits: Collection[str]) -> None:
    """Remove snapshots from the remote; a failure is only a warning."""
    try:
        if commits and (url := workspace.setting("snapshot.remote")) is not None:
            Remote(store, url).forget(commits)
    except SprintlogError as error:
        mention(workspace, f"the remote still has what was let go here: {error.message}")


def bring(workspace: Service, store: Store, commit: str) -> None:
    """Fetch a snapshot from another machine into the store, if possible.

    Otherwise, raise a `NotFoundError` that names the machine that has its files.
    """
    try:
        store.read(commit)
    except NotFoundError as missing:
        if (taken := next(_named(workspace, commit), None)) is None:
            raise
        if (url := workspace.setting("snapshot.remote")) is not None:
            _fetch(Remote(store, url), store, taken, shown_tree(workspace.location, taken))
        elif workspace.tree.has(taken):
            raise
        else:
            raise NotFoundError(
                f"the files of snapshot {commit[:12]} are in the store of "
                f"{shown_tree(workspace.location, taken)}, but not in this work tree's "
                "store",
                hint=f"run `sprintlog restore snapshot:{commit[:12]}` there to extract "
                "them; set `snapshot.remote` in sprintlog.toml to share future "
                "snapshots",
                snapshot=commit,
                worktree=taken.worktree,
            ) from missing


def _fetch(remote: "Remote", store: Store, taken: HeldSnapshot, where: str) -> None:
    try:
        with store.lock():
            remote.fetch(taken.snapshot)
    except NotFoundError as error:
        raise NotFoundError(
            f"{error.message}: its files are in the store of {where}",
            hint="take another snapshot on that machine, which also pushes the missing "
            "files",
            snapshot=taken.snapshot,
            worktree=taken.worktree,
        ) from error


def _named(workspace: Service, commit: str) -> Iterator[HeldSnapshot]:
    for name in workspace.sprints():
        for held in workspace.sprint(name).knowledge.snapshots:
            if held.snapshot == commit:
                yield held


SHARED = "refs/sprintlog/snapshots/"
SECONDS_MAX = 120.0
"""The time limit for one call, for which a recording command waits."""
_ID = re.compile(r"[0-9a-f]{40}", re.ASCII)
_ADDRESS = re.compile(
    r"https://[\w.\[][^\s@]*|ssh://[\w.\[]\S*|(?:[\w.]+@)?[\w.][\w.-]*:(?!:|//|-)\S+",
    re.ASCII,
)
_WITH_PASSWORD = re.compile(r"[a-z]+://[^/@]*:[^/@]*@")
_SETTINGS = (
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "fetch.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "push.gpgSign=false",
    "transfer.bundleURI=false",
)
_PASSED_ON = (
    *("SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""Further variables that git and ssh may read: the user's keys, and proxies."""


def check_remote(url: str) -> None:
    """Raise `InvalidInputError` unless the remote's address is allowed."""
    if _WITH_PASSWORD.match(url):
        raise InvalidInputError(
            "the address must not contain a password",
            field="snapshot.remote",
            hint="use git's credential helper or an ssh key",
        )
    if not _ADDRESS.fullmatch(url):
        raise InvalidInputError(
            f"invalid remote {url[:80]!r}: must use https or ssh",
            field="snapshot.remote",
            hint="use an address such as ssh://git@host/snapshots.git",
        )


class Remote:
    """A remote git repository that stores snapshots from many machines."""

    def __init__(self, store: Store, url: str) -> None:
        check_remote(url)
        self.url = url
        self._store = store

    def held(self) -> set[str]:
        """Return the ids of the snapshots on the remote."""
        listed = self._call("ls-remote", "--refs", "--quiet", "--", self.url, f"{SHARED}*")
        names = (line.partition("\t")[2] for line in listed.decode("latin-1").splitlines())
        return {name.removeprefix(SHARED) for name in names if name.startswith(SHARED)}

    def push(self, commits: Collection[str]) -> int:
        """Push the snapshots that the remote lacks; return their number."""
        lacking = sorted({*commits} - self.held())
        specs = [f"{commit}:{SHARED}{commit}" for commit in lacking]
        if specs:
            self._call("push", "--quiet", "--no-verify", "--", self.url, *specs)
        return len(specs)

    def forget(self, commits: Iterable[str]) -> None:
        """Delete the snapshots' refs from the remote; its git removes the objects later."""
        specs = [f":{SHARED}{commit}" for commit in sorted({*commits} & self.held())]
        if specs:
            self._call("push", "--quiet", "--no-verify", "--", self.url, *specs)

    def fetch(self, commit: str) -> None:
        """Fetch a snapshot into the store; the lock must be held.

        Raise `NotFoundError` if the remote does not have the snapshot, and
        `UnreadableError` if the remote sends a different one.
        """
        if not _ID.fullmatch(commit) or commit not in self.held():
            raise NotFoundError(f"{self.url} does not contain snapshot {commit[:40]}")
        self._store.make()
        ref = f"{REFS}{uuid4().hex}"
        self._call(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
            "--no-auto-maintenance", "--refmap=", "--",
            self.url, f"{SHARED}{commit}:{ref}",
        )  # fmt: skip
        git = self._store.git
        brought = git.run("rev-parse", "--verify", "--quiet", ref).decode().strip()
        if brought != commit:
            git.run("update-ref", "-d", ref)
            raise UnreadableError(
                f"{self.url} returned a different snapshot for {commit[:12]}, which was "
                "rejected",
                hint="contact the owner of that repository",
            )
        self._store.sync()

    def _call(self, *arguments: str) -> bytes:
        git = self._store.git
        passed = {name: git.environment.get(name) for name in _PASSED_ON}
        places = git.environment.get("PATH", os.defpath).split(os.pathsep)
        try:
            return git.run_in(
                self._store.folder,
                *arguments,
                settings=_SETTINGS,
                variables={
                    **PERSONS_OWN,
                    **passed,
                    # A tree must not provide its own ssh, and there is no user to answer a
                    # prompt.
                    "PATH": os.pathsep.join(p for p in places if os.path.isabs(p)),
                    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
                    "GIT_ALLOW_PROTOCOL": "https:ssh",
                },
                seconds=SECONDS_MAX,
            )
        except GitError as error:
            error.message = f"{self.url}: {error.message}"
            raise
