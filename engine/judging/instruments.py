"""The files that decide on measurements, and the changes that weaken them.

These are tests, the configuration of test runners, and measuring scripts. Tests may be
added, renamed and moved; an existing test may not change. All contents may be hostile.
"""

import json
import posixpath
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from configparser import ConfigParser, Error
from functools import partial
from typing import Any

from . import suite_code
from .parts import ChangedInstrument
from .suite_code import ASSERTION, GLOBAL_HOOK, HOOK, ONLY, SKIP, CodeBlock

TEXT_MAX = 2 * 1024 * 1024
"""The size in bytes of all changed files above which the rest is compared as a whole."""
_WHOLE = re.compile(
    r"(?:.*/)?(?:(?:conftest|sitecustomize|usercustomize|noxfile)\.py|\.?pytest\.(?:ini|toml)"
    r"|\.coveragerc|(?:jest|vitest|karma|playwright|cypress|ava|nyc)\.(?:config|workspace"
    r"|conf)[^/]*|(?:(?:jest|vitest|tests?|mocha)[._-]?setup|setup[._-]?(?:Tests|jest|vitest"
    r"))\.[cm]?[jt]sx?|\.(?:mocha|nyc|c8)rc(?:\.\w+)?|\.rspec|\.simplecov|(?:spec|rails|test)"
    r"_helper\.rb|phpunit[^/]*\.xml(?:\.dist)?|junit-platform\.properties|Rakefile"
    r"|Taskfile\.ya?ml|\.?nextest\.toml|\.cargo/config(?:\.toml)?|tests/bootstrap\.php"
    r"|sprintlog\.toml)"
)
"""Files of which every change counts, and so does their creation."""
_SNAPSHOT = re.compile(r"(?:.*/)?__snapshots__/.*|.*\.(?:snap|golden|ambr)")
"""Expected results that test runners write; only changes of existing lines count."""
_TESTING = re.compile(r"test|spec|check|cover|^(?:pre|post)", re.IGNORECASE)
_SETTINGS = re.compile(
    r"tool\.(?:pytest|coverage|tox|hatch\.envs|poe|taskipy)|project\.entry-points\.pytest"
    r"|profile\.test|lib\.(?:test|doctest|harness)|tool:pytest|pytest|coverage:|testenv|tox"
    r"|unittest|jest|vitest|mocha|ava|c8|nyc|tap|hooks|(?:test|bin)(?:\.|$)"
)
_BLOCK = re.compile(
    r"\s*(?:tasks\..*[tT]est|\w*[tT]est\b|tests?\s*:|jacoco|kover|withType\W*Test|<plugin>"
    r"|.*(?:skipTests|skipITs|maven\.test|testFailure))"
)
_SCRIPT = re.compile(r"\./[^.]+|.*\.(?:\w*sh|py|[cm]?[jt]s|rb|pl|php|lua|ps1|awk|exs?|mk)")
_INTERPRETER = re.compile(r"[bdkz]?a?sh|python[\d.]*|node|deno|bun|ruby|perl|php|source|\.")
_READER = re.compile(
    r"\S* (?:compileall|py_compile|ruff|mypy|flake8|pylint|pyright|black|eslint|tsc|biome"
    r"|prettier|rubocop|radon|lizard|cloc|tokei|wc|[ef]?grep|rg|diff|cmp|ls)"
    r"|\w*sh -n|node --check"
)
"""Programs that read the named files and do not run them, after a word before them."""
Blocks = list[CodeBlock]


def scripts_in(commands: Iterable[str]) -> frozenset[str]:
    """Return the paths from the root that may be scripts in measuring commands."""
    found = set[str]()
    for line in commands:
        folder = ""
        for part in re.split(r"[;&|()`\n]+", line):
            # Without assignments and the values of options.
            words = [x for x in re.findall(r"[^\s\"'$<>{}]+", part) if "=" not in x]
            for word in _scripts_of(words):
                # The folder may have been changed in a subshell only.
                found |= {word, posixpath.join(folder, word)}
            if words[:1] == ["cd"]:
                folder = posixpath.join(folder, *words[1:2])
    paths = map(posixpath.normpath, found)
    return frozenset(path for path in paths if not path.startswith(("/", "..")))


def _scripts_of(words: list[str]) -> Iterator[str]:
    """Yield what a command may run; the arguments of a script are only its data."""
    before, reads, is_found = "", False, False
    for last, word in zip(["", *words], words, strict=False):
        name, program = posixpath.basename(word), posixpath.basename(before)
        is_run = _INTERPRETER.fullmatch(program) is not None
        reads |= last != "--with" and bool(_READER.fullmatch(f"{program} {name}"))
        if last == "-m":
            module = word.replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py")
        if word[0] == "-":
            # A shell's `-c` is followed by the text of another command.
            before = "" if re.fullmatch(r"-\w*c", word) else before
            continue
        is_script = not is_found and _SCRIPT.fullmatch(word) is not None
        if not reads and (is_script or is_run or (not before and "/" in word)):
            yield word
        # Other programs, and programs for tests, may run all files that follow.
        is_single = (is_run or before in ("", "run")) and "test" not in " ".join(words)
        is_value = last[:2] == "--" or last == "-r"
        is_found |= is_script and "." in name and is_single and not is_value
        before = word


def words_in(commands: Iterable[str]) -> frozenset[str]:
    """Return the words of measuring commands, such as the names of targets."""
    return frozenset(re.findall(r"[\w:./-]+", "\n".join(commands)))


def is_instrument(path: str, scripts: Collection[str] = ()) -> bool:
    """Return whether a file decides on measurements."""
    if _WHOLE.fullmatch(path) or _SNAPSHOT.fullmatch(path) or path in scripts:
        return True
    return _read_by(path) is not None or suite_code.has_tests(path)


def compare(
    accepted: Mapping[str, bytes], current: Mapping[str, bytes], words: Collection[str] = ()
) -> list[ChangedInstrument]:
    """Return the files that changed in a way that may weaken them, with counts.

    Files that are equal in both mappings may be omitted from both. `words` are those of the
    measuring commands.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    old, new = Blocks(), Blocks()
    room = TEXT_MAX
    names: dict[str, frozenset[str]] = {}
    for path in sorted(accepted.keys() | current.keys()):
        before, after = accepted.get(path), current.get(path)
        if before == after:
            continue
        contents = [before or b"", after or b""]
        room -= sum(map(len, contents))
        is_large = room < 0
        pair = suite_code.texts_of("" if is_large else path, contents)
        if before is not None and after is not None and pair[0] == pair[1]:
            continue
        if _SNAPSHOT.fullmatch(path) and not is_large:
            old += _lines_of(path, pair[0])
            new += _lines_of(path, pair[1])
            names[path] = frozenset()
        elif (reader := _read_by(path)) is not None and not is_large:
            a, b = (reader(text, words) for text in pair)
            counts[path]["keys"] = sum(a.get(n) != b.get(n) for n in a.keys() | b.keys())
        elif suite_code.has_tests(path) and not _WHOLE.fullmatch(path) and not is_large:
            old += suite_code.blocks(path, pair[0], is_run=path in words)
            new += suite_code.blocks(path, pair[1], is_run=path in words)
            if before is not None:
                names[path] = frozenset(re.findall(r"\w+", pair[0]))
        elif before is not None or _WHOLE.fullmatch(path):
            was, now = (Counter(text.splitlines()) for text in pair)
            counts[path]["lines"] = max((was - now).total(), (now - was).total(), 1)
    _count_blocks(*_unmatched(old, new), names, counts)
    return [ChangedInstrument(path, **+one) for path, one in sorted(counts.items()) if +one]


def _lines_of(path: str, text: str) -> Iterator[CodeBlock]:
    """Yield the lines of expected results, which may be added and moved."""
    lines = (line for line in text.splitlines() if line.strip() and line[:8] != "exports[")
    return (CodeBlock(path, (line,), (line,), is_definition=True) for line in lines)


def _unmatched(old: Blocks, new: Blocks) -> tuple[Blocks, Blocks]:
    """Return the blocks without an equal one on the other side, preferably in its file."""
    for of_file in (True, False):
        keys = [[(x.path if of_file else "", x.key) for x in side] for side in (old, new)]
        common = Counter(keys[0]) & Counter(keys[1])
        old, new = (
            [x for x, key in zip(side, own, strict=True) if not _taken(left, key)]
            for side, own, left in zip((old, new), keys, (+common, +common), strict=True)
        )
    return old, new


def _taken(left: Counter[Any], key: object) -> bool:
    left[key] -= 1
    return left[key] >= 0


def _count_blocks(
    old: Blocks,
    new: Blocks,
    names: Mapping[str, frozenset[str]],
    counts: Mapping[str, Counter[str]],
) -> None:
    """Count the changes of tests and of other parts; `names` are the accepted ones."""
    by_name: dict[tuple[str, str], list[CodeBlock]] = defaultdict(list)
    for one in new:
        for path in (one.path, "") if one.is_test else ():
            by_name[path, one.name].append(one)
    paired: set[int] = set()
    for one in (one for one in old if one.is_test):
        other = None
        for named in (by_name[one.path, one.name], by_name["", one.name]):
            while named and other is None:
                found = named.pop()
                other = None if id(found) in paired else found
        counts[one.path]["removed" if other is None else "changed"] += 1
        if other is not None:
            paired.add(id(other))
            _count_lines(counts[one.path], Counter(one.key), Counter(other.key))
    parts: dict[str, list[Counter[str]]] = defaultdict(lambda: [Counter(), Counter()])
    for one in (one for one in old if not one.is_test):
        parts[one.path][0].update(one.lines)
    for one in (one for one in new if id(one) not in paired):
        text, accepted = "\n".join((*one.key, *one.lines)), names.get(one.path)
        is_known = accepted is not None and one.name in accepted
        if ONLY.search(text) and not one.path.endswith(".py"):
            counts[one.path]["skips"] += 1
        if one.is_test:
            # In most languages, a second test of the same name replaces the first.
            counts[one.path]["changed"] += is_known
        elif GLOBAL_HOOK.search(text) or (
            accepted is not None
            and (
                is_known or not one.is_definition or HOOK.search(text) or SKIP.search(text)
            )
        ):
            parts[one.path][1].update(one.lines)
    for path, (gone, added) in parts.items():
        counts[path]["lines"] += max((gone - added).total(), (added - gone).total())
        _count_lines(counts[path], gone, added)


def _count_lines(count: Counter[str], old: Counter[str], new: Counter[str]) -> None:
    """Count the added skip marks and the removed assertions."""

    def found(lines: Counter[str], pattern: re.Pattern[str]) -> int:
        return sum(n for line, n in lines.items() if pattern.search(line))

    count["skips"] += max(found(new, SKIP) - found(old, SKIP), 0)
    count["assertions"] += max(found(old, ASSERTION) - found(new, ASSERTION), 0)


def _read_by(path: str) -> Callable[[str, Collection[str]], Mapping[str, str]] | None:
    """Return the function that returns the settings for tests in a file, if any."""
    folder, name = posixpath.split(path)
    if folder.endswith((".claude", ".gemini", ".codex", ".cursor")):
        return partial(_settings, json.loads) if name.endswith(".json") else None
    if re.fullmatch(r"vite\.config\..*|build\.gradle(?:\.kts)?|pom\.xml", name):
        return _in_blocks
    if name in ("Makefile", "makefile", "GNUmakefile", "justfile"):
        return _in_rules
    return partial(_settings, _PARSERS[name]) if name in _PARSERS else None


def _ini(text: str) -> dict[str, Any]:
    parser = ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(text)
    return {section: dict(parser.items(section, raw=True)) for section in parser.sections()}


_PARSERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("package.json", "composer.json", "deno.json"), json.loads),
    **dict.fromkeys(("pyproject.toml", "Cargo.toml", "bunfig.toml"), tomllib.loads),
    **dict.fromkeys(("setup.cfg", "tox.ini"), _ini),
}


def _settings(
    parse: Callable[[str], Any], text: str, words: Collection[str]
) -> dict[str, str]:
    """Return the settings for tests, and the scripts that the words reach."""
    try:
        flat = dict(_flat(parse(text) if text.strip() else {}, ""))
    except (ValueError, RecursionError, Error):
        return {"": text}
    made = {name[8:]: value for name, value in flat.items() if name[:8] == "scripts."}
    scripts = {f"scripts.{name}" for name in _reached(made, words)}
    return {n: x for n, x in flat.items() if n in scripts or _SETTINGS.match(n)}


def _flat(part: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in part.items() if isinstance(part, dict) else ():
        if isinstance(value, dict) and prefix.count(".") < 4:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", repr(value)


def _in_rules(text: str, words: Collection[str]) -> dict[str, str]:
    """Return the rules of a makefile that the words reach, and all its variables."""
    rules: dict[str, str] = defaultdict(str)
    others: dict[str, str] = defaultdict(str)
    name = ""
    for line in text.splitlines():
        rule = re.match(r"([\w./%-][^:=#]*?)\s*:(?!=)", line)
        name = rule[1] if rule is not None else name
        if rule is not None or (name and line[:1] in "\t "):
            rules[name] += line + "\n"
        elif line.strip() and line[0] != "#":
            name = ""
            others[line.split("=")[0].strip()] += line
    starts = {*words} & rules.keys() or [*rules][:1]
    return others | {f"rule {n}": rules[n] for n in _reached(rules, starts)}


def _in_blocks(text: str, words: Collection[str]) -> dict[str, str]:
    """Return the blocks of a build file that concern tests, as a single setting."""
    kept: list[str] = []
    depth = 0
    for line in text.splitlines():
        if depth or _BLOCK.match(line[:500]):
            kept.append(line.strip())
            opens = line.count("{") + line.count("<plugin>")
            depth = max(depth + opens - line.count("}") - line.count("</plugin>"), 0)
    return {"": "\n".join(kept)} if kept else {}


def _reached(entries: Mapping[str, str], words: Collection[str]) -> list[str]:
    """Return the entries about testing, those in `words`, and all that they mention."""
    found = [name for name in entries if name in words or _TESTING.search(name)]
    for name in found:
        mentioned = set(re.findall(r"[\w:./-]+", entries[name]))
        found += [one for one in entries if one in mentioned and one not in found]
    return found
