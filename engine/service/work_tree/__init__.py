"""The files in the work tree: measured, snapshotted after an iteration, and restored.

Start with `snapshot.py` and `restore.py`; git and the reports are in `engine/adapters`.
"""
