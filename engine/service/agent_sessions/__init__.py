"""Agent sessions, recorded from hooks, output streams and transcripts.

Hooks import as little as possible because they run for every tool call. Start with
`hook.py` for a single hook call, and `reconcile.py` for transcripts and streams.
"""
