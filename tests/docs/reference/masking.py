"""What follows from the forms of secrets: their module, their words, and their table."""

import tomllib
from pathlib import Path
from typing import Any

from sprintlog.engine.masking import AFTER_WORD, ANYWHERE, IN_RUN

ROOT = Path(__file__).resolve().parents[3]
ENGINE = ROOT / "engine"
LIMITS = ROOT / "docs" / "reference" / "limits.md"
FORMS: list[dict[str, Any]] = tomllib.loads(
    (ENGINE / "masking_forms.toml").read_text(encoding="utf-8")
)["form"]
FORMS_HEAD = '''\
"""The forms of secrets: of masking_forms.toml, by `python -m tests.docs.generate`.

Each has a name, words, a pattern, whether a person may have chosen it, and its place.
"""

Form = tuple[str, tuple[str, ...], str, bool, str]

# ruff: noqa: E501
# fmt: off
FORMS: tuple[Form, ...] = (
'''
WIDTH = 88
MARKS = "_-.:~ "
"""Characters that few texts have all of: without one no word with it is looked for."""


def forms_module() -> str:
    """Return the module that masking imports when a text holds a word of a form."""
    return FORMS_HEAD + "".join(map(_row, FORMS)) + ")\n"


def _row(form: dict[str, Any]) -> str:
    words = "".join(f'"{word}", ' for word in form["words"]).rstrip()
    pattern = form["pattern"]
    assert '"' not in pattern
    chosen = form.get("is_chosen", False)
    place = place_of(form)
    return f'    ("{form["name"]}", ({words}), r"{pattern}", {chosen}, "{place}"),\n'


def place_of(form: dict[str, Any]) -> str:
    """Return where the form is looked for."""
    if not form.get("is_in_words"):
        return IN_RUN
    return AFTER_WORD if form["pattern"].startswith("(?<=") else ANYWHERE


def masking_module() -> str:
    """Return masking.py with the words of all forms, without those that hold another."""
    words = dict.fromkeys(word for form in FORMS for word in form["words"])
    groups: dict[str, list[str]] = {mark: [] for mark in (*MARKS, "")}
    for word in words:
        if not any(other in word for other in words if other != word):
            groups[next((c for c in MARKS if c in word), "")].append(word)
    lines = ["WORDS = {"]
    for mark, group in groups.items():
        lines += [f'    "{mark}": (', "       "]
        for word in group:
            if len(lines[-1]) + len(word) + 4 > WIDTH:
                lines.append("       ")
            lines[-1] += f' "{word}",'
        lines.append("    ),")
    between = [f'"{w}"' for form in FORMS if form.get("is_in_words") for w in form["words"]]
    block = "\n".join([*lines, "}", f"WORDS_BETWEEN = ({', '.join(between)})"])
    return _between(ENGINE / "masking.py", "# fmt: off\n", "# fmt: on\n", block + "\n")


def limits_page() -> str:
    """Return the page of limits with the table of all forms."""
    rows = ["| form | looks like |", "|---|---|"]
    for form in FORMS:
        words = ", ".join(f"`{word}…`" for word in form["words"])
        rows.append(f"| {form['name']} | {form.get('looks_like', words)} |")
    return _between(LIMITS, "<!-- forms -->\n", "<!-- end -->\n", "\n".join(rows) + "\n")


def _between(path: Path, begin: str, end: str, block: str) -> str:
    """Return a file's text with what is between two marks replaced."""
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    return before + begin + block + end + after
