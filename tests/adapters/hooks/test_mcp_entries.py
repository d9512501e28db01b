"""Our server in agents' files: added by value, once, and removed to the byte."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintlog.engine.adapters.hooks.edits import NAME, JsonForm
from sprintlog.engine.adapters.hooks.files import SCOPES, HookFile, HookLocation
from sprintlog.engine.adapters.hooks.forms import FILES, HOOKS, MCP
from sprintlog.engine.errors import InvalidInputError
from tests.lengths import examples

MCP_FORMS = FILES[MCP]
KEYS = {name: getattr(form, "key", "mcp_servers") for name, form in MCP_FORMS.items()}
JSON_FORMS = [form for form in MCP_FORMS.values() if isinstance(form, JsonForm)]
THEIRS = '{ "model":"opus",\n\t"%s": {"other": {"command": "x", "args": [1.50]} } }\n'
CODEX = '# mine\nmodel = "o"   # fast\n\n[mcp_servers.other]\ncommand = "x"\n'


def file_of(agent: str, root: Path, scope: str = "project") -> HookFile:
    """Return an agent's file of servers in a project or a home below a folder."""
    return HookLocation(root, root / "home", {}).file(agent, scope, what=MCP)


def test_each_agent_that_has_hooks_has_tools() -> None:
    """Hooks and tools are installed under the same agent names."""
    assert MCP_FORMS.keys() == FILES[HOOKS].keys()


@pytest.mark.parametrize("agent", MCP_FORMS)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_new_file_has_our_server_and_goes_without_a_trace(
    agent: str, scope: str, tmp_path: Path
) -> None:
    """The agent's file contains the program and its argument, once."""
    file = file_of(agent, tmp_path, scope)
    assert file.install()
    assert not file.install()
    text = file.path.read_text()
    said = tomllib.loads(text) if file.form.agent == "codex" else json.loads(text)
    entry = said[KEYS[agent]][NAME]
    command = entry["command"]
    words = command if isinstance(command, list) else [command, *entry["args"]]
    assert words == ["sprintlog", "mcp"]
    assert file.events() == [NAME]
    assert file.uninstall()
    assert not file.uninstall()
    assert not file.path.exists()


@pytest.mark.parametrize("agent", MCP_FORMS)
@pytest.mark.parametrize("is_known", [True, False])
def test_servers_of_others_stay_as_they_are(
    agent: str, is_known: bool, tmp_path: Path
) -> None:
    """Every byte of a foreign file is restored, even without remembered text."""
    file = file_of(agent, tmp_path)
    before = CODEX if agent == "codex" else THEIRS % KEYS[agent]
    file.path.parent.mkdir(parents=True, exist_ok=True)
    file.path.write_text(before)
    assert file.install()
    text = file.path.read_text()
    begin = before.rstrip("} \n") if agent != "codex" else before
    assert text.startswith(begin[:40])
    if not is_known:
        for memo in file.memory.glob("*"):
            memo.unlink()
    assert file.uninstall()
    assert file.path.read_text() == before


def test_an_entry_of_before_is_made_that_of_today(tmp_path: Path) -> None:
    """An entry that calls us in a different way is replaced rather than duplicated."""
    file = file_of("claude", tmp_path)
    file.path.write_text('{"mcpServers": {"sprintlog": {"command": "old"}, "x": {}}}')
    assert file.install()
    said = json.loads(file.path.read_text())["mcpServers"]
    assert said == {"x": {}, "sprintlog": {"command": "sprintlog", "args": ["mcp"]}}


def test_hooks_and_tools_of_one_file_go_by_themselves(tmp_path: Path) -> None:
    """If an agent stores both in one file, each can be removed, in any order."""
    for first_out in (0, 1):
        root = tmp_path / str(first_out)
        root.mkdir()
        around = HookLocation(root, root / "home", {})
        both = [around.file("gemini", "project", what=what) for what in (HOOKS, MCP)]
        path = both[0].path
        path.parent.mkdir()
        path.write_text('{\n  "model": "pro"\n}\n')
        for file in both:
            assert file.install()
        for file in (both[first_out], both[1 - first_out]):
            assert file.uninstall()
        assert path.read_text() == '{\n  "model": "pro"\n}\n'


@pytest.mark.parametrize(
    ("agent", "text", "said"),
    [
        ("claude", "[]", "is not a JSON object"),
        ("claude", "{", "is not JSON"),
        ("claude", '{"mcpServers": []}', "mcpServers: is not an object"),
        ("claude", '{"mcpServers": {}, "mcpServers": {}}', "occurs twice"),
        ("opencode", '{ // mine\n "mcp": {}}', "is not JSON"),
        ("codex", "model = ", "is not TOML"),
        ("codex", "mcp_servers = 1", "is not an object"),
        ("codex", 'mcp_servers = { sprintlog = { command = "x" } }', "by hand|of its own"),
    ],
)
def test_what_cannot_be_read_stays(
    agent: str, text: str, said: str, tmp_path: Path
) -> None:
    """One line states the problem of the file, which is unchanged."""
    file = file_of(agent, tmp_path)
    file.path.parent.mkdir(exist_ok=True)
    file.path.write_text(text)
    with pytest.raises(InvalidInputError, match=said):
        file.install()
    assert file.path.read_text() == text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.long
@given(
    said=st.dictionaries(st.text(max_size=9), _JSON, max_size=4),
    servers=st.none() | st.dictionaries(st.text(max_size=9), _JSON, min_size=1, max_size=3),
    indent=st.none() | st.integers(0, 4),
    form=st.sampled_from(JSON_FORMS),
)
@settings(max_examples=examples(150), deadline=None)
def test_whatever_a_file_says_stays(
    said: dict[str, object],
    servers: dict[str, object] | None,
    indent: int | None,
    form: JsonForm,
) -> None:
    """Installation keeps the contents and adds our server; removal restores the text."""
    if servers is not None:
        said = {
            **said,
            form.key: {k: v for k, v in servers.items() if k != NAME} or {"x": 1},
        }
    elif form.key in said:
        return
    if not said:
        return
    text = json.dumps(said, indent=indent, ensure_ascii=False)
    edit = form.install(text, file="f")
    now = json.loads(edit.text)
    assert now[form.key].pop(NAME) == dict(form.entry)
    assert now == ({**said, form.key: {}} if servers is None else said)
    assert form.without(edit.text, file="f") == text
