"""`python -m sprintlog.cli` is the same as `sprintlog`."""

from .main import main

main()
