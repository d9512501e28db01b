"""Rules stand in the file and count once they are recorded."""

from pathlib import Path

from .conftest import Run

RULES = """
[rules]
thresholds = { target = 0.5 }
verification = true
progress-edits = "adopt"
"""


def test_the_file_judges_nothing_before_it_is_recorded(sprint: Path, done: Run) -> None:
    """`rules show` and `status` say in one line what differs, and the command."""
    (sprint / "sprintlog.toml").write_text(RULES)
    for words in (("rules", "show"), ("status",)):
        told = done(*words)
        assert told.err.count("rules set --from-config") == 1
        assert "threshold target" in told.err
    assert done("rules", "show", "--json").json["thresholds"]["target"] != 0.5


def test_from_config_records_the_rules_of_the_file(sprint: Path, done: Run) -> None:
    """One event has them all; what is typed comes first, and nothing differs then."""
    (sprint / "sprintlog.toml").write_text(RULES)
    done("rules", "set", "--from-config")
    answer = done("rules", "show", "--json")
    assert answer.json["thresholds"]["target"] == 0.5
    assert "from-config" not in done("status").err
    done("rules", "set", "--from-config", "--threshold", "target=0.7")
    assert done("rules", "show", "--json").json["thresholds"]["target"] == 0.7


def test_without_rules_in_a_file_nothing_is_recorded(sprint: Path, run: Run) -> None:
    """`--from-config` says that there are none."""
    told = run("rules", "set", "--from-config")
    assert (told.code, "has no [rules]" in told.err) == (3, True)
