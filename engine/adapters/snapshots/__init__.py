"""Snapshots of a work tree's files in a git repository of our own, and their way back."""
