"""The wheel is installed as strangers do: by pip, pipx and uv, from a package index."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .criterion import Verdict

ROOT = Path(__file__).resolve().parent.parent.parent


def from_the_wheel(data: Path, seed: int) -> Verdict:
    """Each of three ways installs a command that prints a version and runs the demo."""
    problems = []
    with tempfile.TemporaryDirectory(prefix="sprintlog-accept-") as name:
        folder = Path(name)
        _run(
            sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist"
        )
        (wheel,) = (folder / "dist").iterdir()
        _run(sys.executable, "-m", "venv", folder / "pip")
        _run(folder / "pip" / "bin" / "pip", "install", "-q", wheel)
        _run(sys.executable, "-m", "venv", folder / "tools")
        _run(folder / "tools" / "bin" / "pip", "install", "-q", "pipx", "uv")
        own = {
            "HOME": name,
            "PIPX_HOME": str(folder / "pipx"),
            "PIPX_BIN_DIR": str(folder / "pipx-bin"),
            "PIPX_MAN_DIR": str(folder / "pipx-man"),
            "UV_CACHE_DIR": str(folder / "uv"),
        }
        _run(folder / "tools" / "bin" / "pipx", "install", "-q", wheel, more=own)
        ways: dict[str, tuple[str | Path, ...]] = {
            "pip": (folder / "pip" / "bin" / "sprintlog",),
            "pipx": (folder / "pipx-bin" / "sprintlog",),
            "uvx": (folder / "tools" / "bin" / "uvx", "--from", wheel, "sprintlog"),
        }
        said = {}
        for way, words in ways.items():
            said[way] = _run(*words, "--version", more=own).split()[-1]
            if "sound" not in _run(*words, "demo", folder / f"demo-{way}", more=own):
                problems.append(f"{way}: the demo did not end well")
        if not (folder / "pipx-man" / "man1" / "sprintlog.1").exists():
            problems.append("pipx: the manual page is not linked")
    counts = ", ".join(f"{way} {version}" for way, version in said.items())
    return Verdict(not problems and len({*said.values()}) == 1, counts, problems)


def _run(*words: str | Path, more: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=ROOT if words[0] == sys.executable else tempfile.gettempdir(),
        env={**os.environ, **(more or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout
