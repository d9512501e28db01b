"""How each agent's program is started offline: its commands, its home, its settings."""

import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

Environment = dict[str, str]

_PATIENT = "gpt-5.5"
"""A model that Codex knows: it is offered all of its tools."""
_OWN = ("ANTHROPIC_", "CLAUDE", "CODEX_", "COPILOT_", "GEMINI_", "GOOGLE_", "OPENAI_")


class Program(NamedTuple):
    """An agent's program."""

    name: str
    dialect: str
    settle: Callable[[Path, str], Environment]
    """Write its settings into a home, for a server; return its environment."""
    forms: dict[str, tuple[str, ...]]
    """Its commands by output format; the prompt is the last argument."""
    names_model: bool = True
    counts_subagents: bool = True
    """Whether its output speaks of what its subagents do."""
    has_tokens: bool = True
    gives_up: bool = True
    """Whether it soon gives up on a server that refuses."""


def _claude(home: Path, url: str) -> Environment:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_AUTOUPDATER": "1",
        # Root may skip the prompts only with this variable.
        "IS_SANDBOX": "1",
    }


def _codex(home: Path, url: str) -> Environment:
    settings = f"""\
model = "{_PATIENT}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
[analytics]
enabled = false
"""
    _write(home / ".codex" / "config.toml", settings)
    return {"CODEX_HOME": str(home / ".codex"), "SCRIPTED_KEY": "sk-scripted"}


def _gemini(home: Path, url: str) -> Environment:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "telemetry": {"enabled": False},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {
        "GEMINI_API_KEY": "scripted",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _opencode(home: Path, url: str) -> Environment:
    price = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
    model = {
        "name": "Scripted",
        "cost": price,
        "limit": {"context": 200_000, "output": 32_000},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "sk-scripted"},
        "models": {"scripted": model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": "allow",
    }
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
    return {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _copilot(home: Path, url: str) -> Environment:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": "sk-scripted",
        "COPILOT_MODEL": "scripted",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_HOME": str(home / ".copilot"),
    }


_CLAUDE = ("claude", "-p", "--dangerously-skip-permissions")
_CODEX = ("codex", "exec", "--skip-git-repo-check")
_GEMINI = ("gemini", "-m", "gemini-2.5-flash", "--yolo")

PROGRAMS = (
    Program(
        "claude",
        "anthropic",
        _claude,
        {
            "text": _CLAUDE,
            "json": (*_CLAUDE, "--output-format", "json"),
            "stream": (*_CLAUDE, "--output-format", "stream-json", "--verbose"),
        },
    ),
    Program(
        "codex",
        "responses",
        _codex,
        {"text": _CODEX, "stream": (*_CODEX, "--json")},
        names_model=False,
    ),
    Program(
        "gemini",
        "gemini",
        _gemini,
        {
            "text": (*_GEMINI, "-p"),
            "json": (*_GEMINI, "-o", "json", "-p"),
            "stream": (*_GEMINI, "-o", "stream-json", "-p"),
        },
        gives_up=False,
    ),
    Program(
        "opencode",
        "chat",
        _opencode,
        {"stream": ("opencode", "run", "--format", "json", "-m", "scripted/scripted")},
        names_model=False,
        counts_subagents=False,
    ),
    Program(
        "copilot",
        "chat",
        _copilot,
        {"stream": ("copilot", "--allow-all-tools", "--output-format", "json", "-p")},
        has_tokens=False,
    ),
)


def installed(folder: Path | None) -> list[Program]:
    """Return the programs installed in a folder's node_modules or on the PATH."""
    path = search_path(folder)
    return [program for program in PROGRAMS if shutil.which(program.name, path=path)]


def search_path(folder: Path | None) -> str:
    """Return the folders in which programs are searched for."""
    usual = os.environ.get("PATH", os.defpath)
    return usual if folder is None else f"{folder / 'node_modules' / '.bin'}:{usual}"


def environment(
    program: Program, home: Path, url: str, *, folder: Path | None
) -> Environment:
    """Return an environment in which an agent reaches only this server.

    All other hosts are behind a proxy that does not exist.
    """
    # opencode works in PWD, whatever its current folder is.
    ours = ("SPRINTLOG_", "GIT_", "XDG_", "PWD", *_OWN)
    kept = {n: v for n, v in os.environ.items() if not n.upper().startswith(ours)}
    nowhere = "http://127.0.0.1:9"
    proxies = _both_cases(("http_proxy", "https_proxy"), nowhere)
    direct = _both_cases(("no_proxy",), "127.0.0.1,localhost")
    places = {
        "HOME": str(home),
        "PATH": search_path(folder),
        "TERM": "xterm-256color",
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
    }
    return {**kept, **proxies, **direct, **places, **program.settle(home, url)}


def _both_cases(names: Iterable[str], value: str) -> Environment:
    return {one: value for name in names for one in (name, name.upper())}


def _write(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
