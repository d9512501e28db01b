"""The process: `sprintlog`, and `python -m sprintlog.cli`."""

import gc

COLLECT_EVERY = 100_000
"""Objects made between two looks for garbage; few recording commands make as many."""


def main() -> None:
    """Run the command line without looking for garbage where there cannot be any."""
    # Modules and states are used to the end; searching them took a tenth of the time.
    gc.set_threshold(COLLECT_EVERY)
    from .libraries import import_libraries

    import_libraries()
    from .main import main as run

    try:
        run()
    finally:
        # What is left goes with the process.
        gc.freeze()


if __name__ == "__main__":
    main()
