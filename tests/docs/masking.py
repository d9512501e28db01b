"""What follows from the forms of secrets: their module, their words, and their table."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine"
LIMITS = ROOT / "docs" / "reference" / "limits.md"
FORMS: list[dict[str, Any]] = tomllib.loads(
    (ENGINE / "masking_forms.toml").read_text(encoding="utf-8")
)["form"]
FORMS_HEAD = '''\
"""The forms of secrets: of masking_forms.toml, by `python -m tests.docs.generate`.

Each has a name, words, a pattern, and whether a person may have chosen it.
"""

# ruff: noqa: E501
# fmt: off
FORMS: tuple[tuple[str, tuple[str, ...], str, bool], ...] = (
'''
WIDTH = 88


def forms_module() -> str:
    """Return the module that masking imports when a text holds a word of a form."""
    return FORMS_HEAD + "".join(map(_row, FORMS)) + ")\n"


def _row(form: dict[str, Any]) -> str:
    words = "".join(f'"{word}", ' for word in form["words"]).rstrip()
    pattern = form["pattern"]
    assert '"' not in pattern
    chosen = form.get("is_chosen", False)
    return f'    ("{form["name"]}", ({words}), r"{pattern}", {chosen}),\n'


def masking_module() -> str:
    """Return masking.py with the words of all forms, without those that hold another."""
    words = dict.fromkeys(word for form in FORMS for word in form["words"])
    lines = [""]
    for word in words:
        if any(other in word for other in words if other != word):
            continue
        if len(lines[-1]) + len(word) + 4 > WIDTH:
            lines.append("")
        lines[-1] += f' "{word}",'
    between = [f'"{w}"' for form in FORMS if form.get("is_in_words") for w in form["words"]]
    lines = ["WORDS = (", *(f"   {line}" for line in lines), ")"]
    block = "\n".join([*lines, f"WORDS_BETWEEN = ({', '.join(between)})"])
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
