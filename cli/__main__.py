"""The entry point of `sprintlog` and `python -m sprintlog.cli`."""

import atexit
import gc
import os
import sys

COLLECT_EVERY = 100_000
"""The number of new objects between garbage collections; few commands create that many."""


WINDOWS = (
    "error: sprintlog does not run on Windows: it requires POSIX file locks and signals\n"
    "hint: install and run sprintlog in WSL, together with the loop and its work tree\n"
)


def main() -> None:
    """Run the command line and skip garbage collection at exit."""
    if os.name == "nt":
        sys.stderr.write(WINDOWS)
        sys.exit(1)
    from .imports import find_ours, import_libraries

    if sys.argv[1:2] == ["wrap"]:
        find_ours()
        # The command must start immediately; other imports run in the meantime.
        from .wrapping.start import main as wrap

        wrap(sys.argv[2:])
    if sys.argv[1:2] == ["hook"]:
        find_ours()
        # Agents wait for hooks, so this imports neither click nor modules about sprints.
        from .hooking.start import main as hook

        hook(sys.argv[2:])
    # Modules and states live until exit; scanning them took a tenth of the time.
    gc.set_threshold(COLLECT_EVERY)
    # First, because the finder does not apply to the libraries' imports.
    import_libraries()
    find_ours()
    from .main import main as run

    code: object = None
    try:
        run()
    except SystemExit as end:
        code = end.code
        raise
    finally:
        gc.freeze()
        # Unexpected exceptions pass through here as well.
        if sys.exc_info()[0] in (None, SystemExit) and not _is_awaited():
            _leave(code)


def _is_awaited() -> bool:
    """Return whether the interpreter must exit normally.

    That is the case if exit handlers are registered, a second thread is running, a profiler
    or tracer is active, or the session is interactive or in development mode.
    """
    threads = sys.modules.get("threading")
    return (
        bool(getattr(atexit, "_ncallbacks", lambda: 1)())
        or (threads is not None and threads.active_count() > 1)
        or sys.getprofile() is not None
        or sys.gettrace() is not None
        or bool(sys.flags.interactive or sys.flags.dev_mode)
    )


def _leave(code: object) -> None:
    """Exit without the interpreter's teardown, which took a tenth of the run time.

    The log and all files are already closed. If the output cannot be flushed or the code is
    not a number, return, so that the interpreter reports the problem as usual.
    """
    if code is not None and not isinstance(code, int):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    main()
