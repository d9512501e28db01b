"""Our hooks in agents' files: golden texts, idempotent, and every byte is restored."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintlog.engine.adapters.hooks.edits import cut
from sprintlog.engine.adapters.hooks.files import SCOPES, HookFile, HookLocation
from sprintlog.engine.adapters.hooks.forms import FILES, HOOKS, HookForm
from sprintlog.engine.errors import RefusedError

FORMS = FILES[HOOKS]
FIXTURES = Path(__file__).parents[3] / "fixtures" / "hooks"
JSON_FORMS = {name: form for name, form in FORMS.items() if isinstance(form, HookForm)}


def file_of(agent: str, root: Path, scope: str = "project") -> HookFile:
    """Return an agent's file in a project or a home below a folder."""
    return HookLocation(root, root / "home", {}).file(agent, scope)


@pytest.mark.parametrize("agent", FORMS)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_new_file_is_the_golden_one_and_goes_without_a_trace(
    agent: str, scope: str, tmp_path: Path
) -> None:
    """The agent reads the generated file; removal leaves neither a file nor a folder."""
    file = file_of(agent, tmp_path, scope)
    assert file.install()
    golden = FIXTURES / f"{agent}-new{file.path.suffix}"
    assert file.path.read_bytes() == golden.read_bytes()
    assert file.events() == [*FORMS[agent].events]
    assert file.uninstall()
    assert not file.path.exists()
    made = file.below.partition("/")[0]
    assert not (file.root / made).exists()


@pytest.mark.parametrize("agent", ["claude", "cursor", "gemini"])
def test_a_file_of_somebody_keeps_what_it_has(agent: str, tmp_path: Path) -> None:
    """Keys, order, numbers, spaces and third-party hooks stay; ours are appended."""
    file = file_of(agent, tmp_path)
    file.path.parent.mkdir(parents=True)
    before = (FIXTURES / f"{agent}-before.json").read_bytes()
    file.path.write_bytes(before)
    assert file.install()
    assert file.path.read_bytes() == (FIXTURES / f"{agent}-after.json").read_bytes()
    assert not file.install()
    assert file.uninstall()
    assert file.path.read_bytes() == before
    assert not file.uninstall()


def test_a_file_that_was_edited_since_loses_our_hooks_alone(tmp_path: Path) -> None:
    """Others' later additions remain; empty lists created for our hooks do not."""
    file = file_of("claude", tmp_path)
    file.install()
    said = json.loads(file.path.read_text())
    said["model"] = "opus"
    said["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "beep"}]})
    said["hooks"]["SessionEnd"][0]["hooks"].insert(0, {"command": "bye"})
    file.path.write_text(json.dumps(said))
    assert file.uninstall()
    assert json.loads(file.path.read_text()) == {
        "model": "opus",
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "beep"}]}],
            "SessionEnd": [{"hooks": [{"command": "bye"}]}],
        },
    }


def test_hooks_of_an_earlier_form_are_made_those_of_today(tmp_path: Path) -> None:
    """An entry with another timeout, or for an older event, is replaced."""
    file = file_of("codex", tmp_path)
    file.path.parent.mkdir()
    old = {"hooks": [{"type": "command", "command": "sprintlog hook codex"}]}
    file.path.write_text(json.dumps({"hooks": {"Notification": [old], "Stop": [old]}}))
    assert not file.is_current()
    assert file.install()
    assert file.is_current()
    assert file.events() == [*FORMS["codex"].events]
    file.path.write_text(file.path.read_text().replace('"timeout": 3', '"timeout": 4'))
    assert not file.is_current()


def test_what_only_looks_like_ours_is_left(tmp_path: Path) -> None:
    """Another program's command that merely contains our name is not removed."""
    file = file_of("claude", tmp_path)
    file.path.parent.mkdir()
    others = ["my-sprintlog hook claude", "sprintlog hook claudette", "echo sprintlog hook"]
    entries = [{"hooks": [{"command": said}]} for said in others]
    file.path.write_text(json.dumps({"hooks": {"Stop": entries}}))
    assert file.events() == []
    assert not file.uninstall()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"hooks": ', ":1: is not JSON"),
        ('{\n// mine\n"a": 1}', ":2: is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"hooks": []}', "hooks: is not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop: is not a list"),
        ('{"a": 1, "a": 2}', "a: occurs twice"),
        ('{"hooks": {"Stop": [], "Stop": []}}', "hooks.Stop: occurs twice"),
        ("{} {}", "contains more text"),
        ("[" * 5000, "nested deeper"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_stays(
    text: str, said: str, tmp_path: Path
) -> None:
    """A one-line error names the file and the field or line; nothing is changed."""
    file = file_of("claude", tmp_path)
    file.path.parent.mkdir()
    file.path.write_text(text)
    for change in (file.install, file.uninstall):
        with pytest.raises(RefusedError) as refused:
            change()
        assert str(file.path) in refused.value.message
        assert said in refused.value.message
        assert file.path.read_text() == text


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A tree that leads our hooks into another file gets them nowhere."""
    file = file_of("claude", tmp_path)
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    file.path.parent.mkdir()
    file.path.symlink_to(outside)
    with pytest.raises(RefusedError, match="not followed"):
        file.install()
    file.path.unlink()
    file.path.parent.rmdir()
    (tmp_path / "elsewhere").mkdir()
    file.path.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="link"):
        file.install()
    assert outside.read_text() == "{}"
    assert not [*(tmp_path / "elsewhere").iterdir()]


def test_bytes_that_are_no_text_and_pipes_are_refused(tmp_path: Path) -> None:
    """Neither is read or overwritten."""
    file = file_of("claude", tmp_path)
    file.path.parent.mkdir()
    file.path.write_bytes(b"\xff\xfe")
    with pytest.raises(RefusedError, match="UTF-8"):
        file.install()
    file.path.unlink()
    os.mkfifo(file.path)
    with pytest.raises(RefusedError, match="not a regular file"):
        file.install()


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """It reports that something would change, and creates no file."""
    file = file_of("gemini", tmp_path)
    assert file.install(is_dry=True)
    assert not [*tmp_path.iterdir()]
    file.install()
    before = file.path.read_bytes()
    assert file.uninstall(is_dry=True)
    assert file.path.read_bytes() == before


def test_a_plugin_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    """Only a file that starts like ours is replaced or removed."""
    file = file_of("opencode", tmp_path)
    file.path.parent.mkdir(parents=True)
    file.path.write_text("export const Mine = 1\n")
    with pytest.raises(RefusedError, match="not written by sprintlog"):
        file.install()
    assert not file.uninstall()
    file.path.write_text(FORMS["opencode"].text.replace("detached: true, ", ""))
    assert file.install()
    assert file.path.read_text() == FORMS["opencode"].text


def test_what_is_remembered_is_for_the_person_alone(tmp_path: Path) -> None:
    """The insertion is remembered outside of the tree, without text of the file."""
    file = file_of("claude", tmp_path)
    file.path.parent.mkdir()
    file.path.write_text('{"env": {"TOKEN": "secret-of-mine"}}')
    file.install()
    (memo,) = file.memory.iterdir()
    assert memo.stat().st_mode & 0o777 == 0o600
    assert b"secret-of-mine" not in memo.read_bytes()
    file.uninstall()
    assert not [*file.memory.iterdir()]


patient = settings(deadline=None)
KEYS = st.sampled_from(["a", "hooks ", "é", "hooks.x", '"', "\\", "Stop"])
TEXTS = st.text(alphabet='aé"\\{}[],: \n\u2028', max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
LISTS = st.lists(st.fixed_dictionaries({"command": TEXTS}), max_size=2)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """Return an agent and a text of its file, in some layout."""
    agent = draw(st.sampled_from([*JSON_FORMS]))
    said: dict[str, Any] = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    if draw(st.booleans()):
        names = st.sampled_from([*FORMS[agent].events[:3], "Another"])
        said["hooks"] = draw(st.dictionaries(names, LISTS, max_size=3))
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    text = json.dumps(said, indent=indent, ensure_ascii=draw(st.booleans()))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    text = draw(st.sampled_from(["", "\ufeff"])) + text
    return agent, text + draw(st.sampled_from(["", "\n", " \n\n"]))


@patient
@given(texts())
def test_what_is_put_in_is_found_and_cut_out_to_the_byte(found: tuple[str, str]) -> None:
    """Our hooks are at each event once, all else stays, and removal restores the file."""
    agent, text = found
    form = JSON_FORMS[agent]
    before = json.loads(text.removeprefix("\ufeff"))
    edit = form.install(text, file="f")
    after = json.loads(edit.text.removeprefix("\ufeff"))
    assert set(form.ours(edit.text, file="f")) == set(form.events)
    for event in form.events:
        others = before.get("hooks", {}).get(event, [])
        assert after["hooks"][event] == [*others, form.entries()[event]]
    assert {k: v for k, v in after.items() if k != "hooks"} == {
        k: v for k, v in before.items() if k != "hooks"
    }
    assert cut(edit.text, edit.spans) == text


@patient
@given(texts())
def test_without_what_is_remembered_only_empty_lists_go(found: tuple[str, str]) -> None:
    """Our hooks are also recognized by their contents; a non-empty rest is unchanged."""
    agent, text = found
    form = JSON_FORMS[agent]
    before = json.loads(text.removeprefix("\ufeff"))
    edit = form.install(text, file="f")
    after = json.loads(form.without(edit.text, file="f").removeprefix("\ufeff"))
    kept = {
        name: entries
        for name, entries in before.get("hooks", {}).items()
        if entries or name not in form.events
    }
    assert after.get("hooks", {}) == kept
    assert {k: v for k, v in after.items() if k != "hooks"} == {
        k: v for k, v in before.items() if k != "hooks"
    }
