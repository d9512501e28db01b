"""Edits of tests, of their configuration and of scripts, with the expected counts."""

Files = dict[str, str]
Counts = dict[str, dict[str, int]]

PYTEST = """\
    import pytest
    from app import add

    @pytest.fixture
    def two():
        return 2

    def test_adds(two):
        assert add(1, two) == 3
        assert add(0, 0) == 0

    class TestMore:
        def test_negative(self):
            # of both
            assert add(-1, -1) == -2
    """
JEST = """\
    const { add } = require('./app');

    describe('add', () => {
      it('adds', () => {
        expect(add(1, 2)).toBe(3);
      });

      it.each([
        [1, 1],
      ])('adds %i', (a, b) => {
        expect(add(a, 0)).toBe(b);
      });
    });
    """
GO = """\
    package app

    import "testing"

    func TestAdd(t *testing.T) {
        if Add(1, 2) != 3 {
            t.Fatal("no")
        }
    }
    """
RUST = """\
    pub fn add(a: i32, b: i32) -> i32 {
        a + b
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn adds() {
            assert_eq!(add(1, 2), 3);
        }
    }
    """
JUNIT = """\
    package app;

    import org.junit.jupiter.api.Test;

    class AppTest {
        @Test
        public int adds() {
            assertEquals(3, App.add(1, 2));
        }
    }
    """
PHP = """\
    <?php
    class AppTest extends TestCase
    {
        public function testAdds(): int
        {
            $this->assertSame(3, add(1, 2));
        }
    }
    """
RSPEC = """\
    require 'app'

    RSpec.describe App do
      it 'adds' do
        expect(App.add(1, 2)).to eq(3)
      end

      it { is_expected.to be_valid }
    end
    """
P, J, G, R, U, H, B = (
    *("tests/test_app.py", "src/app.test.js", "app_test.go", "src/lib.rs"),
    *("src/test/java/AppTest.java", "tests/AppTest.php", "spec/app_spec.rb"),
)
ALL = {P: PYTEST, J: JEST, G: GO, R: RUST, U: JUNIT, H: PHP, B: RSPEC}


def edited(path: str, old: str, new: str) -> Files:
    """Return the file of an ecosystem with one edit."""
    assert old in ALL[path]
    return {path: ALL[path].replace(old, new)}


CLEAN = {
    "pytest: a test added": edited(
        P,
        "class TestMore",
        "def test_zero():\n        assert add(0, 0) == 0\n\n    class TestMore",
    ),
    "pytest: a test and its group renamed": {
        P: PYTEST.replace("test_adds", "test_sums").replace("TestMore", "TestOthers")
    },
    "pytest: moved to another folder": {"tests/unit/test_app.py": PYTEST},
    "pytest: split into two files": {
        "tests/test_a.py": PYTEST.partition("    class")[0],
        "tests/test_b.py": "    import pytest\n"
        + "    class"
        + PYTEST.partition("    class")[2],
    },
    "pytest: a helper and an import added": edited(
        P,
        "    def test_adds",
        "    LIMIT = 3\n\n    def twice(x):\n        return 2 * x\n\n    def test_adds",
    ),
    "pytest: a comment and a blank line": edited(P, "# of both", "# of two numbers\n"),
    "pytest: another format": {
        P: PYTEST.replace("add(1, two)", "(add(\n        1, two,))").replace("    ", "   ")
    },
    "jest: a test added": edited(
        J,
        "  it('adds'",
        "  it('adds zero', () => {\n"
        "        expect(add(0, 0)).toBe(0);\n"
        "      });\n\n"
        "      it('adds'",
    ),
    "jest: renamed and moved": {"test/add.test.js": JEST.replace("'adds'", "'sums'")},
    "go: a test added": {
        G: GO + "\n    func TestZero(t *testing.T) {\n        Add(0, 0)\n    }\n"
    },
    "go: renamed": edited(G, "TestAdd", "TestSum"),
    "cargo: the code under test changed": edited(R, "a + b", "b + a"),
    "cargo: a test added": edited(
        R,
        "        #[test]",
        "        #[test]\n"
        "        fn zero() {\n"
        "            assert_eq!(add(0, 0), 0);\n"
        "        }\n\n"
        "        #[test]",
    ),
    "junit: a test added": edited(
        U,
        "    @Test",
        "    @Test\n"
        "        public int zero() {\n"
        "            assertEquals(0, App.add(0, 0));\n"
        "        }\n\n"
        "        @Test",
    ),
    "phpunit: renamed": edited(H, "testAdds", "testSums"),
    "rspec: a test added": edited(
        B,
        "  it 'adds'",
        "  it 'adds zero' do\n"
        "        expect(App.add(0, 0)).to eq(0)\n"
        "      end\n\n"
        "      it 'adds'",
    ),
}


TAMPERED: dict[str, tuple[Files, dict[str, int]]] = {
    "pytest: a test removed": ({P: PYTEST.partition("    class")[0]}, {"removed": 1}),
    "pytest: an assertion removed": (
        edited(P, "        assert add(0, 0) == 0\n", ""), {"changed": 1, "assertions": 1},
    ),
    "pytest: an expected value changed": (edited(P, "== 3", "== 4"), {"changed": 1}),
    "pytest: a case added": (
        edited(P, "    def test_adds", "    @cases(1)\n    def test_adds"), {"changed": 1},
    ),
    "pytest: only sometimes": (
        edited(P, "== 3\n        assert", "== 3\n        if two:\n            assert"),
        {"changed": 1},
    ),
    "pytest: a skip mark": (
        edited(P, "def test_adds", "@pytest.mark.skip\n    def test_adds"),
        {"changed": 1, "skips": 1},
    ),
    "pytest: a mark for the module": (
        edited(P, "@pytest.fixture", "pytestmark = pytest.mark.skip\n    @pytest.fixture"),
        {"skips": 1, "lines": 1},
    ),
    "pytest: a group that is not collected": (
        edited(P, "class TestMore", "class More"), {"changed": 1},
    ),
    "pytest: a name that is not collected": (
        edited(P, "def test_adds", "def check_adds"), {"removed": 1},
    ),
    "pytest: commented out": (
        edited(
            P,
            "class TestMore:\n        def test_negative(self):\n            # of both\n"
            "            assert",
            "#class TestMore:\n        #def test_negative(self):\n            #assert",
        ),
        {"removed": 1},
    ),
    "pytest: never reached": (
        edited(P, "class TestMore:\n        def", "if False:\n        def"), {"changed": 1},
    ),
    "pytest: in a text": (
        edited(P, "    def test_adds", '    """\n    def test_adds'), {"lines": 1},
    ),
    "pytest: replaced by a second test": (
        {P: PYTEST + "\n    def test_adds():\n        pass\n"}, {"changed": 1},
    ),
    "pytest: the unit replaced": (
        edited(P, "@pytest.fix", "def add(a, b):\n        return 3\n\n    @pytest.fix"),
        {"lines": 2},
    ),
    "pytest: the unit patched": (
        edited(P, "@pytest.fixture", "app.add = lambda a, b: 3\n\n    @pytest.fixture"),
        {"lines": 1},
    ),
    "pytest: a fixture changed": (edited(P, "return 2", "return 3"), {"lines": 1}),
    "pytest: an automatic fixture": (
        edited(
            P,
            "def test_adds",
            "@pytest.fixture(autouse=True)\n    def fake(monkeypatch):\n        pass\n\n"
            "    def test_adds",
        ),
        {"lines": 3},
    ),
    "jest: a test removed": (
        {J: "".join(JEST.splitlines(True)[:3] + JEST.splitlines(True)[6:])},
        {"removed": 1},
    ),
    "jest: skipped": (edited(J, "it('adds'", "it.skip('adds'"), {"changed": 1, "skips": 1}),
    "jest: skipped by x": (
        edited(J, "it('adds'", "xit('adds'"), {"changed": 1, "skips": 1},
    ),
    "jest: a group skipped": (
        edited(J, "describe('add'", "describe.skip('add'"), {"changed": 2, "skips": 2},
    ),
    "jest: only a new test": (
        edited(J, "  it('adds'", "  it.only('x', () => {});\n\n      it('adds'"),
        {"skips": 1},
    ),
    "jest: in a comment": (
        {J: JEST.replace("      it.each",
            "      /*\n"
            "      it.each").replace("    });\n    ", "*/\n    });\n    ", 1)},
        {"removed": 1},
    ),
    "jest: a case changed": (edited(J, "[1, 1]", "[1, 2]"), {"changed": 1}),
    "go: skipped": (
        edited(G, "    if Add", "    t.Skip()\n        if Add"), {"changed": 1, "skips": 1},
    ),
    "go: not built": (
        edited(G, "package app", "//go:build never\n    package app"),
        {"lines": 1, "skips": 1},
    ),
    "go: no failure": (
        edited(G, 't.Fatal("no")', 't.Log("no")'), {"changed": 1, "assertions": 1},
    ),
    "cargo: ignored": (
        edited(R, "#[test]", "#[test]\n        #[ignore]"), {"changed": 1, "skips": 1},
    ),
    "cargo: not compiled": (
        edited(R, "#[cfg(test)]", "#[cfg(any())]"), {"changed": 1, "skips": 1},
    ),
    "junit: disabled": (
        edited(U, "@Test", "@Disabled\n        @Test"), {"changed": 1, "skips": 1},
    ),
    "junit: no test": (edited(U, "@Test\n", "\n"), {"removed": 1, "lines": 5}),
    "phpunit: skipped": (
        edited(H, "$this->assert", "$this->markTestSkipped();\n            $this->assert"),
        {"changed": 1, "skips": 1},
    ),
    "rspec: pending": (edited(B, "it 'adds'", "xit 'adds'"), {"changed": 1, "skips": 1}),
    "rspec: an expectation removed": (
        edited(B, "        expect(App.add(1, 2)).to eq(3)\n", ""),
        {"changed": 1, "assertions": 1},
    ),
}  # fmt: skip


PYPROJECT = """\
    [project]
    name = "app"

    [tool.pytest.ini_options]
    addopts = "-q"

    [tool.coverage.report]
    fail_under = 80
    """
PACKAGE = '{"scripts": {"test": "npm run unit", "unit": "jest", "lint": "eslint ."}}'
MAKE = "PYTEST = pytest\n\ntest: unit\n\nunit:\n\t$(PYTEST)\n\nrelease:\n\techo\n"
SETTINGS: dict[str, tuple[Files, Files, Counts]] = {
    "conftest.py created": (
        {}, {"conftest.py": "x = 1\n"}, {"conftest.py": {"lines": 1}},
    ),
    "conftest.py in another format": (
        {"conftest.py": "x = ['a',1]\n"}, {"conftest.py": 'x = [\n    "a", 1,\n]\n'}, {},
    ),
    "conftest.py changed": (
        {"conftest.py": "x = 1\n"},
        {"conftest.py": "x = 2\n"},
        {"conftest.py": {"lines": 1}},
    ),
    "pytest.ini created": ({}, {"pytest.ini": "[pytest]\n"}, {"pytest.ini": {"lines": 1}}),
    "a threshold lowered": (
        {"pyproject.toml": PYPROJECT},
        {"pyproject.toml": PYPROJECT.replace("80", "10")},
        {"pyproject.toml": {"keys": 1}},
    ),
    "a dependency added": (
        {"pyproject.toml": PYPROJECT},
        {"pyproject.toml": PYPROJECT.replace('"app"', '"app"\n    dependencies = ["x"]')},
        {},
    ),
    "a script replaced": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"', '"exit 0"')},
        {"package.json": {"keys": 1}},
    ),
    "another script changed": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace("eslint .", "eslint src")},
        {},
    ),
    "a script before the tests": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"lint"', '"pretest": "x", "lint"')},
        {"package.json": {"keys": 1}},
    ),
    "not JSON": (
        {"package.json": PACKAGE}, {"package.json": "{"}, {"package.json": {"keys": 3}},
    ),
    "a target replaced": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("\t$(PYTEST)", "\ttrue")},
        {"Makefile": {"keys": 1}},
    ),
    "a variable replaced": (
        {"Makefile": MAKE},
        {"Makefile": MAKE.replace("= pytest", "= true")},
        {"Makefile": {"keys": 1}},
    ),
    "another target": (
        {"Makefile": MAKE}, {"Makefile": MAKE.replace("\techo", "\techo 2")}, {},
    ),
    "tox": (
        {"tox.ini": "[testenv]\ncommands = pytest\n"},
        {"tox.ini": "[testenv]\ncommands = true\n"},
        {"tox.ini": {"keys": 1}},
    ),
    "gradle": (
        {"build.gradle": "test {\n  useJUnitPlatform()\n}\n"},
        {"build.gradle": "test {\n  ignoreFailures = true\n}\n"},
        {"build.gradle": {"keys": 1}},
    ),
    "maven": (
        {"pom.xml": "<project>\n</project>\n"},
        {"pom.xml": "<project>\n<skipTests>true</skipTests>\n</project>\n"},
        {"pom.xml": {"keys": 1}},
    ),
    "a snapshot rewritten": (
        {"__snapshots__/a.snap": "exports[`a`] = `\n1\n`;\n"},
        {"__snapshots__/a.snap": "exports[`a`] = `\n2\n`;\n"},
        {"__snapshots__/a.snap": {"lines": 1}},
    ),
    "a snapshot added": (
        {"__snapshots__/a.snap": "exports[`a`] = `\n1\n`;\n"},
        {"__snapshots__/a.snap": "exports[`a`] = `\n1\n`;\nexports[`b`] = `\n2\n`;\n"},
        {},
    ),
    "hooks": (
        {".claude/settings.json": '{"hooks": {"Stop": []}, "model": "x"}'},
        {".claude/settings.json": '{"model": "y"}'},
        {".claude/settings.json": {"keys": 1}},
    ),
    "a measuring script": (
        {"m.sh": "pytest\n"}, {"m.sh": "echo 9/9\n"}, {"m.sh": {"lines": 1}},
    ),
    "the interpreter of a script": (
        {"m.py": "#!/bin/python\n"}, {"m.py": "#!/bin/echo\n"}, {"m.py": {"lines": 1}},
    ),
    "a measuring script created": ({}, {"m.sh": "pytest\n"}, {}),
}  # fmt: skip
