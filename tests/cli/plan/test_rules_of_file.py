"""Rules are in the file and apply once they are recorded."""

from pathlib import Path

from ..conftest import Run

RULES = """
[rules]
thresholds = { target = 0.5 }
verification = true
progress-edits = "adopt"
"""


def test_the_file_judges_nothing_before_it_is_recorded(sprint: Path, done: Run) -> None:
    """`iteration rules show` and `status` state the differences and the command."""
    (sprint / "sprintlog.toml").write_text(RULES)
    for words in (("iteration", "rules", "show"), ("status",)):
        told = done(*words)
        assert told.err.count("iteration rules set --from-config") == 1
        assert "threshold target" in told.err
    assert done("iteration rules show", "--json").json["thresholds"]["target"] != 0.5


def test_from_config_records_the_rules_of_the_file(sprint: Path, done: Run) -> None:
    """One event has them all; options take precedence, and then nothing differs."""
    (sprint / "sprintlog.toml").write_text(RULES)
    done("iteration rules set", "--from-config")
    answer = done("iteration rules show", "--json")
    assert answer.json["thresholds"]["target"] == 0.5
    assert "from-config" not in done("status").err
    done("iteration rules set", "--from-config", "--threshold", "target=0.7")
    assert done("iteration rules show", "--json").json["thresholds"]["target"] == 0.7


def test_without_rules_in_a_file_nothing_is_recorded(sprint: Path, run: Run) -> None:
    """`--from-config` reports that there are none."""
    told = run("iteration rules set", "--from-config")
    assert (told.code, "has no [rules]" in told.err) == (3, True)


def test_doctor_says_where_the_file_differs(sprint: Path, run: Run, done: Run) -> None:
    """A note names the sprint and the differences, until the rules are recorded."""
    assert "rules" not in {one["check"] for one in done("doctor", "--json").json["checks"]}
    (sprint / "sprintlog.toml").write_text(RULES)
    (told,) = [x for x in done("doctor", "--json").json["checks"] if x["check"] == "rules"]
    assert (told["status"], told["found"].partition(":")[0]) == ("note", "auth")
    assert told["hint"] == "`sprintlog iteration rules set --from-config` records them"
    done("iteration rules set", "--from-config")
    assert "from-config" not in done("doctor").out


def test_doctor_says_nothing_of_rules_of_a_damaged_log(sprint: Path, run: Run) -> None:
    """A log that cannot be opened is reported, and the rules are omitted."""
    (sprint / "sprintlog.toml").write_text(RULES)
    (database,) = sprint.rglob("log.db")
    database.write_bytes(b"no database" * 100)
    told = run("doctor", "--json")
    assert (told.code, "rules" in told.out) == (4, False)
