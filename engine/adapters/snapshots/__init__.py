"""Snapshots of a work tree in a separate git repository, and their restoration.

This package may use the git adapter in `adapters.git`. Start with `store.py` for the
repository, `capture.py` for taking a snapshot and `plan.py` for restoring one.
"""
