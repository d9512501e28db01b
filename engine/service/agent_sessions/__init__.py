"""Agents' sessions, recorded from hooks, output streams and transcripts.

Hooks import as little as possible: they run for every tool call. Start with `hook.py` for
one hook call, and `reconcile.py` for transcripts and streams.
"""
