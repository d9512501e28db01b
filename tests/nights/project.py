"""The small project that the agents of scripted nights work on; its tests really run."""

import sys
from collections.abc import Mapping
from pathlib import Path

PYTHON = sys.executable
SOLUTIONS = {
    "sub": "a - b",
    "mul": "a * b",
    "neg": "-a",
    "half": "a / 2",
    "square": "a * a",
    "double": "a + a",
    "even": "a % 2 == 0",
    "render": '"right\\\\n"',
}
"""The right side of each function, as a shell's double-quoted text for `sed`."""
CASES = {
    "add": ("a, b", "2, 3", "5"),
    "sub": ("a, b", "5, 3", "2"),
    "mul": ("a, b", "2, 3", "6"),
    "neg": ("a", "4", "-4"),
    "half": ("a", "4", "2"),
    "square": ("a", "3", "9"),
    "double": ("a", "3", "6"),
    "even": ("a", "4", "True"),
}
"""Each function's parameters, and the arguments and result that its test checks."""
APP = "".join(
    f"def {name}({given}):\n"
    + (
        "    return a + b\n"
        if name == "add"
        else f"    raise NotImplementedError  # {name}\n"
    )
    for name, (given, _, _) in CASES.items()
)
SOUND = "".join(
    f"def {name}({given}):\n    return {SOLUTIONS.get(name, 'a + b')}\n"
    for name, (given, _, _) in CASES.items()
)
TESTS = "import unittest\n\nimport app\n\n\nclass Tests(unittest.TestCase):\n" + "\n".join(
    f"    def test_{name}(self):\n        self.assertEqual(app.{name}({of}), {result})\n"
    for name, (_, of, result) in CASES.items()
)
CHECK = """\
import json, sys, tomllib, unittest
from pathlib import Path

lines = set()

def trace(frame, event, argument):
    if frame.f_code.co_filename.endswith("app.py"):
        lines.add(frame.f_lineno)
        return trace

def wanted(code):
    own = {line for _, _, line in code.co_lines() if line}
    return own.union(*(wanted(x) for x in code.co_consts if hasattr(x, "co_lines")))

if "--cover" in sys.argv:
    sys.settrace(trace)
sys.path.insert(0, ".")
tests = unittest.defaultTestLoader.discover("tests")
count = tests.countTestCases()
result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(tests)
sys.settrace(None)
bad, skipped = len(result.failures) + len(result.errors), len(result.skipped)
code, figures = int(bad > 0), {"test_count": count, "tests_failed": bad}
figures |= {"tests_passed": count - bad - skipped, "tests_skipped": skipped}
if "--cover" in sys.argv:
    all_lines = wanted(compile(Path("app.py").read_text(), "app.py", "exec"))
    figures["coverage_percentage"] = 100 * len(lines & all_lines) // len(all_lines)
    if Path("pyproject.toml").exists():
        rules = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["coverage"]
        if figures["coverage_percentage"] < rules["report"]["fail_under"]:
            code = 2
if "--junit" in sys.argv:
    cases = ["<testcase name='t'/>"] * (count - bad)
    cases += ["<testcase name='t'><failure/></testcase>"] * bad
    Path("junit.xml").write_text(f"<testsuite name='s'>{''.join(cases)}</testsuite>")
if "--log" in sys.argv:
    with open("results.log", "a") as log:
        print(figures, file=log)
print(json.dumps(figures))
sys.exit(code)
"""
UNUSED = (
    "def unused(a):\n" + "".join(f"    a += {n}\n" for n in range(20)) + "    return a\n"
)
"""A function without a test, which lowers the coverage."""
RENDER_TEST = """\
import unittest
from pathlib import Path

import app


class Tests(unittest.TestCase):
    def test_render(self):
        self.assertEqual(app.render(), Path("tests/__snapshots__/render.snap").read_text())
"""
FLAKY_TEST = """\
import unittest
from pathlib import Path


class Tests(unittest.TestCase):
    def test_flaky(self):
        seen = Path("../seen")
        before = seen.exists()
        seen.touch()
        self.assertTrue(before)
"""
FILES = {
    "app.py": APP,
    "tests/test_app.py": TESTS,
    "check.py": CHECK,
    ".gitignore": "__pycache__/\n",
    "prompt.md": "Make the tests pass.\n",
}
PRELUDE = f"""\
solve() {{
  for name in "$@"; do case "$name" in
{"".join(f"  {name}) found='{of}' ;;" + chr(10) for name, of in SOLUTIONS.items())}\
  esac
  sed -i "s|raise NotImplementedError  # $name|return $found|" app.py; done
}}
solve_all() {{ solve {" ".join(SOLUTIONS)}; }}
weaken() {{
  sed -i 's/self.assertEqual(\\(.*\\), .*)/self.assertTrue(True)/' tests/test_app.py
}}
claim() {{
  touch ../claimed
  echo '{{"status": "goal-complete", "summary": "All tests pass"}}'
}}
goes_on() {{ echo '{{"status": "continue", "summary": "did some"}}'; }}
sl() {{
  {PYTHON} -m sprintlog.cli "$@" >>../typed 2>&1 </dev/null || echo "exit $?" >>../typed
}}
"""
"""The functions of every agent's script."""
AGENT = """\
n=$(($(cat ../runs 2>/dev/null || echo 0) + 1)); echo $n >../runs
cat >../prompt-$n
. ../prelude.sh
case $n in
%s
*) goes_on ;;
esac
"""


def write_project(folder: Path, script: tuple[str, ...], files: Mapping[str, str]) -> Path:
    """Write the work tree and, outside of it, the script of its agent; return the tree."""
    tree = folder / "tree"
    for name, text in {**FILES, **files}.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    cases = "".join(f"{n})\n{lines}\n;;\n" for n, lines in enumerate(script, 1))
    (folder / "agent.sh").write_text(AGENT % cases)
    (folder / "prelude.sh").write_text(PRELUDE)
    return tree
