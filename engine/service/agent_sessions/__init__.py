"""Agents' sessions: what hooks tell of them, and what streams and transcripts do."""
