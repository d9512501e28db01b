"""The streams of a log, and their states at any version.

Start with `catalogue.py` for the streams, and `repository.py` for states, which are read
from a checkpoint and the events after it. This package may import `engine/log`, sprint and
journal, but no adapters.
"""
