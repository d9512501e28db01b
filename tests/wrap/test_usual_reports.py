"""`wrap --measure` without `--report`: the reports that the measure wrote."""

from collections.abc import Callable

from .conftest import Wrap

WRITE = "echo \"<testsuite><testcase name='a'/></testsuite>\" > junit.xml"


def test_one_line_names_the_report_that_was_found(
    wrap: Wrap, sprintlog: Callable[..., str]
) -> None:
    """A report that was not specified is announced, and of two neither is chosen."""
    done = wrap("--measure", f"{WRITE}; exit 1", "--", "true")
    assert done.returncode == 0
    assert done.stderr.decode().count("\n") == 1
    assert b"junit.xml is written by the measure and read as junit" in done.stderr
    done = wrap("--measure", f"{WRITE}; cp junit.xml TestResult.xml", "--", "true")
    assert b"junit.xml and TestResult.xml are written by the measure and " in done.stderr
    events = sprintlog("log", "--json", "--type", "iteration-measured").splitlines()
    assert ['"test_count":1' in line for line in events] == [True, False]
