"""How git is called on a repository that may be anybody's."""


def git_command(*arguments: str) -> list[str]:
    """Return a command line of git that runs nothing the repository asks for."""
    return [
        "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
        "-c", "safe.bareRepository=explicit", "--no-pager", *arguments,
    ]  # fmt: skip
