"""Snapshots of a work tree in a separate git repository, and how to restore them.

May import the calls to git in `adapters.git`. Start with `store.py` for the repository,
`capture.py` to take a snapshot and `plan.py` to restore one.
"""
