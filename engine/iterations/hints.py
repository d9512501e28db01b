"""What is typed to have iterations measured, and to tell them apart."""

HOW_TO_MEASURE = (
    "`sprintlog wrap --measure CMD -- COMMAND` measures each run, "
    "`sprintlog iteration end --metric NAME=VALUE` one"
)
"""Where nothing was measured."""
BY_EXIT_CODE = (
    "the exit code of a command alone: let its last line be like `3/4` (passed of all), or "
    "let it write a JUnit file for `--report`"
)
"""Why iterations are equal, and what tells them apart."""
