"""A git remote through which machines share snapshots, each under its own id.

The remote is not trusted: a snapshot is accepted only if it has the id recorded in the log,
which guarantees its contents. Only git and ssh are run, without hooks; only https and ssh
addresses are allowed, because a local repository would apply its own settings.
"""

import os
import re
from collections.abc import Collection, Iterable
from uuid import uuid4

from ...errors import InvalidInputError, NotFoundError, UnreadableError
from ..git.command import PERSONS_OWN, GitError
from .store import REFS, Store

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
