"""Files generated from the forms of secrets: their file, keywords, and table."""

import json
import tomllib
from pathlib import Path
from typing import Any

from sprintlog.engine.masking import AFTER_WORD, ANYWHERE, IN_RUN

ROOT = Path(__file__).resolve().parents[3]
ENGINE = ROOT / "engine"
LIMITS = ROOT / "docs" / "reference" / "limits.md"
DATA = tomllib.loads((ENGINE / "masking_forms.toml").read_text(encoding="utf-8"))
FORMS: list[dict[str, Any]] = DATA["form"]
WIDTH = 88
MARKS = "~@:QXZJKVYWGHUBFDPMNLOIRASTCE+q04zx5768392j1kv_w-y."
"""Characters, the rarest in paths, digests and names first: a word is searched for only
if a text has its first one of these."""


def forms_file() -> str:
    """Return the file that masking reads if a text contains a form's keyword."""
    rows = [
        json.dumps(
            [
                form["name"],
                form["words"],
                pattern_of(form),
                form.get("is_chosen", False),
                place_of(form),
            ]
        )
        for form in FORMS
    ]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def pattern_of(form: dict[str, Any]) -> str:
    """Return the pattern of a form, with the keywords that must precede it."""
    pattern: str = form["pattern"]
    if form.get("is_named"):
        pattern = f"(?P<before>{DATA['between']}){pattern}"
    if not pattern.startswith("(?P<before>"):
        return pattern
    return f"(?:{'|'.join(f'(?<={word})' for word in form['words'])}){pattern}"


def place_of(form: dict[str, Any]) -> str:
    """Return where the form is searched for."""
    if not form.get("is_in_words"):
        return IN_RUN
    is_after = pattern_of(form).startswith(("(?<=", "(?:(?<="))
    return AFTER_WORD if is_after else ANYWHERE


def masking_module() -> str:
    """Return masking.py with the forms' keywords, except those that contain another."""
    words = dict.fromkeys(
        word for form in FORMS if not form.get("is_in_words") for word in form["words"]
    )
    groups: dict[str, list[str]] = {mark: [] for mark in (*MARKS, "")}
    for word in words:
        if not any(other in word for other in words if other != word):
            groups[next((c for c in MARKS if c in word), "")].append(word)
    lines = ["WORDS = {"]
    for mark, group in groups.items():
        lines += _wrapped(f'    "{mark}": (', group, ")," if group else "")
    lines.append("}")
    for name in ("SHORT", "STEMS"):
        lines += _wrapped(f"{name} = (", DATA[name.lower()], ")")
    block = "\n".join(lines)
    return _between(ENGINE / "masking.py", "# fmt: off\n", "# fmt: on\n", block + "\n")


def _wrapped(begin: str, words: list[str], end: str) -> list[str]:
    """Return a tuple of words on few lines; empty if there are no words."""
    lines = [begin] if words else []
    for word in words:
        if len(lines[-1]) + len(word) + 7 > WIDTH:
            lines.append(" " * (len(begin) - len(begin.lstrip()) + 4))
        elif not lines[-1].endswith("("):
            lines[-1] += " "
        lines[-1] += f'"{word}",'
    return [*lines[:-1], lines[-1] + end] if lines else []


def limits_page() -> str:
    """Return the page of limits with the table of all forms."""
    rows = ["| form | looks like |", "|---|---|"]
    for form in FORMS:
        words = ", ".join(f"`{word}…`" for word in form["words"])
        rows.append(f"| {form['name']} | {form.get('looks_like', words)} |")
    return _between(LIMITS, "<!-- forms -->\n", "<!-- end -->\n", "\n".join(rows) + "\n")


def _between(path: Path, begin: str, end: str, block: str) -> str:
    """Return a file's text with the part between two marks replaced."""
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    return before + begin + block + end + after
