"""Files in the work tree, which are measured, snapshotted after iterations, and restored.

Start with `snapshot.py` and `restore.py`; git and the reports are in `engine/adapters`.
"""
