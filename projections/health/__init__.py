"""Verification and salvage of logs, and their copies and redactions."""
