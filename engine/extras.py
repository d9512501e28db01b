"""The optional libraries, and how to add them to the current installation."""

import os
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from shlex import join
from typing import Any

from .errors import RefusedError

EXTRAS = {
    "postgres": ("psycopg[binary]>=3.2",),
    "complexity": ("lizard>=1.17.10",),
    "mcp": ("mcp>=2.3,<3",),
    "web": ("sse-starlette>=2.1", "starlette>=0.49", "uvicorn>=0.30"),
}
"""The libraries of each extra in pyproject.toml that a command uses.

Hints name these libraries. They never name sprintlog itself, which is not on a package
index: anyone could publish a package with its name there.
"""


def check_installed(extra: str, modules: tuple[str, ...], purpose: str) -> None:
    """Raise `RefusedError` if one of an extra's modules is not installed."""
    if missing := [name for name in modules if find_spec(name) is None]:
        raise not_installed(
            extra, f"{', '.join(missing)}: not installed, and {purpose}", missing=missing
        )


def not_installed(extra: str, message: str, **fields: Any) -> RefusedError:
    """Return the error for a missing library; its hint is the installation command."""
    return RefusedError(message, hint=f"`{install_command(extra)}`", **fields)


def install_command(extra: str) -> str:
    """Return the command that adds an extra's libraries to the running environment."""
    libraries, prefix = EXTRAS[extra], sys.prefix
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return join(["pipx", "inject", os.path.basename(prefix), *libraries])
    if os.path.exists(receipt := os.path.join(prefix, "uv-receipt.toml")):
        itself, *others = _requirements(receipt)
        if os.path.isabs(itself):
            added = (f"--with={one}" for one in (*others, *libraries))
            return join(["uv", "tool", "install", *added, itself])
    if find_spec("pip") is None:
        return join(["uv", "pip", "install", "--python", sys.executable, *libraries])
    is_active = os.environ.get("VIRTUAL_ENV") == prefix
    pip = ["pip"] if is_active else [sys.executable, "-m", "pip"]
    return join([*pip, "install", *libraries])


def _requirements(receipt: str) -> Iterator[str]:
    """Yield the paths or requirements in uv's tool receipt, starting with sprintlog."""
    with open(receipt, "rb") as file:
        found = tomllib.load(file)["tool"]["requirements"]
    for one in found:
        extras = ",".join(one.get("extras", ()))
        named = f"{one['name']}[{extras}]{one.get('specifier', '')}".replace("[]", "")
        yield one.get("directory", one.get("editable", named))
