"""Streams of the log: what lives in which, and their states at any version."""
