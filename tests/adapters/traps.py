"""A tree full of programs that git would run."""

import os
from pathlib import Path

from .trees import environment, git, put

HOOKS = (
    "applypatch-msg", "post-checkout", "post-commit", "post-index-change", "post-merge",
    "post-rewrite", "pre-auto-gc", "pre-commit", "reference-transaction", "update",
)  # fmt: skip


class Trap:
    """A tree full of programs, each of which leaves a mark if it is run."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir()
        self.program = folder / "trap"
        self.mark = folder / "mark"
        put(self.program, f'#!/bin/sh\necho "$0" >> {self.mark}\ncat\n'.encode(), 0o755)

    @property
    def is_sprung(self) -> bool:
        """Return whether a trap was run."""
        return self.mark.exists()

    def set(self) -> None:
        """Set every possible trap in a tree."""
        git(self.root, "init", "-q")
        put(self.root / "a.txt", b"a $Id$\r\n")
        git(self.root, "add", "a.txt")
        git(self.root, "commit", "-qm", "a")
        self._configure(self.root / ".git/config")
        for hook in HOOKS:
            put(self.root / ".git/hooks" / hook, self.program.read_bytes(), 0o755)
        attributes = b"* filter=trap diff=trap merge=trap text eol=lf ident export-subst\n"
        put(self.root / ".gitattributes", attributes)
        put(self.root / ".git/info/attributes", attributes)
        put(self.root / ".gitmodules", b'[submodule "x"]\n\tpath=x\n\tupdate=!trap\n')
        git(self.root, "init", "-q", "--bare", "bare")
        self._configure(self.root / "bare/config")
        (self.root / "inner").mkdir()
        git(self.root / "inner", "init", "-q")
        self._configure(self.root / "inner/.git/config")
        put(self.root / "pointer/.git", b"gitdir: ../bare\n")
        put(self.root / "pointer/file", b"x")
        (self.root / "out").symlink_to("/etc")
        for name in ("git", "git-fast-import", "git-ls-files"):
            put(self.root / name, self.program.read_bytes(), 0o755)
        os.utime(self.root / "a.txt", ns=(0, 0))

    def _configure(self, config: Path) -> None:
        program = self.program
        with config.open("a") as file:
            file.write(
                f"[core]\n\tfsmonitor = {program}\n\thooksPath = {program.parent}\n"
                f"\tpager = {program}\n\teditor = {program}\n\tsshCommand = {program}\n"
                f"\tgitProxy = {program}\n\tattributesFile = {program}\n"
                f'[filter "trap"]\n\tclean = {program}\n\tsmudge = {program}\n'
                f"\tprocess = {program}\n\trequired = true\n"
                f'[diff "trap"]\n\ttextconv = {program}\n\tcommand = {program}\n'
                f'[merge "trap"]\n\tdriver = {program}\n[diff]\n\texternal = {program}\n'
                f"[alias]\n\tls-files = !{program}\n\tfast-import = !{program}\n"
                f"[gc]\n\tauto = 1\n[uploadpack]\n\tpackObjectsHook = {program}\n"
                f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {program}\n"
                f'[gpg "ssh"]\n\tprogram = {program}\n[pager]\n\tlog = {program}\n'
                f"[credential]\n\thelper = !{program}\n[core]\n\taskPass = {program}\n"
                f"\talternateRefsCommand = {program}\n\trepositoryFormatVersion = 1\n"
                f'[remote "origin"]\n\turl = ext::{program}\n\tpromisor = true\n'
                f"\tuploadPack = {program}\n\tvcs = {program}\n"
                f"[extensions]\n\tpartialClone = origin\n"
                f"[include]\n\tpath = {program.parent}/included\n"
                f"[trace2]\n\teventTarget = {program.parent}/mark\n"
                f"[protocol]\n\tallow = always\n[submodule]\n\trecurse = true\n"
            )

    def variables(self) -> dict[str, str]:
        """Return an environment that redirects git in every possible way."""
        elsewhere = str(self.root / "elsewhere")
        named = (
            "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
            "GIT_COMMON_DIR", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
            "GIT_TRACE", "GIT_TRACE2", "GIT_TRACE_SETUP", "GIT_QUARANTINE_PATH",
        )  # fmt: skip
        programs = (
            "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH",
            "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR",
        )  # fmt: skip
        return {
            **environment(),
            **dict.fromkeys(named, elsewhere),
            **dict.fromkeys(programs, str(self.program)),
            "GIT_EXEC_PATH": str(self.root),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": str(self.program),
            "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={self.program}'",
            "GIT_DEFAULT_HASH": "sha256",
            "GIT_TEMPLATE_DIR": str(self.root / ".git"),
            "PATH": os.pathsep.join([".", "", environment()["PATH"]]),
        }
