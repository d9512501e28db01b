"""Rules for every test: a HOME of the run, no leaks, no unexplained skip, short forms."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import hypothesis
import pytest

from . import leaks, lengths, needs
from .log_stores import log_store as log_store
from .page.browsers import browser as browser
from .page.browsers import new_context as new_context

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = ROOT / ".ci" / "required"
PACKAGES = ("sprintlog.", "tests.")
_CHECKOUT = pytest.StashKey[set[str]]()

# --- The process: the same for every user and every way to start it --------------------

# `nohup` and background jobs ignore these signals, which tests send to themselves.
for _name, _handler in (
    ("SIGHUP", signal.SIG_DFL),
    ("SIGQUIT", signal.SIG_DFL),
    ("SIGINT", signal.default_int_handler),
):
    if signal.getsignal(getattr(signal, _name)) == signal.SIG_IGN:
        signal.signal(getattr(signal, _name), _handler)

# The next opened file would receive the number of a closed standard stream.
for _number in range(3):
    try:
        os.fstat(_number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)
if sys.stdin is None:
    sys.stdin = open(os.devnull)  # noqa: SIM115

# In memory, if there is space and programs may run: waiting for the disk takes a third of
# the time.
_MEMORY = "/dev/shm"
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK):
    _limits = os.statvfs(_MEMORY)
    if _limits.f_bavail * _limits.f_frsize > 4 << 30 and not _limits.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = _MEMORY
HOME = Path(tempfile.mkdtemp(prefix="sprintlog-home-"))
(HOME / ".gitconfig").write_text(
    "[user]\nname = A Tester\nemail = tester@example.invalid\n"
)
# All variables except the settings of the tests themselves.
SETTINGS = ("EXAMPLES", "NODE_MODULES", "TEST_BROWSER", "TEST_STORE")
for _name in os.environ.keys() - {f"SPRINTLOG_{name}" for name in SETTINGS}:
    if _name.startswith(("SPRINTLOG_", "XDG_", "GIT_")):
        del os.environ[_name]
os.environ |= {
    "HOME": str(HOME),
    "GIT_CONFIG_NOSYSTEM": "1",
    "HISTFILE": os.devnull,
    # Shared by all runs, because collecting the sources' constants takes seconds.
    "HYPOTHESIS_STORAGE_DIRECTORY": str(HOME.with_name(f"hypothesis-{os.getuid()}")),
}
# Importing readline without a terminal sets these, and children would trust them.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)
    os.unsetenv(_name)
# Processes started by tests reuse the bytecode compiled during set-up.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose between the short and the long forms."""
    group = parser.getgroup("sprintlog")
    group.addoption("--long", action="store_true", help="run short and long forms")
    group.addoption("--only-long", action="store_true", help="run the long forms alone")


def pytest_configure(config: pytest.Config) -> None:
    """Set the lengths of properties before any module of tests is imported."""
    lengths.is_long = config.option.long or config.option.only_long
    hypothesis.settings.register_profile(
        "sprintlog",
        max_examples=lengths.examples(100),
        database=None,
        deadline=None,
        suppress_health_check=[
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.data_too_large,
        ],
    )
    hypothesis.settings.load_profile("sprintlog")
    for line in (
        "long: runs by `make test-long` and `make check`, not by `make test`",
        "sampled(n, m): of its cases the short form runs n, the long form m or all",
    ):
        config.addinivalue_line("markers", line)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the HOME of the tests."""
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the items of the requested forms; a test given by its id always runs."""
    if config.option.long:
        return
    long, nowhere = lengths.long_forms(items), lengths.in_no_form(items)
    if config.option.only_long:
        dropped = {i for i in items if i not in long and not lengths.is_property(i)}
    elif any("::" in argument for argument in config.args):
        return
    else:
        dropped = long | nowhere
    if dropped:
        config.hook.pytest_deselected(items=[item for item in items if item in dropped])
        items[:] = [item for item in items if item not in dropped]


def pytest_collection_finish() -> None:
    """Exempt the collected objects from garbage collection, which would scan them often."""
    gc.collect()
    gc.freeze()


# --- Leaks ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _leaks_nothing() -> Iterator[None]:
    """Fail a test that changes the process for the tests after it, and undo the change."""
    before = leaks.State.now(HOME)
    yield
    if found := leaks.leaks(before, HOME):
        leaks.restore(before, HOME)
        pytest.fail("this test leaks: " + "; ".join(found), pytrace=False)


@pytest.fixture(autouse=True, scope="module")
def _rebinds_nothing() -> Iterator[None]:
    """Fail a module whose tests permanently replace a function, class or module."""
    before = leaks.bound(PACKAGES)
    yield
    found = list(leaks.rebound(before))
    for _, undo in found:
        undo()
    if found:
        names = ", ".join(name for name, _ in found)
        pytest.fail(f"tests of this module replaced {names}", pytrace=False)


# --- Skips ------------------------------------------------------------------------------


def _is_required(item: pytest.Item) -> bool:
    lines = REQUIRED.read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    return any(fnmatchcase(item.nodeid, pattern) for pattern in patterns)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(  # type: ignore[misc]
    item: pytest.Item,
) -> pytest.TestReport:
    """Fail a skipped test that states no requirement, or that CI must not skip."""
    report: pytest.TestReport = yield
    if report.skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if needs.PREFIX not in why:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid}: skipped by other means than tests/needs.py: {why}"
            )
        elif os.environ.get("CI_REQUIRED") and _is_required(item):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} is required (.ci/required): {why}"
    return report


# --- The checkout ----------------------------------------------------------------------

_IGNORED = {".git", ".venv", ".venv-oldest", ".site", "__pycache__", "node_modules"}


def _files_of_checkout() -> set[str]:
    found: set[str] = set()
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name for name in folders if name not in _IGNORED and "_cache" not in name
        ]
        found.update(os.path.join(folder, name) for name in names)
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember the files of the checkout."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[_CHECKOUT] = _files_of_checkout()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run in CI if its tests have added a file to the checkout; else report it."""
    before = session.config.stash.get(_CHECKOUT, None)
    if before is None:
        return
    if new := sorted(_files_of_checkout() - before):
        print(f"\nerror: written to the checkout: {', '.join(new[:10])}")  # noqa: T201
        if os.environ.get("CI"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
