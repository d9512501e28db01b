"""Counts source files, lines and complexity with lizard, in a separate process.

`figures.py` starts this module with the paths as arguments; the module prints one line of
JSON. If lizard hangs, a time limit ends the process.
"""

import io
import json
import sys
from contextlib import redirect_stderr

MISSING = 3
"""The exit code if lizard is not installed."""


def main(paths: list[str]) -> int:
    """Print lizard's totals for the source files below the paths."""
    try:
        import lizard  # type: ignore[import-untyped]
    except ImportError:
        return MISSING
    answer = {"files": 0, "lines": 0, "functions": 0, "complexity": 0, "unread": 0}
    for file in lizard.get_all_source_files(paths, [], None):
        # A named file is listed even if lizard does not support its language.
        if lizard.get_reader_for(file) is None:
            continue
        said = io.StringIO()
        answer["files"] += 1
        try:
            with redirect_stderr(said):
                found = lizard.analyze_file(file)
        except Exception as error:  # noqa: BLE001
            # Any error concerns only this file.
            said.write(str(error) or type(error).__name__)
        else:
            answer["lines"] += found.nloc
            answer["functions"] += len(found.function_list)
            answer["complexity"] += found.CCN
        answer["unread"] += bool(said.getvalue())
    print(json.dumps(answer))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
